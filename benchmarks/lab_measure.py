#!/usr/bin/env python3
"""Measures labs: how alike healthy servers are, and what the performance faults do to the faulty one.

  benchmarks/lab_measure.py BUILD spread [--seconds 30] [--runs 3]       await, queue and cwnd: largest / smallest server
  benchmarks/lab_measure.py BUILD faults [--seconds 30] [--workload W] [--fault F] [--rest 60]
                                                                         each fault: victim and its peers' range,
                                                                         before, during and after
  benchmarks/lab_measure.py BUILD times [--runs 5]                       how long up and down take

Rows go to stdout as CSV (one per cell), what is being done to stderr. It needs root, and a machine that does nothing else:
the share of idle CPU is a column of every row.
"""
import argparse
import csv
import io
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

SERVERS, CLIENTS = 5, 2
FILE_MB = 256
SETTLE = 4  # seconds after a change that belong to neither phase: moving averages and TCP need them
FAULTS = ["disk_hog", "disk_busy", "write_network_hog", "read_network_hog", "receive_pktloss", "send_pktloss"]
METRICS = ["rd_sec", "wr_sec", "await", "avgqu-sz", "util", "rxbyt", "txbyt", "cwnd_to_clients", "cwnd_from_clients",
           "retrans"]


def say(*words):
    print(*words, file=sys.stderr, flush=True)


class Lab:
    def __init__(self, culprit, *words, fs="glusterfs"):
        self.culprit, self.name = culprit, "measure"
        self.folder = tempfile.mkdtemp(prefix="culprit-measure-")
        self.cluster = self.folder + "/cluster.toml"
        begin = time.monotonic()
        self.run("lab", "up", "--name", self.name, "--fs", fs, "--servers", str(SERVERS), "--clients", str(CLIENTS),
                 "--cluster", self.cluster, *words)
        self.up_seconds = time.monotonic() - begin

    def run(self, *words):
        done = subprocess.run([self.culprit, *words], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError("culprit %s: %s%s" % (" ".join(words), done.stdout, done.stderr))
        return done.stdout

    def start(self, *words):
        return subprocess.Popen([self.culprit, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def sh(self, node, script):
        return self.run("lab", "exec", node, "--name", self.name, "--", "sh", "-c", script)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        begin = time.monotonic()
        self.run("lab", "down", "--name", self.name)
        self.down_seconds = time.monotonic() - begin
        subprocess.run(["rm", "-rf", self.folder])


def everywhere(lab, nodes, script):
    """Runs it on all nodes at once, to its end."""
    running = [lab.start("lab", "exec", node, "--name", lab.name, "--", "sh", "-c", script) for node in nodes]
    for each in running:
        error = each.communicate()[1]
        if each.returncode != 0:
            raise RuntimeError(error)


clients = ["c%d" % i for i in range(1, CLIENTS + 1)]
servers = ["s%d" % i for i in range(1, SERVERS + 1)]


def prepare(lab):
    """Files with the same layout on every server: allocated through the mount, filled once."""
    everywhere(lab, clients, "set -e; f=/mnt/lab/file-$(hostname); fallocate -l %dM $f; dd if=/dev/zero of=$f bs=4M "
                             "count=%d conv=notrunc,fsync oflag=direct 2>/dev/null" % (FILE_MB, FILE_MB // 4))


class Load:
    """ddw or ddr on all clients, pass after pass, until it is stopped."""

    def __init__(self, lab, workload, direct):
        flag = "direct" if direct else "nonblock"
        copy = {"ddw": "dd if=/dev/zero of=$f bs=4M count=%d conv=notrunc oflag=%s" % (FILE_MB // 4, flag),
                "ddr": "dd if=$f of=/dev/null bs=4M iflag=%s" % flag}[workload]
        cold = "" if direct else "dd if=$f iflag=nocache count=0 2>/dev/null; "
        script = ("f=/mnt/lab/file-$(hostname); trap 'kill $! 2>/dev/null; exit 0' TERM; "
                  "while :; do %s%s 2>/dev/null & wait $!; done" % (cold, copy))
        self.lab, self.direct, self.workload = lab, direct, workload
        self.running = [lab.start("lab", "exec", node, "--name", lab.name, "--", "sh", "-c", "echo $$ > /run/load; " + script)
                        for node in clients]
        if not direct and workload == "ddr":  # the servers' caches, too, would answer everything
            drop = ("echo $$ > /run/load; while :; do find /mnt/disk -type f -size +1M | while read -r f; do "
                    "dd if=\"$f\" iflag=nocache count=0 2>/dev/null; done; sleep 2; done")
            self.running += [lab.start("lab", "exec", node, "--name", lab.name, "--", "sh", "-c", drop) for node in servers]

    def stop(self):
        nodes = clients + (servers if len(self.running) > CLIENTS else [])
        everywhere(self.lab, nodes, "kill $(cat /run/load) 2>/dev/null; true")
        for each in self.running:
            each.communicate(timeout=60)


def record(lab, name, seconds):
    return lab.start("record", "--cluster", lab.cluster, "--interval", "1s", "--for", "%ds" % seconds, "--out",
                     lab.folder + "/" + name)


def metrics(lab, name):
    """{(node, metric): [(second, value)]} of a run."""
    rows = {}
    for row in csv.DictReader(io.StringIO(lab.run("export", lab.folder + "/" + name))):
        moment = row["time"]
        if row["value"] == "":  # unknown in this second
            continue
        rows.setdefault((row["node"], row["metric"]), []).append((parse_time(moment), float(row["value"])))
    return rows


def parse_time(text):
    if re.fullmatch(r"[0-9.]+", text):
        return float(text)
    from datetime import datetime
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def mean(rows, node, metric, begin, end):
    values = [value for moment, value in rows.get((node, metric), []) if begin <= moment < end]
    return statistics.fmean(values) if len(values) >= 3 else None


def idle(rows, begin, end):
    busy = mean(rows, "s1", "cpu_busy", begin, end)
    return None if busy is None else 100 - busy


def number(value):
    return "" if value is None else "%.4g" % value


def spread(lab, preset, workload, run, seconds, out):
    load = Load(lab, workload, preset == "calm")
    time.sleep(SETTLE)
    recording = record(lab, "spread-%s-%d" % (workload, run), seconds)
    recording.communicate()
    load.stop()
    rows = metrics(lab, "spread-%s-%d" % (workload, run))
    span = [moment for moment, _ in rows[("s1", "cpu_busy")]]
    begin, end = min(span), max(span) + 1
    for metric in ("await", "avgqu-sz", "cwnd_to_clients", "cwnd_from_clients", "util", "rd_sec", "wr_sec"):
        means = [mean(rows, server, metric, begin, end) for server in servers]
        known = [value for value in means if value is not None]
        ratio = max(known) / min(known) if len(known) == SERVERS and min(known) > 0 else None
        out.writerow([preset, workload, run, metric, number(ratio)] + [number(value) for value in means] +
                     [number(idle(rows, begin, end))])
        sys.stdout.flush()


def measure_spread(culprit, seconds, runs):
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["preset", "workload", "run", "metric", "largest/smallest"] + servers + ["idle_percent"])
    for preset in ("calm", "wild"):
        with Lab(culprit, "--preset", preset) as lab:
            prepare(lab)
            for workload in ("ddw", "ddr"):
                for run in range(1, runs + 1):
                    say("spread:", preset, workload, "run", run)
                    spread(lab, preset, workload, run, seconds, out)


def phase_rows(rows, fault, workload, victim, phases, out):
    for phase, (begin, end) in phases.items():
        for metric in METRICS:
            own = mean(rows, victim, metric, begin, end)
            others = [mean(rows, server, metric, begin, end) for server in servers if server != victim]
            others = [value for value in others if value is not None]
            out.writerow([fault, workload, victim, phase, metric, number(own),
                          number(min(others)) if others else "", number(max(others)) if others else "",
                          number(idle(rows, begin, end))])
    sys.stdout.flush()


def measure_faults(culprit, seconds, workloads, faults, rest):
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["fault", "workload", "victim", "phase", "metric", "victim_mean", "peers_low", "peers_high", "idle_percent"])
    with Lab(culprit) as lab:
        prepare(lab)
        for shift, workload in enumerate(workloads):
            for i, fault in enumerate(FAULTS):
                if fault not in faults:
                    continue
                victim = servers[(i + shift) % SERVERS]
                say("faults:", workload, fault, "on", victim)
                load = Load(lab, workload, True)
                time.sleep(SETTLE)
                recording = record(lab, workload + "-" + fault, 3 * seconds + 2 * SETTLE + 4 + rest)
                time.sleep(seconds + 2)
                begin = time.time()
                said = lab.run("inject", fault, "--on", victim, "--cluster", lab.cluster, "--for", "%ds" % (seconds + SETTLE))
                say(said.strip())
                finish = time.time()
                recording.communicate()
                load.stop()
                rows = metrics(lab, workload + "-" + fault)
                phase_rows(rows, fault, workload, victim,
                           {"before": (begin - seconds, begin), "during": (begin + SETTLE, begin + SETTLE + seconds - 1),
                            "after": (finish + SETTLE + rest, finish + SETTLE + rest + seconds)}, out)


def measure_times(culprit, runs):
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["fs", "run", "up_seconds", "down_seconds"])
    for fs in ("glusterfs", "moosefs", "directory"):
        times = []
        for run in range(1, runs + 1):
            with Lab(culprit, fs=fs) as lab:
                pass
            times.append((lab.up_seconds, lab.down_seconds))
            out.writerow([fs, run, "%.2f" % lab.up_seconds, "%.2f" % lab.down_seconds])
        out.writerow([fs, "median"] + ["%.2f" % statistics.median(column) for column in zip(*times)])
        sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("what", choices=["spread", "faults", "times"])
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--workload", choices=["ddw", "ddr"])
    parser.add_argument("--fault", choices=FAULTS, action="append", help="faults: only this one; may be repeated")
    parser.add_argument("--rest", type=int, default=0, help="faults: seconds between the end of a fault and the phase after")
    words = parser.parse_args()
    culprit = os.path.join(os.path.abspath(words.build), "culprit")
    if words.what == "spread":
        measure_spread(culprit, words.seconds, words.runs or 3)
    elif words.what == "faults":
        measure_faults(culprit, words.seconds, [words.workload] if words.workload else ["ddw", "ddr"],
                       words.fault or FAULTS, words.rest)
    else:
        measure_times(culprit, words.runs or 5)


main()
