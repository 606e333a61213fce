#!/usr/bin/env python3
"""A small campaign on MooseFS, killed with -9 while a fault is in force and started again: what was finished is not
repeated, the fault has ended, everything is done in the end, and nothing is left behind. Then its runs are scored. In a
second one the first experiment fails at first: it comes last when the campaign is started again, and its discards are told."""
import json
import os
import signal
import subprocess
import tempfile

from lab_common import CULPRIT, check, culprit, expect_same, need, picture, wait_for

need("mfsmaster", "mfschunkserver", "mfsmount", "nft")

PLAN = """
seed = 3
[lab]
name = "camptest"
fs = "moosefs"
layout = "goal1"
servers = 3
clients = 1
[samples]
interval = "100ms"
before = 10
during = 20
after = 5
[train]
workloads = ["mine"]
runs = 1
[score]
workloads = ["mine"]
faults = ["none", { fault = "receive_pktloss", percent = 4 }]
iterations = 1
[control]
workloads = ["mine"]
runs = 1
[spoiled]          # how busy this machine is does not matter here
idle_percent = 0
steal_percent = 100
lost_percent = 100
[workload.mine]
prepare = "echo ready > prepared"
run = "echo client $CLIENT begins >&2; test -s $DATA/prepared || exit 1; while :; do dd if=/dev/urandom of=f bs=1M count=2 conv=fsync status=none || exit 1; done"
"""


def journal(folder):
    path = folder + "/journal.jsonl"
    return [json.loads(line) for line in open(path)] if os.path.exists(path) else []


def dropping():
    """Whether a lab's server has our rule: looked at directly, not by asking the tool."""
    for node in ("s1", "s2", "s3"):
        done = culprit("lab", "exec", node, "--name", "camptest", "--", "nft", "list", "ruleset", code=None)
        if "drop" in done.stdout:
            return True
    return False


def main(work):
    plan, folder = work + "/plan.toml", work + "/out"
    with open(plan, "w") as out:
        out.write(PLAN)
    before = picture()
    listed = culprit("campaign", plan, "--dry-run").stdout
    check(listed.count("\n") == 5 and "score-mine-receive_pktloss-4-1 on s" in listed, listed)

    running = subprocess.Popen([CULPRIT, "campaign", plan, "--out", folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(dropping, 120, "the fault does not begin")
    again = culprit("campaign", plan, "--out", folder, code=1)
    check("being worked on" in again.stderr, again.stderr)
    running.send_signal(signal.SIGKILL)
    running.wait()
    wait_for(lambda: not dropping(), 30, "the fault does not end after kill -9 of the campaign")
    print("ok: killed with -9 during a fault, which ended")
    finished = {row["id"]: row for row in journal(folder) if row["outcome"] == "kept"}
    check(len(finished) >= 1, "nothing was finished before the kill")
    times = {row["run"]: os.stat(folder + "/" + row["run"] + "/manifest.json").st_mtime_ns for row in finished.values()}

    other = work + "/other.toml"
    with open(other, "w") as out:
        out.write(PLAN.replace("seed = 3", "seed = 4"))
    refused = culprit("campaign", other, "--out", folder, code=1)
    check("begun with another plan" in refused.stderr, refused.stderr)

    culprit("campaign", plan, "--out", folder)
    rows = [row for row in journal(folder) if row["outcome"] == "kept"]
    check(len(rows) == 4 and len({row["id"] for row in rows}) == 4, rows)
    check(all(row["said"]["c1"].startswith("client 1 begins") for row in rows), "the journal does not say what the workloads said")
    check({row["id"]: row for row in rows if row["id"] in finished} == finished, "a finished run was repeated")
    check(all(os.stat(folder + "/" + run + "/manifest.json").st_mtime_ns == time_ns for run, time_ns in times.items()),
          "a finished run was written again")
    faulty = [row for row in rows if row["fault"] != "none"][0]
    check(1.5e9 < faulty["off_ns"] - faulty["on_ns"] < 6e9 and faulty["victim"] in ("s1", "s2", "s3"), faulty)
    check(not [name for name in os.listdir(folder + "/runs") if name.endswith(".partial")], os.listdir(folder + "/runs"))
    expect_same(before, "finished after the kill: nothing repeated, nothing left")

    done = culprit("campaign", plan, "--out", folder)
    check("4 of 4 runs kept" in done.stdout, done.stdout)
    check([row for row in journal(folder) if row["outcome"] == "kept"] == rows, "a finished campaign was repeated")
    expect_same(before, "a finished campaign does nothing when it is started again")

    with open(folder + "/up", "w") as mark:  # as if it had been killed after its last run, with the lab still up
        mark.write("up\n")
    culprit("lab", "up", "--name", "camptest", "--fs", "directory", "--servers", "1", "--clients", "1", "--cluster",
            folder + "/cluster.toml")
    culprit("campaign", plan, "--out", folder)
    check(not os.path.exists(folder + "/up"), "the mark is still there")
    expect_same(before, "a lab that a finished campaign left behind goes with its next start")

    truth = json.load(open(folder + "/" + faulty["run"] + "/manifest.json"))["truth"]
    check(truth["fault"] == "receive_pktloss" and truth["server"] == faulty["victim"], truth)
    scored = culprit("score", folder, "--detector", "median_ratio", "--rows", work + "/rows.jsonl")
    check("receive_pktloss" in scored.stdout, scored.stdout)
    verdicts = [json.loads(line) for line in open(work + "/rows.jsonl")]
    check(len(verdicts) == 3 and {row["set"] for row in verdicts} == {"score", "control"}, verdicts)
    print("ok: scored, with the truth in journal and manifest")


def failed_comes_last(work):
    plan, folder, flag = work + "/failing.toml", work + "/failing", work + "/broken"
    with open(plan, "w") as out:
        out.write(PLAN.replace('run = "', 'run = "test ! -e %s || exit 1; ' % flag))
    before = picture()
    open(flag, "w").close()
    done = culprit("campaign", plan, "--out", folder, "--runs", "1", code=1)
    check("1 experiment never succeeded" in done.stderr and "0 of 4 runs kept" in done.stdout, done.stdout + done.stderr)
    failed = journal(folder)
    check(len(failed) == 3 and len({row["id"] for row in failed}) == 1, failed)
    check(all(row["outcome"] == "failed" and row["reason"] for row in failed), failed)
    expect_same(before, "an experiment that fails three times is given up, and nothing is left")

    os.unlink(flag)
    done = culprit("campaign", plan, "--out", folder, code=1)
    check("4 of 4 runs kept" in done.stdout and "43 % of the attempts were discarded" in done.stderr, done.stdout + done.stderr)
    rows = journal(folder)[3:]
    check(all(row["outcome"] == "kept" for row in rows) and len({row["id"] for row in rows}) == 4, rows)
    check(rows[-1]["id"] == failed[0]["id"] and rows[-1]["attempt"] == 4, rows)
    expect_same(before, "started again, it comes last and succeeds; too many discards fail the campaign")


with tempfile.TemporaryDirectory(prefix="culprit-test-") as scratch:
    try:
        main(scratch)
        failed_comes_last(scratch)
    finally:
        subprocess.run([CULPRIT, "lab", "down", "--name", "camptest"], capture_output=True)
