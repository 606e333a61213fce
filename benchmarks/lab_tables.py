#!/usr/bin/env python3
"""Turns the rows of lab_measure.py into the tables of docs/results.

  benchmarks/lab_tables.py spread FILE.csv
  benchmarks/lab_tables.py faults FILE.csv

What the paper (FAST 2010, section 6.1) predicts is a row of PREDICTIONS; whether it was seen is computed here: "apart" is
outside of the peers' range by at least a quarter of its nearer end, "alike" is within the range widened by that quarter.
"""
import collections
import csv
import statistics
import sys

MARGIN = 0.25

# fault: [(metric, workloads, where the victim is while the fault is in force)]
PREDICTIONS = {
    "disk_hog": [("rd_sec", "ddw ddr", "above"), ("await", "ddw ddr", "above"), ("util", "ddw ddr", "above")],
    "disk_busy": [("rd_sec", "ddr", "alike"), ("wr_sec", "ddw", "alike"), ("await", "ddw ddr", "above"), ("util", "ddw ddr", "above")],
    "write_network_hog": [("rxbyt", "ddw ddr", "above")],
    "read_network_hog": [("txbyt", "ddw ddr", "above")],
    "receive_pktloss": [("cwnd_from_clients", "ddw ddr", "below"), ("rxbyt", "ddw", "alike"), ("txbyt", "ddr", "alike")],
    "send_pktloss": [("cwnd_to_clients", "ddw ddr", "below"), ("rxbyt", "ddw", "alike"), ("txbyt", "ddr", "alike")],
}


def number(text):
    return float(text) if text else None


def place(victim, low, high):
    """Where the victim is against its peers."""
    if victim is None or low is None:
        return "unknown"
    if victim > high * (1 + MARGIN) and victim > high:
        return "above"
    if victim < low * (1 - MARGIN):
        return "below"
    return "alike"


def short(value):
    if value is None:
        return "-"
    for limit, letter in ((1e6, "M"), (1e4, "k")):
        if value >= limit:
            return "%.3g%s" % (value / (1e6 if letter == "M" else 1e3), letter)
    return "%.3g" % value


def cell(row):
    victim, low, high = (number(row[key]) for key in ("victim_mean", "peers_low", "peers_high"))
    return "%s (%s-%s)" % (short(victim), short(low), short(high)), place(victim, low, high)


def faults(rows):
    cells = {(row["fault"], row["workload"], row["metric"], row["phase"]): row for row in rows}
    print("| fault | workload | victim | metric | before | during | after | predicted | seen | back |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    good = total = returned = 0
    for fault, lines in PREDICTIONS.items():
        for metric, workloads, wanted in lines:
            for workload in workloads.split():
                if (fault, workload, metric, "during") not in cells:
                    continue
                texts, places = zip(*(cell(cells[(fault, workload, metric, phase)]) for phase in ("before", "during", "after")))
                total += 1
                good += places[1] == wanted
                back = places[2] == "alike"
                returned += back
                print("| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |" %
                      (fault, workload, cells[(fault, workload, metric, "during")]["victim"], metric, *texts, wanted, places[1],
                       "yes" if back else places[2]))
    print("\n%d of %d predictions seen; back among the peers afterwards: %d of %d." % (good, total, returned, total))
    idle = [float(row["idle_percent"]) for row in rows if row["idle_percent"]]
    print("Idle CPU in the phases: %.0f %% at least, %.0f %% in the median." % (min(idle), statistics.median(idle)))


def spread(rows):
    groups = collections.OrderedDict()
    for row in rows:
        groups.setdefault((row["preset"], row["workload"], row["metric"]), []).append(row)
    print("| preset | workload | metric | largest/smallest server, each run | servers' means, first run | idle CPU |")
    print("|---|---|---|---|---|---|")
    for (preset, workload, metric), runs in groups.items():
        ratios = " ".join("%.2f" % float(row["largest/smallest"]) if row["largest/smallest"] else "-" for row in runs)
        means = " ".join(short(number(runs[0]["s%d" % i])) for i in range(1, 6))
        print("| %s | %s | %s | %s | %s | %s |" % (preset, workload, metric, ratios, means, " ".join(
            "%.0f" % float(row["idle_percent"]) for row in runs)))


with open(sys.argv[2]) as file:
    {"faults": faults, "spread": spread}[sys.argv[1]](list(csv.DictReader(file)))
