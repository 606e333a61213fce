#!/usr/bin/env python3
"""How fast are virtual disks without a model, against a plain loop device on tmpfs, and what do idle ones cost?

Both devices have direct I/O, no scheduler and the same images on tmpfs, already filled; they run in turns, again and
again, so that both meet the same machine. The table has medians over the repetitions, with the lowest and highest, and
the ratio of the medians. CPU of the daemon is the kernel's exact clock of the process. Needs root.

    benchmarks/disk_ratio.py BUILD [--seconds 3] [--repeats 3] [--idle-seconds 10]
"""
import argparse
import os
import sys
import time

sys.dont_write_bytecode = True  # the source tree stays clean
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "tests", "system"))
from common import cpu_ns, machine, median, peak_rss_bytes, spread, table
from disk_common import DiskLab, attach_loop, fio, need_root_and_tools, run

SIZE = 512 << 20
LOADS = [  # fio's name, block, depth, and what is compared
    ("read", 1 << 20, 8, "MB/s"), ("write", 1 << 20, 8, "MB/s"),
    ("read", 1 << 20, 1, "MB/s"), ("write", 1 << 20, 1, "MB/s"),
    ("randread", 4096, 32, "IOPS"), ("randwrite", 4096, 32, "IOPS"),
    ("randread", 4096, 1, "IOPS"), ("randwrite", 4096, 1, "IOPS"),
]


def fill(loop):
    run("dd", "if=/dev/zero", "of=" + loop, "bs=1M", "count=%d" % (SIZE >> 20), "oflag=direct")


def speed(loop, rw, block, depth, unit, seconds):
    figures = fio(loop, rw, block, depth, "--time_based", "--runtime=%g" % seconds, "--size=%d" % SIZE)
    return figures["bw_bytes"] / 1e6 if unit == "MB/s" else figures["iops"]


def compare(lab, plain, virtual, options):
    rows = []
    for rw, block, depth, unit in LOADS:
        speeds = {plain: [], virtual: []}
        for _ in range(options.repeats):
            for loop in (plain, virtual):
                speeds[loop].append(speed(loop, rw, block, depth, unit, options.seconds))
        ratio = median(speeds[virtual]) / median(speeds[plain])
        form = lambda value: "%.0f" % value
        rows.append((rw, block, depth, unit, spread(speeds[plain], form), spread(speeds[virtual], form), "%.2f" % ratio))
    table(["load", "block", "depth", "unit", "plain loop", "virtual disk", "ratio"], rows)


def idle(lab, seconds):
    for number in range(12):
        lab.ask("add idle%d 1GB barracuda7200" % number)
        lab.attach("idle%d" % number)
    time.sleep(1)
    rows = []
    for what, hidden in (("idle", False), ("idle, each with hidden load", True)):
        for number in range(12):
            if hidden:
                lab.ask("hidden idle%d share=0.5 for=10m" % number)
        before, begun = cpu_ns(lab.daemon.pid), time.monotonic()
        time.sleep(seconds)
        used = (cpu_ns(lab.daemon.pid) - before) / 1e9 / (time.monotonic() - begun)
        rows.append(("12 disks, " + what, "%.4f %%" % (100 * used), "%.1f" % (peak_rss_bytes(lab.daemon.pid) / 1e6)))
    table(["", "of a core", "peak RSS, MB"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--idle-seconds", type=float, default=10)
    options = parser.parse_args()
    need_root_and_tools("fio", "losetup")
    print(machine() + "\n")
    with DiskLab(options.build) as lab:
        lab.ask("add virtual %d none" % SIZE)
        virtual = lab.attach("virtual")
        with open(lab.path("plain"), "wb") as image:
            image.truncate(SIZE)
        plain = attach_loop(lab.path("plain"))
        lab.loops.append(plain)
        for loop in (plain, virtual):
            fill(loop)
        compare(lab, plain, virtual, options)
        print()
        idle(lab, options.idle_seconds)


if __name__ == "__main__":
    main()
