#!/usr/bin/env python3
"""The tables of docs/results/hotdep09.md on errors, crashes and hangs, from rows that are kept in docs/results/rows.

  benchmarks/hotdep09_tables.py LEFT.jsonl ROWS.jsonl...

LEFT is what hotdep09_left.py wrote, ROWS what `culprit score --rows` wrote for each detector of the same campaign.
"""
import collections
import json
import sys

from common import table

MOST = 3  # words in a cell
ORDER = ("err_inodes", "err_files", "err_space", "err_fsize", "err_vmsize", "err_remount", "crash", "hang")


def read(path):
    with open(path) as file:
        return [json.loads(line) for line in file if line.strip()]


def verdicts(paths):
    """detector -> id -> row"""
    out = collections.defaultdict(dict)
    for path in paths:
        for row in read(path):
            if "discarded" not in row:
                out[row["detector"]][row["id"]] = row
    return out


def found(rows, ids):
    return {each for each in ids if rows.get(each, {}).get("itp")}


def counts(runs, judged):
    detectors = sorted(judged)
    head = ["fault", "injected", "left a trace", *[f"named by {name}" for name in detectors], "named by any",
            "trace, but not named", "named, no trace", "another accused"]
    rows = []
    for fault in (fault for fault in ORDER if any(run["fault"] == fault for run in runs)):
        ids = [run["id"] for run in runs if run["fault"] == fault]
        trace = {run["id"] for run in runs if run["fault"] == fault and run["trace"]}
        each = [found(judged[name], ids) for name in detectors]
        any_of = set().union(*each) if each else set()
        wrong = {i for i in ids for name in detectors if judged[name].get(i, {}).get("ifp")}
        rows.append([fault, len(ids), len(trace), *[len(named) for named in each], len(any_of), len(trace - any_of),
                     len(any_of - trace), len(wrong)])
    table(head, rows)


def controls(runs, judged):
    """Runs in which nobody is at fault: whoever is accused there is accused wrongly."""
    detectors = sorted(judged)
    groups = collections.OrderedDict()
    for run in runs:
        if run["fault"] == "none":
            groups.setdefault((run["set"], run["workload"]), []).append(run)
    rows = []
    for (kind, workload), members in sorted(groups.items()):
        answers = [[judged[name].get(run["id"], {}) for run in members] for name in detectors]
        accused = [sum(bool(row.get("ifp")) for row in each) for each in answers]
        undecided = [sum(row.get("answer") == "undecided" for row in each) for each in answers]
        odd = sum(bool(run["others"]) for run in members)
        name = f"{workload} ({'control' if kind == 'control' else 'no fault'})"
        rows.append([name, len(members), odd, *accused, *undecided])
    table(["runs without a fault", "runs", "with an unexpected call by chance",
           *[f"accused by {name}" for name in detectors], *[f"undecided: {name}" for name in detectors]], rows)


def cell(counters, runs):
    """The commonest words, with the runs that had them."""
    seen = collections.Counter()
    for counter in counters:
        seen.update(set(counter))
    if not seen:
        return "nothing"
    commonest = sorted(seen.items(), key=lambda item: (-item[1], item[0]))[:MOST]
    texts = [f"{kind.replace('|', '/')} ({count} of {runs})" for kind, count in commonest]
    if len(seen) > MOST:
        texts.append(f"and {len(seen) - MOST} more")
    return "; ".join(texts)


def words(runs):
    rows = []
    for fault in ORDER:
        mine = [run for run in runs if run["fault"] == fault]
        if not mine:
            continue
        log = cell([run["log"] for run in mine], len(mine))
        clients = cell([run["clients_log"] for run in mine], len(mine))
        said = cell([run["said"] for run in mine], len(mine))
        calls = cell([run["calls"] for run in mine], len(mine))
        rows.append([fault, said, calls, f"server: {log}<br>clients: {clients}"])
    table(["fault", "the application saw", "the server's calls said", "the file system's log said"], rows)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    left = read(sys.argv[1])
    expected, runs = left[0], left[1:]
    judged = verdicts(sys.argv[2:])
    counts(runs, judged)
    print()
    controls(runs, judged)
    print()
    words(runs)
    pairs = ", ".join(expected["expected"])
    print(f"\nNormal, by {expected['training_runs']} training runs: {pairs or 'nothing fails'}.")


main()
