#!/usr/bin/env python3
"""The programs of tests/trace under ebpf, ptrace and strace: each sees what the program tells of itself, and all three see
the same calls and signals, event for event, in every thread, from the program's exec to its end.

What differs by nature is in the tables below with the reason, and nowhere else.
"""
import json
import re
import shutil
import signal
import subprocess
import sys

from record_common import Bench, check
from syscap_common import (ERRNO, STRACE, UNFINISHED, backends, capture, events_of, fresh_folder, is_restart,
                           program, read_told, show, strace_events)

PROGRAMS = {"files": 0, "paths": 0, "offsets": 0, "sockets": 0, "nonblocking": 0, "passing": 0, "processes": 0,
            "thread_exec": 6, "signals": 0, "threads": 0, "memory": 0, "aio": 0, "aio_ring": 0, "uring": 0, "refused": 0,
            "others": 0}

ANY_NUMBER = {  # successful results that are different in each run
    "mmap": "an address", "mremap": "an address", "brk": "an address", "io_setup": "0, but its context is an address",
    "fork": "a process", "vfork": "a process", "clone": "a thread", "clone3": "a thread", "wait4": "a process",
    "getpid": "a process", "getppid": "a process", "gettid": "a thread", "set_tid_address": "a thread",
    "shmat": "an address", "shmget": "a number of the kernel's", "semget": "likewise", "msgget": "likewise",
    "rt_sigreturn": "what the interrupted code had in its register",
}
NOT_COMPARED = {
    "futex": "whether somebody has to wait for a lock is a matter of time",
    "sched_yield": "likewise",
    "madvise": "libc gives back a stack or keeps it, which depends on who ended first",
    "munmap": "likewise",
}
SIGNALS_NOT_COMPARED = {
    "SIGCHLD": "comes when a child ends, at no fixed point; and is ignored, which only ptrace is told of",
    "SIGKILL": "the dead make no stop for a tracer: only ebpf sees it delivered; the end tells of it",
}
SIGNALS_OF_PTRACE = {
    "SIGUSR2": "ignored by the program: the kernel drops it at once unless somebody traces with ptrace",
}
# A call that was interrupted and restarted is one call; one in which its thread died has no result. What a tracer saw as
# the result of either (ERESTARTSYS and kin) depends on whether it was asked before or after the kernel had decided.


def threads_of(events):
    """{thread: its events}; an exec by a thread that is not the first goes on under the first one's number."""
    threads = {}
    for event in events:
        thread = event.thread
        if event.kind == "call" and event.name in ("execve", "execveat") and event.outcome == 0 and event.process:
            thread = event.process
        threads.setdefault(thread, []).append(event)
    return threads


def in_order_of_birth(threads, root):
    """[(thread, whether it is a process's first)]: the program's, then those it made in the order it made them, then theirs."""
    order, firsts = [root], {root}
    for thread in order:
        for event in threads[thread]:
            child = event.outcome
            if event.name in ("clone", "clone3", "fork", "vfork") and child in threads and child not in order:
                order.append(child)
                firsts |= {child} if event.name in ("fork", "vfork") else set()
    strangers = [t for t in threads if t not in order and any(e.kind == "call" for e in threads[t])]
    check(not strangers, "threads that nobody made: %s" % {t: str(threads[t][0]) for t in strangers})
    return [(thread, thread in firsts) for thread in order]  # the rest: workers of io_uring, which only end


def is_compared(event, left_out):
    if event.kind == "signal":
        return event.name not in left_out
    return event.kind == "exit" or (event.kind == "call" and event.name not in NOT_COMPARED)


def settle(events):
    """Restarted calls become one, and a call in which the thread died has no result."""
    kept = []
    for index, event in enumerate(events):
        later = next((e for e in events[index + 1:] if e.kind == "call"), None)
        outcome = event.outcome
        if event.kind == "call" and is_restart(outcome):
            if later is None or (later.name == "execve" and later.outcome == 0):
                outcome = UNFINISHED
            elif later.name in (event.name, "restart_syscall"):
                later.name = event.name
                continue
        kept.append((event, outcome))
    return kept


def text_of(event, outcome, leader):
    if event.kind == "signal":
        return "signal " + event.name
    if event.kind == "exit":
        return "end, status %d" % outcome if leader else "end"
    if isinstance(outcome, int) and event.name in ANY_NUMBER and not -4095 <= outcome < 0:
        outcome = "a number"
    return "%s = %s" % (event.name, outcome)


def lines_of(events, left_out):
    """Per thread, in order of birth, its events as text."""
    begin = next(i for i, e in enumerate(events) if e.name == "execve" and e.outcome == 0)
    root = events[begin].thread
    threads = threads_of(events[begin + 1:])
    result = []
    for thread, leader in in_order_of_birth(threads, root):
        own = [e for e in threads[thread] if is_compared(e, left_out)]
        own = [e for e in own if e.kind != "exit" or e is own[-1]]  # an end before exec: of a thread that was replaced
        result.append([text_of(event, outcome, leader) for event, outcome in settle(own)])
    return result


def first_difference(names, sides):
    """"" when both are the same."""
    if len(sides[0]) != len(sides[1]):
        return "%s saw %d threads, %s %d" % (names[0], len(sides[0]), names[1], len(sides[1]))
    for number, (one, other) in enumerate(zip(*sides)):
        for place in range(max(len(one), len(other))):
            if one[place:place + 1] != other[place:place + 1]:
                around = slice(max(0, place - 3), place + 3)
                return "thread %d, event %d:\n  %s: %s\n  %s: %s" % (
                    number, place, names[0], " | ".join(one[around]), names[1], " | ".join(other[around]))
    return ""


# --- what the program tells against what a log has ---

MOVED = {"preadv2": 4, "pwritev2": 4}  # this argument's place is taken by the bytes asked for (call.h)


def same_args(told, event):
    args = event.args + [0] * (len(told.args) - len(event.args))
    return all(args[i] == want for i, want in enumerate(told.args) if MOVED.get(told.name) != i)


def same_outcome(told, event):
    if told == UNFINISHED or told == -ERRNO["EINTR"]:
        return event == told or is_restart(event)
    return event == told


def same_rest(told, event):
    extra = told.extra
    if "asked" in extra and event.asked != int(extra["asked"]):
        return "asked %s" % event.asked
    if "slow" in extra and (event.duration_s or 0) < int(extra["slow"]) / 1e9 * 0.99:
        return "took %s" % event.duration_s
    wanted = extra.get("path", extra.get("target", ""))
    if wanted not in event.target or (extra.get("path") and not event.target.startswith("/")):
        return "target '%s'" % event.target
    return ""


def find_call(told, events, at):
    """Where it is, from `at` on."""
    for place in range(at, len(events)):
        event = events[place]
        same = event.kind == "call" and event.name == told.name and same_args(told, event)
        if same and same_outcome(told.outcome, event.outcome):
            return place
    near = [str(e) for e in events[at:] if e.name == told.name][:2]
    raise AssertionError("not seen: %s\n  of that name: %s" % (told.text, "\n  ".join(near) or "nothing"))


def check_sender(event, code, sender):
    """Of a signal; its code is a negative number of 64 bits now and then."""
    check((event.args[0] & 0xFFFFFFFF, event.args[1]) == (code & 0xFFFFFFFF, sender),
          "%s: not code %d, sender %d" % (event, code, sender))


def check_told_thread(lines, events, backend):
    """The lines of one thread, in their order."""
    at = 0
    for told in lines:
        if told.word == "CALL":
            at = find_call(told, events, at)
            wrong = same_rest(told, events[at])
            if backend == "ebpf" and told.extra.get("ring_target", "") not in events[at].target:
                wrong = "target '%s'" % events[at].target
            check(not wrong, "%s: seen with %s" % (told.text, wrong))
            at += 1
        elif told.word == "SIGNAL" or (told.word == "IGNORED" and backend == "ptrace"):
            places = [i for i, e in enumerate(events) if i >= at and e.kind == "signal" and e.name == told.name]
            check(places, "not seen: " + told.text)
            if told.extra:
                check_sender(events[places[0]], told.extra["code"], told.extra["sender"])
            at = places[0] + 1
        elif told.word == "EXIT":
            ends = [e for e in events if e.kind == "exit"]
            check(any(e.outcome == told.outcome for e in ends), "not seen: %s: %s" % (told.text, ends))
        elif told.word == "COUNT":
            count = sum(e.kind == "call" and e.name == told.name for e in events)
            check(count == told.outcome, "%s: seen %d times" % (told.text, count))


def check_completions(told, events):
    """AIO and io_uring, which only ebpf sees: each completion by the number that the program gave it."""
    for line in told:
        if line.word not in ("AIO", "URING"):
            continue
        kind = line.word.lower()
        data = int(line.args[-1], 16)
        found = [e for e in events if e.kind == kind and e.args[3] == data]
        check(len(found) == 1 and found[0].outcome == line.outcome, "%s: seen as %s" % (line.text, found))
        event = found[0]
        check(event.number == int(line.name), "%s: opcode %s" % (line.text, event))
        check(event.args[0] & 0xFFFFFFFF == int(line.args[0]) & 0xFFFFFFFF, "%s: descriptor %s" % (line.text, event))
        if kind == "aio":
            check(event.args[1:3] == [int(line.args[1]), int(line.args[2])], "%s: bytes and offset %s" % (line.text, event))
        else:
            check(event.asked == (None if line.args[1] == "-1" else int(line.args[1])), "%s: bytes %s" % (line.text, event))


def check_told(told, events, backend):
    for thread in dict.fromkeys(line.thread for line in told if line.thread):
        check_told_thread([line for line in told if line.thread == thread], [e for e in events if e.thread == thread], backend)
    if backend == "ebpf":
        check_completions(told, events)


# --- running them ---

def unseen_in(report):
    """Completions of AIO and io_uring that nobody told of, from the report of `syscap --json`, wherever it has them."""
    if isinstance(report, dict):
        return report["unseen"] if "unseen" in report else max([unseen_in(part) for part in report.values()], default=-1)
    return max([unseen_in(part) for part in report], default=-1) if isinstance(report, list) else -1


def under_culprit(bench, backend, name):
    folder = fresh_folder(bench.path("%s-%s" % (name, backend)))
    run, told = bench.path("%s-%s.run" % (name, backend)), bench.path("%s-%s.told" % (name, backend))
    done = capture(bench, backend, run, [program(bench, name), told], folder, ["--json"])
    check(done.returncode == PROGRAMS[name], "exit code %d: %s" % (done.returncode, done.stderr))
    events, lines = events_of(bench, run), read_told(told)
    check_told(lines, events, backend)
    for line in lines:
        if line.word == "UNSEEN" and backend == "ebpf":
            start = done.stdout.find("{")
            check(start >= 0 and unseen_in(json.loads(done.stdout[start:])) == line.outcome, "%s: %s" % (line.text, done.stdout))
    return events


def under_strace(bench, name):
    folder = fresh_folder(bench.path(name + "-strace"))
    out = bench.path(name + ".strace")
    done = subprocess.run([*STRACE, "-o", out, program(bench, name), bench.path(name + "-strace.told")], cwd=folder,
                          capture_output=True, text=True, timeout=60)
    check(done.returncode == PROGRAMS[name], "strace: exit code %d: %s" % (done.returncode, done.stderr))
    return strace_events(out)


def agree(bench, name, backend, events, reference):
    left_out = set(SIGNALS_NOT_COMPARED) | (set(SIGNALS_OF_PTRACE) if backend == "ebpf" else set())
    sides = [lines_of(events, left_out), lines_of(reference, left_out)]
    difference = first_difference((backend, "strace"), sides)
    check(not difference, difference)
    return sum(map(len, sides[0]))


def check_program(bench, name):
    """Every failure is told, so that one run shows all of them."""
    failures, counts = [], []
    reference = under_strace(bench, name) if shutil.which("strace") else None
    for backend in backends():
        try:
            events = under_culprit(bench, backend, name)
            if reference:
                counts.append("%s %d" % (backend, agree(bench, name, backend, events, reference)))
        except (AssertionError, StopIteration, KeyError, subprocess.TimeoutExpired) as error:
            failures.append("%s under %s: %s" % (name, backend, error))
    print("%s: %s" % (name, "; ".join(failures) or "the same events (%s)" % ", ".join(counts)), flush=True)
    return failures


def check_filter(bench, backend):
    """--calls: those and no others, as many as without it."""
    wanted = ["openat", "pread64", "pwrite64", "close"]
    folder = fresh_folder(bench.path("filter-" + backend))
    run = bench.path("filter-%s.run" % backend)
    done = capture(bench, backend, run, [program(bench, "files"), bench.path("filter-%s.told" % backend)], folder,
                   ["--calls", ",".join(wanted)])
    check(done.returncode == 0, done.stderr)
    all_of_them = [e.name for e in events_of(bench, bench.path("files-%s.run" % backend)) if e.kind == "call"]
    seen = [e.name for e in events_of(bench, run) if e.kind == "call"]
    check(set(seen) == set(wanted), "%s: seen were %s" % (backend, sorted(set(seen))))
    for name in wanted:
        check(seen.count(name) == all_of_them.count(name), "%s: %s %d times, without a filter %d" % (
            backend, name, seen.count(name), all_of_them.count(name)))
    print("%s: --calls leaves only those" % backend)


def check_followed(bench, backend, name, wanted):
    """--calls without connect and close: they are not recorded, but what they make of a descriptor is known all the same."""
    folder, stem = fresh_folder(bench.path("followed-%s-%s" % (name, backend))), bench.path("%s-%s-followed" % (name, backend))
    done = capture(bench, backend, stem + ".run", [program(bench, name), stem + ".told"], folder, ["--calls", ",".join(wanted)])
    check(done.returncode == 0, done.stderr)
    told = [line for line in read_told(stem + ".told") if line.word == "CALL" and line.name in wanted]
    events = events_of(bench, stem + ".run")
    if name == "uring" and not told:
        return print("%s: io_uring is not allowed here" % backend)
    check(told and {e.name for e in events if e.kind == "call"} <= set(wanted), "%s under %s: %s" % (name, backend, told))
    check_told(told, events, backend)
    print("%s: %s with --calls %s has the right names" % (backend, name, ",".join(wanted)))


def check_second_descriptor(bench, backend):
    """Of a call with two descriptors both have a name, and not one that their numbers had before."""
    text = show(bench, bench.path("others-%s.run" % backend), "--call", "tee,splice")
    for call, names in (("tee", r"tee\(\d+<pipe:\[\d+\]>, \d+<pipe:\[\d+\]>"), ("splice", r"splice\(\d+<pipe:.*/spliced>")):
        check(re.search(names, text), "%s: the descriptors of %s: %s" % (backend, call, text))
    check("stale" not in text, "%s: a name of before: %s" % (backend, text))
    print("%s: both descriptors of a call have their names" % backend)


def ignore_signals():
    for number in (signal.SIGCHLD, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def check_inherited(bench, backend):
    """Signals that are ignored when culprit starts: the command ignores them, too (nohup), and how it ends is known."""
    words = ["syscap", "--backend", backend, "--quiet", "--out", bench.path("inherited-%s.run" % backend)]
    done = subprocess.run([bench.culprit, *words, "--", "sh", "-c", "kill -HUP $$; exit 3"], env=bench.env, cwd=bench.folder,
                          capture_output=True, text=True, timeout=60, preexec_fn=ignore_signals)
    check(done.returncode == 3, "%s: exit code %d: %s" % (backend, done.returncode, done.stderr))
    print("%s: ignored signals stay ignored" % backend)


def main():
    names = sys.argv[2:] or list(PROGRAMS)
    if not shutil.which("strace"):
        print("left out: the comparison with strace, which is not installed")
    with Bench() as bench:
        failures = [failure for name in names for failure in check_program(bench, name)]
        check(not failures, "%d of %d captures are wrong:\n%s" % (len(failures), 2 * len(names), "\n".join(failures)))
        if "files" in names:
            for backend in backends():
                check_filter(bench, backend)
                check_inherited(bench, backend)
                check_followed(bench, backend, "sockets", ["sendto", "recvfrom", "read", "write"])
                check_followed(bench, backend, "uring", ["pwrite64"])
        if "others" in names:
            for backend in backends():
                check_second_descriptor(bench, backend)


if __name__ == "__main__":
    sys.exit(main())
