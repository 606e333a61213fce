#!/usr/bin/env python3
"""Makes a campaign directory of simulated runs, as `culprit campaign` would leave it.

score_campaign.py DIR [INTERVAL [SETS]]; SETS is a comma-separated list of the sets to make: train,score,control.
"""
import json
import pathlib
import subprocess
import sys

RUNS = [  # id, set, workload, fault, victim
    ("train-1", "train", "ddw", "none", ""),
    ("train-2", "train", "ddw", "none", ""),
    ("train-3", "train", "ddw", "none", ""),
    ("train-4", "train", "ddr", "none", ""),
    ("train-5", "train", "ddr", "none", ""),
    ("train-6", "train", "ddr", "none", ""),
    ("score-ddw-none-1", "score", "ddw", "none", ""),
    ("score-ddw-disk_hog-1", "score", "ddw", "disk_hog", "s2"),
    ("score-ddw-disk_busy-1", "score", "ddw", "disk_busy", "s3"),
    ("control-hot-1", "control", "hot", "none", ""),
]


def simulate(folder, number, interval, run_id, workload, fault, victim):
    out = folder / "runs" / f"{run_id}.run"
    command = ["culprit", "simulate", "--servers", "4", "--ticks", "400", "--spread", "0.01", "--seed", str(number),
               "--interval", interval, "--workload", "ddw" if workload == "hot" else workload, "--fault", fault,
               "--fault-from", "120", "--fault-for", "220", "--out", str(out)]
    subprocess.run(command + (["--on", victim] if victim else []), check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return json.loads((out / "manifest.json").read_text())


def attempt(number, run_id, kind, workload, fault, victim, **more):
    return {"id": run_id, "set": kind, "workload": workload, "fault": fault, "params": {}, "victim": victim,
            "iteration": 1, "recorded": True, "seed": number, "attempt": 1, "outcome": "kept", "reason": "",
            "run": f"runs/{run_id}.run", "begin_ns": 0, "on_ns": 0, "off_ns": 0, "end_ns": 0, "interval_ns": 0,
            "measured": {"idle_low": 55.5}} | more


def main():
    folder = pathlib.Path(sys.argv[1])
    interval = sys.argv[2] if len(sys.argv) > 2 else "1s"
    sets = (sys.argv[3] if len(sys.argv) > 3 else "train,score,control").split(",")
    (folder / "runs").mkdir(parents=True)
    rows = [attempt(0, "score-ddw-none-1", "score", "ddw", "none", "", outcome="spoiled", reason="idle CPU 3 %",
                    run="")]
    for number, (run_id, kind, workload, fault, victim) in enumerate(RUNS, 1):
        if kind not in sets:
            continue
        manifest = simulate(folder, number, interval, run_id, workload, fault, victim)
        truth = manifest["truth"]
        on, off = (int(truth[key]) if victim else 0 for key in ("from_ns", "until_ns"))
        rows.append(attempt(number, run_id, kind, workload, fault, victim, begin_ns=manifest["start_ns"], on_ns=on,
                            off_ns=off, end_ns=manifest["end_ns"], interval_ns=manifest["interval_ns"]))
    (folder / "journal.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
