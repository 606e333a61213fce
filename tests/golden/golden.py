#!/usr/bin/env python3
"""The regression set of the detectors: recorded runs of a small campaign (campaigns/golden.toml) whose verdicts must not
change unnoticed. It says that something changed, not how good the diagnosis is: docs/results has that.

  golden.py BUILD                  compares with expected.txt
  golden.py BUILD --accept         writes expected.txt anew, for a change that is meant; look at the difference
  golden.py BUILD --make CAMPAIGN  makes the runs from a campaign
"""
import csv
import gzip
import io
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
METRICS = {"rd_sec", "wr_sec", "await", "rxbyt", "txbyt", "cwnd_to_clients", "cwnd_from_clients"}
DETECTORS = ("fast10", "median_ratio")


def run(*words, codes=(0,)):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode not in codes:
        sys.exit("%s: exit code %d\n%s%s" % (" ".join(words), done.returncode, done.stdout, done.stderr))
    return done.stdout


def make(culprit, campaign):
    """The metrics that convict, with all their digits: a rounded value falls into another bin, and a verdict changes."""
    for line in open(campaign + "/journal.jsonl"):
        row = json.loads(line)
        if row["outcome"] != "kept":
            continue
        text = io.StringIO()
        out = csv.writer(text, lineterminator="\n")
        out.writerow(["time", "node", "metric", "value"])
        for value in csv.DictReader(io.StringIO(run(culprit, "export", campaign + "/" + row["run"]))):
            if value["metric"] in METRICS:
                out.writerow([value["time"], value["node"], value["metric"], value["value"]])
        with gzip.GzipFile(os.path.join(HERE, row["id"] + ".csv.gz"), "wb", 9, mtime=0) as file:
            file.write(text.getvalue().encode())


def verdict_line(name, detector, verdict):
    accused = ["%s %s (%s)" % (one["server"], one["cause"], " ".join(sorted(e["metric"] for e in one["evidence"] if e["indicting"])))
               for one in verdict["culprits"]]
    return "%s %s: %s" % (name, detector, ", ".join(accused) or verdict["verdict"])


def verdicts(culprit, folder):
    names = sorted(name[:-len(".csv.gz")] for name in os.listdir(HERE) if name.endswith(".csv.gz"))
    for name in names:
        with gzip.open(os.path.join(HERE, name + ".csv.gz")) as packed, open(folder + "/" + name + ".csv", "wb") as plain:
            plain.write(packed.read())
        run(culprit, "import", "--format", "csv", folder + "/" + name + ".csv", "--out", folder + "/" + name)
    training = [folder + "/" + name for name in names if name.startswith("train-")]
    run(culprit, "train", *training, "--out", folder + "/profile")
    lines = []
    for name in names:
        for detector in DETECTORS:
            words = ["--profile", folder + "/profile"] if detector == "fast10" else ["--detector", detector]
            answer = run(culprit, "diagnose", folder + "/" + name, *words, "--json", "--no-save", codes=(0, 10, 11))
            lines.append(verdict_line(name, detector, json.loads(answer)))
    return lines


def main():
    culprit = os.path.join(os.path.abspath(sys.argv[1]), "culprit")
    if sys.argv[2:3] == ["--make"]:
        make(culprit, sys.argv[3])
    with tempfile.TemporaryDirectory(prefix="culprit-golden-") as folder:
        lines = verdicts(culprit, folder)
    path = os.path.join(HERE, "expected.txt")
    if len(sys.argv) > 2:
        with open(path, "w") as out:
            out.write("\n".join(lines) + "\n")
        print("wrote %d verdicts" % len(lines))
        return
    with open(path) as file:
        expected = file.read().splitlines()
    if lines == expected:
        print("ok: %d verdicts are as they were" % len(lines))
        return
    for line in sorted(set(expected) - set(lines)):
        print("was: " + line)
    for line in sorted(set(lines) - set(expected)):
        print("is:  " + line)
    sys.exit("verdicts have changed; if that is meant: tests/golden/golden.py BUILD --accept, and campaigns must be scored again")


main()
