#!/usr/bin/env python3
"""How long does diagnosis take? Wall time, CPU and memory of `culprit diagnose`, reading included, by servers.

The runs are simulated, so this says nothing about accuracy. The profile comes from small fault-free runs: servers that
it does not know get each metric's largest threshold. Files are in the page cache, as after a recording.

    benchmarks/diagnose_scale.py BUILD [--servers 10 100 1000] [--ticks 600] [--repeats 3]
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree stays clean
from common import culprit, machine, median, run_folder, spread, table

FAULT = ["--fault", "disk_hog", "--on", "s3"]
DETECTORS = ["fast10", "median_ratio"]


def simulate(build, out, servers, ticks, seed, fault=()):
    start = time.monotonic()
    culprit(build, "simulate", "--servers", str(servers), "--ticks", str(ticks), "--seed", str(seed), *fault, "--out", out)
    return run_folder(out), time.monotonic() - start


def diagnose(build, run, profile, detector):
    """Wall seconds, CPU seconds, peak memory and the verdict of one diagnosis."""
    command = [os.path.join(build, "culprit"), "diagnose", run, "--json", "--detector", detector]
    command += ["--profile", profile] if detector == "fast10" else []
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - start
        out.seek(0)
        text = out.read()
    if process.returncode not in (0, 10, 11):
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    verdict = json.loads(text)
    servers = ",".join(culprit_["server"] for culprit_ in verdict["culprits"][:3])
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, f"{verdict['verdict']} {servers}".strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--servers", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--ticks", type=int, default=600)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    print(f"{machine()}\n`benchmarks/diagnose_scale.py BUILD --servers {' '.join(map(str, args.servers))} "
          f"--ticks {args.ticks} --repeats {args.repeats}`\n")
    scratch = tempfile.mkdtemp(prefix="culprit-scale-")
    try:
        training = [simulate(args.build, os.path.join(scratch, f"train{s}"), 20, args.ticks, s)[0] for s in (101, 102)]
        profile = os.path.join(scratch, "profile.json")
        culprit(args.build, "train", *training, "--out", profile)
        rows = []
        for servers in args.servers:
            run, took = simulate(args.build, os.path.join(scratch, f"run{servers}"), servers, args.ticks, 7, FAULT)
            for detector in DETECTORS:
                results = [diagnose(args.build, run, profile, detector) for _ in range(args.repeats)]
                rows.append([servers, detector, spread([r[0] for r in results], lambda v: f"{v:.2f}"),
                             f"{median([r[1] for r in results]):.2f}", f"{median([r[2] for r in results]) / 1e6:.0f}",
                             results[0][3], f"{took:.1f}"])
            shutil.rmtree(run)
        table(["servers", "detector", "wall, s: median (range)", "CPU, s", "peak RSS, MB", "verdict", "simulating it took, s"], rows)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
