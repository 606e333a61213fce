#!/usr/bin/env python3
"""The aggregating mode keeps no single calls, but its counts and errors are those that the programs tell of themselves, with
both backends."""
import json
import sys
from collections import Counter

from record_common import Bench, check
from syscap_common import ERRNO, backends, capture, events_of, fresh_folder, program, read_told, show


def aggregated(bench, backend, name):
    """What a program told, and the rows of `show --stats`: {call: (count, {errno: count})}."""
    folder, run = fresh_folder(bench.path("%s-%s" % (name, backend))), bench.path("%s-%s.run" % (name, backend))
    told = bench.path("%s-%s.told" % (name, backend))
    done = capture(bench, backend, run, [program(bench, name), told], folder, ["--aggregate"])
    check(done.returncode == 0, "%s under %s: %s" % (name, backend, done.stderr))
    rows = {}
    for row in json.loads(show(bench, run, "--stats", "--json")):
        count, errors = rows.setdefault(row["call"], (0, Counter()))
        errors.update(row["errno"])
        rows[row["call"]] = (count + row["count"], errors)
        check(row["count"] == 0 or row["p99_us"] > 0, "no times: %s" % row)
    return read_told(told), rows, run


def check_counts(bench, backend):
    told, rows, run = aggregated(bench, backend, "threads")
    for name in ("pread64", "pwrite64"):
        wanted = sum(line.outcome for line in told if line.word == "COUNT" and line.name == name)
        check(wanted > 0 and rows[name][0] == wanted, "%s: %s %d times, seen %d" % (backend, name, wanted, rows[name][0]))
        check(not rows[name][1], "%s: errors of %s: %s" % (backend, name, rows[name][1]))
    done = bench.run("syscap", "show", run, "--format", "jsonl")
    check(done.returncode == 2 and "sums" in done.stderr, "single calls in a log of sums: %s" % done.stderr)


def check_errors(bench, backend):
    told, rows, _ = aggregated(bench, backend, "paths")
    for name in ("openat", "unlink", "rmdir"):
        failed = [-line.outcome for line in told if line.word == "CALL" and line.name == name and line.outcome < 0]
        seen = {ERRNO[word]: count for word, count in rows[name][1].items()}
        check(failed and seen == Counter(failed), "%s: %s failed with %s, seen %s" % (backend, name, Counter(failed), seen))


def check_same(bench, backend):
    """Sums and single calls of the same program."""
    folder, run = fresh_folder(bench.path("single-" + backend)), bench.path("single-%s.run" % backend)
    done = capture(bench, backend, run, [program(bench, "offsets"), bench.path("single-%s.told" % backend)], folder)
    check(done.returncode == 0, done.stderr)
    single = Counter(e.name for e in events_of(bench, run) if e.kind == "call" and e.outcome != "?")
    sums = {name: count for name, (count, _) in aggregated(bench, backend, "offsets")[1].items()}
    for name in ("pread64", "pwrite64", "preadv", "lseek", "ftruncate", "fallocate"):
        check(single[name] == sums.get(name),
              "%s: %s %d times singly, %s in sums" % (backend, name, single[name], sums.get(name)))


def main():
    with Bench() as bench:
        for backend in backends():
            check_counts(bench, backend)
            check_errors(bench, backend)
            check_same(bench, backend)
            print("%s: sums have every call and every error" % backend)


if __name__ == "__main__":
    sys.exit(main())
