#!/usr/bin/env python3
"""A service in a control group that is killed and started again: its end is in the log, and so is what the new one does."""
import os
import signal
import subprocess
import sys
import time

from record_common import Bench, check, skip, wait_for
from syscap_common import backends, events_of, wait_for_log

HIERARCHIES = ["/sys/fs/cgroup" + name for name in ("", "/unified", "/pids", "/systemd")]  # version 2, or a harmless one of version 1
HOME = next((path for path in HIERARCHIES if os.access(path + "/cgroup.procs", os.W_OK)), "")
GROUP = HOME + "/culprit-test-%d" % os.getpid()


def start_in_group(bench, word):
    """A process that writes its word again and again, as a service manager starts it: in the group before its exec."""
    script = "while :; do echo %s > %s; sleep 0.05; done" % (word, bench.path(word))
    enter = "echo $$ > %s/cgroup.procs; exec sh -c '%s'" % (GROUP, script)
    child = subprocess.Popen(["sh", "-c", enter], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    bench.children.append(child)
    wait_for(lambda: os.path.exists(bench.path(word)), 10, "the service does not begin")
    return child


def end(child):
    child.send_signal(signal.SIGKILL)
    child.wait(10)


def members():
    with open(GROUP + "/cgroup.procs") as text:
        return [int(line) for line in text]


def empty_group():
    for pid in members():
        try:
            os.kill(pid, signal.SIGKILL)  # they are all ours: nobody else knows the group
        except ProcessLookupError:
            pass


def restarted(bench, backend):
    run = bench.path("group-%s.run" % backend)
    first = start_in_group(bench, "first-" + backend)
    tracer = bench.start("syscap", "--backend", backend, "--cgroup", GROUP, "--quiet", "--out", run)
    wait_for_log(bench, run, tracer)
    end(first)
    time.sleep(0.5)
    second = start_in_group(bench, "second-" + backend)
    time.sleep(3)
    check(tracer.poll() is None, "the capture ended with the service: " + bench.output(tracer))
    tracer.send_signal(signal.SIGINT)
    check(tracer.wait(30) == 0, bench.output(tracer))
    check(second.poll() is None, "the service did not survive the end of the capture")
    end(second)
    events = events_of(bench, run)
    ends = [e for e in events if e.kind == "exit" and e.process == first.pid]
    check(any(e.outcome == signal.SIGKILL for e in ends), "the end of the first is not there: %s" % ends)
    check(any(e.process == second.pid for e in events), "the service that was started again is not there")
    check(any("second-" + backend in e.target for e in events), "nothing of its files is known")
    print("%s: a service that was killed and started again is captured" % backend)


def main():
    if os.geteuid() != 0:
        skip("a control group needs root")
    if not HOME:
        skip("there is no control group here")
    try:
        os.mkdir(GROUP)
    except OSError as error:
        skip("no control group can be made: %s" % error)
    try:
        with Bench() as bench:
            for backend in backends():
                restarted(bench, backend)
            empty_group()
    finally:
        empty_group()
        wait_for(lambda: not members(), 10, "somebody is still in the group")
        os.rmdir(GROUP)


if __name__ == "__main__":
    sys.exit(main())
