#!/usr/bin/env python3
"""Attaching to a server does it no harm, for both backends: not when the tracer is killed with -9, not when it comes and goes
twenty times, not when the server is stopped. What was logged before the kill can be read, and so can what is left of a log
that was damaged."""
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from record_common import Bench, check, wait_for
from syscap_common import TracedServer, backends, events_of, is_restart, logs_of, wait_for_log

ATTACHES = 20
THREADS = 4
WORK = {"pread64", "pwrite64", "sendto", "recvfrom", "read", "write"}  # of the server


def attach(bench, backend, server, run, *words):
    return bench.start("syscap", "--backend", backend, "--quiet", "--pid", str(server.pid), "--out", run, *words)


def attach_to_the_end(bench, backend, server, run, time_limit):
    done = bench.run("syscap", "--backend", backend, "--quiet", "--pid", str(server.pid), "--out", run, "--for", time_limit)
    check(done.returncode == 0, "%s: exit code %d: %s" % (backend, done.returncode, done.stderr))


def check_events(bench, backend, server, run):
    events = events_of(bench, run)
    check({e.process for e in events} == {server.pid}, "%s: processes %s" % (backend, {e.process for e in events}))
    calls = [e for e in events if e.kind == "call"]
    work = [e for e in calls if e.name in WORK]
    check(len({e.thread for e in work}) == THREADS, "%s: work of the threads %s" % (backend, {e.thread for e in work}))
    check({e.name for e in work} == WORK, "%s: only %s" % (backend, {e.name for e in work}))
    nameless = [e for e in work if e.name == "pwrite64" and "/brick" not in e.target]
    check(not nameless, "%s: a write without its file: %s" % (backend, nameless[:2]))
    failed = [e for e in work if isinstance(e.outcome, int) and e.outcome < 0 and not is_restart(e.outcome)]
    check(not failed, "%s: calls that failed: %s" % (backend, failed[:2]))
    return len(calls)


def kill_the_tracer(bench, backend, server):
    run = bench.path("kill-%s.run" % backend)
    tracer = attach(bench, backend, server, run)
    wait_for_log(bench, run, tracer)
    time.sleep(1.7)  # three flushes
    os.kill(tracer.pid, signal.SIGKILL)
    tracer.wait(10)
    wait_for(lambda: server.status("TracerPid") == "0", 5, "the kernel has not let go of it")
    server.check_well("%s killed with -9" % backend)
    check(os.path.isdir(run + ".partial"), "a killed capture must stay partial: %s" % os.listdir(bench.folder))
    print("%s: killed with -9, %d calls can be read, the server goes on" % (backend, check_events(bench, backend, server, run)))
    return logs_of(run)[0]


def come_and_go(bench, backend, server):
    for number in range(ATTACHES):
        run = bench.path("again-%s-%d.run" % (backend, number))
        attach_to_the_end(bench, backend, server, run, "150ms")
        check(logs_of(run), "no log")
        if number in (0, ATTACHES - 1):
            server.check_well("%s, attached %d times" % (backend, number + 1))
            check_events(bench, backend, server, run)
        shutil.rmtree(run)
    print("%s: attached and detached %d times" % (backend, ATTACHES))


def wait_and_die(bench, backend, server):
    """A process that has waited in one call since before the capture: who ended it is known."""
    run = bench.path("waiting-%s.run" % backend)
    sleeper = subprocess.Popen(["sleep", "60"])
    bench.children.append(sleeper)
    tracer = attach(bench, backend, server, run, "--pid", str(sleeper.pid))
    wait_for_log(bench, run, tracer)
    sleeper.terminate()
    sleeper.wait(10)
    code, said = bench.stop(tracer)
    check(code == 0, "%s: exit code %d: %s" % (backend, code, said))
    signals = [e for e in events_of(bench, run) if e.kind == "signal" and e.process == sleeper.pid]
    check([(e.name, e.args[:2]) for e in signals] == [("SIGTERM", [0, os.getpid()])], "%s: %s" % (backend, signals))
    print("%s: who ended a process that only waited is known" % backend)


def stay_stopped(server, when):
    """A stop that is a user's wish survives the tracer."""
    wait_for(lambda: server.status("State") == "T", 5, "%s: state %s" % (when, server.status("State")))
    before = server.rounds()
    time.sleep(0.3)
    check(server.rounds() == before, "%s: it runs although it is stopped" % when)


def stopped(bench, backend, server):
    os.kill(server.pid, signal.SIGSTOP)
    stay_stopped(server, "before")
    attach_to_the_end(bench, backend, server, bench.path("stopped-%s.run" % backend), "300ms")
    stay_stopped(server, "%s attached to a stopped server and left" % backend)
    os.kill(server.pid, signal.SIGCONT)
    server.check_well("%s, continued after it" % backend)
    run = bench.path("stopping-%s.run" % backend)
    tracer = attach(bench, backend, server, run)
    wait_for_log(bench, run, tracer)
    os.kill(server.pid, signal.SIGSTOP)
    time.sleep(0.3)
    before = server.rounds()
    time.sleep(0.3)
    check(server.rounds() == before, "%s: SIGSTOP does not stop it while it is traced" % backend)
    os.kill(server.pid, signal.SIGCONT)
    wait_for(lambda: all(now > then for now, then in zip(server.rounds(), before)), 5,
             "%s: SIGCONT does not continue it while it is traced" % backend)
    os.kill(server.pid, signal.SIGSTOP)
    time.sleep(0.3)
    code, text = bench.stop(tracer)
    check(code == 0, text)
    stay_stopped(server, "%s left a server that was stopped meanwhile" % backend)
    os.kill(server.pid, signal.SIGCONT)
    server.check_well("%s, continued" % backend)
    print("%s: a stopped server stays stopped, and goes on when it is told to" % backend)


def damaged(bench, log):
    """A log cut and flipped anywhere: never a crash, one sentence, and what could be read."""
    whole, data = count_calls(bench, log), open(log, "rb").read()
    check(whole > 0, "the log itself is empty")
    chance = random.Random(9)  # the same places each time
    cuts = [data[:size] for size in (0, 1, 16, 40, len(data) // 2, len(data) - 1)]
    once, often = [flipped(data, chance, 1) for _ in range(12)], [flipped(data, chance, 50) for _ in range(6)]
    foreign = [b"\x7fELF" + data[:4096], b"1700000000.1 read(3) = 0\n"]
    counts = [[count_calls(bench, log, part) for part in parts] for parts in (cuts, once, often, foreign)]
    check(counts[0][:2] == [0, 0] and 0 < counts[0][4] < whole, "cut logs: %s of %d" % (counts[0], whole))
    check(max(map(max, counts)) <= whole, "more than there was: %s" % counts)
    check(sum(counts[1]) > len(once) * whole / 3, "a flipped bit costs more than its block: %s of %d" % (counts[1], whole))
    print("%d damaged logs: each is read as far as it goes" % sum(map(len, counts)))


def flipped(data, chance, bits):
    broken = bytearray(data)
    for _ in range(bits):
        broken[chance.randrange(len(broken))] ^= 1 << chance.randrange(8)
    return bytes(broken)


def count_calls(bench, log, data=None):
    """How many records `show` finds; an error must be a sentence and a hint."""
    path = log
    if data is not None:
        folder = bench.path("damaged")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, os.path.basename(log))
        shutil.copy(log[:-len("sclog")] + "fdlog", path[:-len("sclog")] + "fdlog")
        with open(path, "wb") as out:
            out.write(data)
    done = bench.run("syscap", "show", path, "--format", "jsonl")
    check(done.returncode in (0, 1), "exit code %d: %s" % (done.returncode, done.stderr[-500:]))
    if done.returncode == 1:
        check(done.stderr.startswith("culprit: ") and len(done.stderr.splitlines()) <= 3, done.stderr)
    return len(done.stdout.splitlines())


def main():
    with Bench(memory=True) as bench:
        server = TracedServer(bench)
        for backend in backends():
            log = kill_the_tracer(bench, backend, server)
            wait_and_die(bench, backend, server)
            stopped(bench, backend, server)
            come_and_go(bench, backend, server)
        damaged(bench, log)
        server.end()


if __name__ == "__main__":
    sys.exit(main())
