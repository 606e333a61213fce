#!/usr/bin/env python3
"""Table 1 of HotDep'09 beside ours: which of the four times finds which fault under which workload.

  benchmarks/hotdep09_table1.py ROWS.jsonl

ROWS is what `culprit score CAMPAIGN --detector hotdep09_statistical --rows` wrote. TP is the share of the runs in which the
victim was accused on this metric while or after the fault came, FP the share in which anybody else was, or the victim
before (the paper's footnote 4). The paper prints a metric only where one of its ratios is not 0: "-" here.
"""
import json
import sys

from common import table

FAULTS = ("disk_hog", "disk_busy", "write_network_hog", "read_network_hog", "receive_pktloss", "send_pktloss")
HALVES = (("reading", ("dread", "ncread"), ("ddr", "iozoner", "postmark")),
          ("writing", ("dwrite", "nsread"), ("ddw", "iozonew", "postmark")))
# (fault, metric): TP and FP for the three workloads of its half, as printed.
PAPER = {
    ("disk_hog", "dread"): ((1, 0), (1, 0), (1, 0.1)),
    ("disk_hog", "dwrite"): ((0.4, 0), (0.4, 0), (1, 0.1)),
    ("disk_busy", "dread"): ((1, 0), (1, 0), (0.9, 0.1)),
    ("disk_busy", "dwrite"): ((0.4, 0), (0.4, 0), (1, 0.1)),
    ("write_network_hog", "nsread"): ((0, 0), (0, 0), (0.9, 0)),
    ("read_network_hog", "ncread"): ((0, 0), (0, 0), (1, 0)),
    ("read_network_hog", "nsread"): ((0, 0), (0, 0), (1, 0)),
    ("read_network_hog", "dwrite"): ((0.2, 0), (0, 0), (1, 0)),
    ("receive_pktloss", "ncread"): ((0, 0), (0, 0), (0.8, 0)),
    ("receive_pktloss", "nsread"): ((0, 0), (0, 0), (0.9, 0)),
    ("send_pktloss", "ncread"): ((0, 0), (0, 0), (1, 0)),
}


def finds_victim(row, accused):
    if row["on_s"] is None or accused["server"] != row["victim"]:
        return False
    return accused["end_s"] is None or accused["end_s"] > row["on_s"]


def ratios(rows, metric):
    """(TP, FP) over the runs of one cell."""
    good = wrong = 0
    for row in rows:
        mine = [each for each in row["accused"] if any(e["metric"] == metric for e in each["evidence"])]
        good += any(finds_victim(row, each) for each in mine)
        wrong += any(not finds_victim(row, each) for each in mine)
    return good / len(rows), wrong / len(rows)


def number(value):
    return f"{value:.2g}"


def half(rows, title, metrics, workloads):
    print(f"\n{title[0].upper()}{title[1:]}: TP / FP, the paper's in brackets\n")
    out = []
    for fault in (*FAULTS, "none"):
        for metric in metrics:
            cells = []
            for i, workload in enumerate(workloads):
                mine = [row for row in rows if row["fault"] == fault and row["workload"] == workload]
                if not mine:
                    cells.append("no run")
                    continue
                good, wrong = ratios(mine, metric)
                printed = PAPER.get((fault, metric))
                paper = f"{number(printed[i][0])} / {number(printed[i][1])}" if printed else "-"
                cells.append(f"{number(good) if fault != 'none' else '-'} / {number(wrong)} ({paper}), n = {len(mine)}")
            out.append([fault, metric, *cells])
    table(["fault", "metric", *workloads], out)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1]) as file:
        rows = [row for row in map(json.loads, file) if "discarded" not in row and row["set"] == "score"]
    if not rows:
        sys.exit("there is no scored run in " + sys.argv[1])
    for title, metrics, workloads in HALVES:
        half(rows, title, metrics, workloads)
    undecided = sum(row["answer"] == "undecided" for row in rows)
    print(f"\n{len(rows)} runs, {undecided} of them undecided.")


main()
