#!/usr/bin/env python3
"""For how long does a server stand still when a capture attaches to it?

A thread reads a cached byte every millisecond and keeps the longest time between two reads. Over many attaches, each with
its detach, that is compared with the same time without one, right after it. A machine has gaps of its own: that is why the
baseline is taken anew for every attach.

    benchmarks/syscap_gap.py BUILD [--attaches 20] [--seconds 1]
"""
import argparse
import atexit
import mmap
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree stays clean
from common import end_in_order, machine, median, table


class Ticker:
    """tests/trace/traced_load ticks, and its counters."""

    def __init__(self, build, folder):
        counters = os.path.join(folder, "counters")
        with open(counters, "wb") as out:
            out.write(bytes(16))
        words = [os.path.join(build, "trace", "traced_load"), "ticks", counters, os.path.join(folder, "byte")]
        self.process = subprocess.Popen(words)
        atexit.register(self.process.kill)
        with open(counters, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 16)
        end = time.monotonic() + 10
        while self.count() < 100:
            if time.monotonic() > end or self.process.poll() is not None:
                sys.exit("the program that is to be captured does not run")
            time.sleep(0.01)

    def count(self):
        return struct.unpack_from("q", self.memory)[0]

    def longest_ms(self, during):
        """The longest gap while `during` runs."""
        struct.pack_into("q", self.memory, 8, 0)
        during()
        if self.process.poll() is not None:
            sys.exit("the program has ended: it did not survive the capture")
        return struct.unpack_from("q", self.memory, 8)[0] / 1e6


def attach(culprit, backend, pid, run, seconds):
    words = [culprit, "syscap", "--backend", backend, "--quiet", "--pid", str(pid), "--for", f"{int(seconds * 1000)}ms",
             "--out", run]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr}")
    shutil.rmtree(run, ignore_errors=True)


def measure(args, backend, ticker, folder):
    """[(baseline, attached)] in ms."""
    culprit, run, rows = os.path.join(args.build, "culprit"), os.path.join(folder, "gap.run"), []
    for _ in range(args.attaches):
        begin = time.monotonic()
        attached = lambda: attach(culprit, backend, ticker.process.pid, run, args.seconds)
        gap = ticker.longest_ms(attached)
        took = time.monotonic() - begin  # loading and detaching included: the baseline gets the same time
        rows.append((ticker.longest_ms(lambda: time.sleep(took)), gap))
    return rows


def main():
    end_in_order()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="build folder with culprit and trace/ (release)")
    parser.add_argument("--attaches", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--backends", default="ebpf,ptrace")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="culprit-gap-", dir="/dev/shm")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.mkdir(os.path.join(folder, "registry"), 0o700)
    os.environ["CULPRIT_RUNTIME_DIR"] = os.path.join(folder, "registry")
    ticker = Ticker(args.build, folder)
    print(f"{machine()}\n`benchmarks/syscap_gap.py BUILD --attaches {args.attaches} --seconds {args.seconds:g}`\n")
    rows = []
    for backend in args.backends.split(","):
        both = measure(args, backend, ticker, folder)
        plain, attached = [p for p, _ in both], [a for _, a in both]
        numbers = (median(plain), max(plain), median(attached), max(attached))
        rows.append([backend, len(both), *[f"{value:.2f}" for value in numbers], f"{max(attached) - max(plain):+.2f}"])
    table(["backend", "attaches", "longest gap without, ms: median", "maximum", "with an attach, ms: median", "maximum",
           "maximum above baseline, ms"], rows)


if __name__ == "__main__":
    main()
