#!/usr/bin/env python3
"""What each fault of a campaign with system calls left behind, counted without any detector's code.

  benchmarks/hotdep09_left.py BUILD CAMPAIGN > left.jsonl

A line per kept run that is not for training: the victim's system calls (a pair of call and errno, a signal, an end of a
process that no server had in the campaign's fault-free training runs), what the applications said (the journal's `said`)
and what the file system's logs said (RUN/logs); what the training runs have of both, too, is left out. Calls are
read with `culprit syscap show`, from a little before the fault was in force until its time was over (taking it back may
need signals of its own); in runs without a fault, all of them, of every server: what is found there is chance.
"""
import collections
import glob
import json
import os
import re
import subprocess
import sys
import tomllib

BEFORE_NS = 3_000_000_000  # `on_ns` is when the fault was seen in force: what it did to get there comes earlier
# "Not now" rather than failure; whether one of them came in the training runs is chance.
NOT_NOW = {"EAGAIN", "EINTR", "EINPROGRESS", "ERESTARTSYS", "ERESTARTNOINTR", "ERESTARTNOHAND",
           "ERESTART_RESTARTBLOCK"}
NOT_NOW_PAIRS = {("futex", "ETIMEDOUT"), ("restart_syscall", "ETIMEDOUT")}
EXAMPLES = 3
MOST_KINDS = 20  # of anything in one line
LONGEST = 120
SAID = re.compile(r"^\d{4}-\d\d-\d\dT\S+Z (\w+) .*?: (.*)$")  # churn: time, verb, path, why
LOGGED = re.compile(r"^\[\d{4}-\S+ \S+ \S+\] ([MACEW]) (?:\[MSGID: \d+\] )?\[([^\]]+)\] (\S+?): (.*)$")


def journal(campaign):
    with open(campaign + "/journal.jsonl") as file:
        rows = [json.loads(line) for line in file if line.endswith("\n")]
    return [row for row in rows if row["outcome"] == "kept" and row["recorded"]]


def during_ns(campaign, row):
    """How long a fault was to last."""
    with open(campaign + "/plan.toml", "rb") as file:
        return tomllib.load(file).get("samples", {}).get("during", 220) * row["interval_ns"]


def servers_of(run):
    with open(run + "/manifest.json") as file:
        return [node["name"] for node in json.load(file)["cluster"]["nodes"] if node["kind"] == "server"]


def records(tool, run, node, *words):
    command = [tool, "syscap", "show", run, "--node", node, "--format", "jsonl", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as child:
        for line in child.stdout:
            yield json.loads(line)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {child.returncode}")


def end_text(row):
    """The status is as wait(2) has it."""
    status = row["result"] or 0
    signal = status & 0x7F
    return f"a process was killed by signal {signal}" if signal else f"a process ended with {status >> 8 & 0xFF}"


def odd_calls(tool, run, node, expected, begin_s, end_s):
    """Kind -> [how often, examples of what it was about]: all that `expected` does not have, from begin_s to end_s."""
    found = {}

    def note(kind, row):
        if kind in expected or not begin_s <= row["time_s"] <= end_s:
            return
        entry = found.setdefault(kind, [0, []])
        entry[0] += 1
        target = row.get("target") or ""
        if target and target not in entry[1] and len(entry[1]) < EXAMPLES:
            entry[1].append(target)

    for row in records(tool, run, node, "--errno", "any"):
        if row["errno"] not in NOT_NOW and (row["name"], row["errno"]) not in NOT_NOW_PAIRS:
            note(f"{row['name']} {row['errno']}", row)
    for row in records(tool, run, node, "--kind", "signal,exit"):
        if row["kind"] == "signal":
            note(row["name"], row)
        elif row["number"] == 1:  # the last thread of its process
            note(end_text(row), row)
    return found


def said_kinds(row):
    """What the applications complained about: kind -> clients that had it."""
    kinds = collections.Counter()
    for text in row.get("said", {}).values():
        mine = set()
        for line in text.split("\n"):
            match = SAID.match(line)
            if match:
                mine.add(f"{match[1]}: {match[2]}"[:LONGEST])
            elif ": steps " not in line and line:
                mine.add(line[:LONGEST])
        kinds.update(mine)
    return kinds


def log_kinds(run, node):
    """Warnings and worse in the logs of a node: kind -> lines. Numbers and names are taken out, so that kinds are few."""
    kinds = collections.Counter()
    for path in sorted(glob.glob(f"{run}/logs/{node}/*")):
        with open(path, errors="replace") as file:
            for line in file:
                match = LOGGED.match(line)
                if not match:
                    continue
                text = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "GFID", match[4])
                text = re.sub(r"/[\w./-]+", "PATH", text)
                text = re.sub(r"\d+", "N", text)
                kinds[f"{match[1]} {match[2].split(':')[-1]}: {text.strip()}"[:LONGEST]] += 1
    return kinds


def most(counter):
    return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0]))[:MOST_KINDS])


def clients_logs(run, servers, normal):
    total = collections.Counter()
    for folder in glob.glob(f"{run}/logs/*"):
        node = os.path.basename(folder)
        if node not in servers:
            total.update({kind: lines for kind, lines in log_kinds(run, node).items() if kind not in normal})
    return total


def look_at(tool, campaign, row, servers, expected, normal, usual):
    run = f"{campaign}/{row['run']}"
    begin_s, end_s = 0, float("inf")
    if row["fault"] != "none":
        begin_s = (row["on_ns"] - BEFORE_NS) / 1e9
        end_s = (row["on_ns"] + during_ns(campaign, row)) / 1e9
    odd = {server: odd_calls(tool, run, server, expected, begin_s, end_s) for server in servers}
    out = {key: row[key] for key in ("id", "set", "workload", "fault", "params", "victim")}
    out["campaign"] = os.path.basename(campaign)
    victim = row["victim"] if row["fault"] != "none" else ""
    found = odd.get(victim, {})
    out["trace"] = bool(found)
    out["calls"] = {kind: {"count": count, "examples": names} for kind, (count, names) in
                    sorted(found.items())[:MOST_KINDS]}
    out["others"] = {server: sorted(kinds)[:MOST_KINDS] for server, kinds in odd.items()
                     if server != victim and kinds}
    out["said"] = most({kind: clients for kind, clients in said_kinds(row).items() if kind not in usual})
    if victim:
        mine = log_kinds(run, victim)
        out["log"] = most({kind: lines for kind, lines in mine.items() if kind not in normal})
    else:
        out["log"] = {}
    out["clients_log"] = most(clients_logs(run, servers, normal))
    return out


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tool, campaign = os.path.join(sys.argv[1], "culprit"), os.path.normpath(sys.argv[2])
    rows = journal(campaign)
    training = [row for row in rows if row["set"] == "train"]
    if not training:
        sys.exit("the campaign has no kept training run, so nobody can say what is expected")
    servers = servers_of(f"{campaign}/{training[0]['run']}")
    expected, normal, usual = set(), set(), set()  # of calls, logs and applications
    for row in training:
        usual |= set(said_kinds(row))
        run = f"{campaign}/{row['run']}"
        for server in servers:
            expected |= set(odd_calls(tool, run, server, set(), 0, float("inf")))
        for folder in glob.glob(run + "/logs/*"):
            normal |= set(log_kinds(run, os.path.basename(folder)))
    print(json.dumps({"campaign": os.path.basename(campaign), "expected": sorted(expected),
                      "training_runs": len(training)}))
    for row in sorted(rows, key=lambda each: each["id"]):
        if row["set"] in ("score", "control"):
            print(json.dumps(look_at(tool, campaign, row, servers, expected, normal, usual)), flush=True)


main()
