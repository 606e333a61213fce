#!/usr/bin/env python3
"""kill -9 of `culprit record` at 50 random moments: the run opens every time, has lost at most one tick, and `culprit
diagnose` says that it is partial.

Ticks are the multiples of the interval on the wall clock. Lost are those that were due from the first sample to the kill and
have no sample. A machine that did not give the recorder the CPU in time loses ticks of any program: only if that is
shown, by samples that were taken late, by the kernel's account of its waiting or by a thread of our own that was let wait as long,
is a moment tried again.
"""
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter

from record_common import Bench, Witness, check, query, wait_for

INTERVAL_NS = 100_000_000
KILLS = int(os.environ.get("CULPRIT_KILLS", "50"))
TRIES = 6  # of one moment


def waited_ns(pid):
    """How long a process has been ready to run without a CPU; still there when it is dead and not yet waited for."""
    try:
        with open("/proc/%d/schedstat" % pid) as text:
            return int(text.read().split()[1])
    except OSError:
        return 0


def random_moment(chance, around_tick):
    """Of the wall clock, in ns. The recorder is idle most of the time: half of the moments are while a sample is stored."""
    moment = time.time_ns() + chance.randrange(INTERVAL_NS // 10, 5 * INTERVAL_NS)
    if around_tick:
        moment = (moment // INTERVAL_NS + 1) * INTERVAL_NS + chance.randrange(-2_000_000, 8_000_000)
    return moment


def kill_once(bench, witness, run, chance, around_tick):
    """Records and kills at a random moment after the second sample; returns when, and how long it had to wait for a CPU."""
    recorder = bench.start("record", "--interval", "100ms", "--quiet", "--out", run)
    witness.longest_ns = 0
    wait_for(lambda: bench.samples(run) >= 2, 30, "the recording does not begin: " + bench.output(recorder))
    waited = waited_ns(recorder.pid)
    time.sleep(max(0, random_moment(chance, around_tick) - time.time_ns()) / 1e9)
    killed_ns = time.time_ns()
    os.kill(recorder.pid, signal.SIGKILL)
    stood_still = witness.longest_ns
    os.waitid(os.P_PID, recorder.pid, os.WEXITED | os.WNOWAIT)
    waited = max(waited_ns(recorder.pid) - waited, stood_still)
    recorder.wait(10)
    return killed_ns, waited


def lost_ticks(run, killed_ns):
    """How many ticks are lost, and how late the latest sample was."""
    times = [row[0] for row in query(run, "select t_ns from sample order by id")]
    stored = {t // INTERVAL_NS for t in times}
    check(len(stored) == len(times) and times == sorted(times), "two samples of one tick")
    due = set(range(times[0] // INTERVAL_NS, killed_ns // INTERVAL_NS + 1))
    return len(due - stored), max(t % INTERVAL_NS for t in times)


def check_run(bench, run):
    check(os.path.isdir(run + ".partial") and not os.path.exists(run), "a killed run must stay partial")
    check(query(run, "pragma integrity_check") == [("ok",)], "the database is damaged")
    orphans = query(run, "select count(*) from system where sample not in (select id from sample)")
    check(orphans == [(0,)], "rows without their sample")
    export = bench.run("export", run, "--raw")
    check(export.returncode == 0 and export.stdout, "export: " + export.stderr)
    verdict = bench.run("diagnose", run)
    check(verdict.returncode in (0, 10, 11), "diagnose: " + verdict.stderr)
    check("the run is partial" in verdict.stdout, "diagnose does not say that the run is partial: " + verdict.stdout)


def lose_at_most_one(bench, witness, number, chance):
    """One moment of the fifty: how many ticks it lost, and how often it was tried again."""
    for attempt in range(TRIES):
        run = bench.path("kill%d-%d.run" % (number, attempt))
        killed_ns, waited = kill_once(bench, witness, run, chance, around_tick=number % 2 == 1)
        check_run(bench, run)
        lost, late = lost_ticks(run, killed_ns)
        shutil.rmtree(run + ".partial")  # each holds a reserve of 4 MB
        if lost <= 1:
            return lost, attempt
        what = "kill %d lost %d ticks; samples up to %.0f ms late, %.0f ms without a CPU" % (number, lost, late / 1e6, waited / 1e6)
        check(late > INTERVAL_NS // 2 or waited > INTERVAL_NS // 2, what)
        print("tried again:", what)
    raise AssertionError("the machine is too busy for this test")


def main():
    seed = int(os.environ.get("CULPRIT_SEED", random.randrange(1 << 30)))
    chance = random.Random(seed)
    print("seed", seed)
    losses, again = Counter(), 0
    witness = Witness()
    with Bench(memory=True) as bench:
        for number in range(KILLS):
            lost, tries = lose_at_most_one(bench, witness, number, chance)
            losses[lost] += 1
            again += tries
        marked = bench.run("mark", "nobody listens")
        check(marked.returncode == 1 and "no recording" in marked.stderr, "stale entries must not be found: " + marked.stderr)
    print("%d kills: %d lost no tick, %d lost one, none lost more; every run opens, diagnose says of each that it is partial"
          % (KILLS, losses[0], losses[1]))
    print("%d kills were repeated because the machine did not run the recorder in time" % again)


if __name__ == "__main__":
    sys.exit(main())
