#!/usr/bin/env python3
"""What does sampling cost? CPU per tick of culprit, sysstat's sadc and prometheus-node-exporter on this machine.

The contestants run one after the other, again and again, so that all meet the same machine; the table has medians over
the repetitions, with the lowest and highest, and ratios to sadc. CPU is the kernel's exact clock of each process
(user + system, all threads and children) between two moments some ticks after its start, so that start-up does not
count. The exporter pays for what both read, and for answering; the script that asks is not counted.

    benchmarks/overhead.py BUILD [--seconds 20] [--repeats 5] [--sockets 100]
"""
import argparse
import contextlib
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # the source tree stays clean
from common import machine, median, peak_rss_bytes, spread, table, tree_cpu_ns

SADC = "/usr/lib/sysstat/sadc"
EXPORTER = "/usr/bin/prometheus-node-exporter"
BOTH_READ = ["diskstats", "netdev", "netstat", "stat", "meminfo", "pressure"]
WARM_UP_S = 3  # start-up, first allocations and caches are over by then


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def established():
    """TCP sockets with a connection in this network namespace, as the tcp collector would see them."""
    count = 0
    for name in ("tcp", "tcp6"):
        with open(f"/proc/net/{name}") as lines:
            count += sum(1 for line in lines if line.split()[3:4] == ["01"])
    return count


@contextlib.contextmanager
def open_sockets(count):
    """Loopback connections; both ends are on this machine, so one connection is two sockets."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    held = []
    for _ in range(count // 2):
        held.append(socket.create_connection(listener.getsockname()))
        held.append(listener.accept()[0])
    try:
        yield held
    finally:
        for each in held + [listener]:
            each.close()


class Scraper(threading.Thread):
    """Asks the exporter once per interval over one kept connection, as a Prometheus server would."""

    def __init__(self, port, interval):
        super().__init__(daemon=True)
        self.port, self.interval, self.stop = port, interval, threading.Event()
        self.bytes = 0
        self.failed = 0

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        due = time.monotonic()
        while not self.stop.wait(max(0, due - time.monotonic())):
            due += self.interval
            try:
                connection.request("GET", "/metrics")
                self.bytes = len(connection.getresponse().read())
            except OSError:
                self.failed += 1
                connection.close()
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)


def sadc(extra):
    def start(scratch, interval, seconds):
        return [SADC, *extra, str(int(interval)), str(int(seconds / interval) + 10), os.path.join(scratch, "sa")], None
    return start


def record(build):
    def start(scratch, interval, seconds):
        out = os.path.join(scratch, "record")
        return [os.path.join(build, "culprit"), "record", "--interval", f"{int(interval * 1000)}ms", "--for",
                f"{int(seconds) + 10}s", "--out", out], None
    return start


def node(build):
    def start(_scratch, interval, _seconds):
        return [os.path.join(build, "culprit-node"), "--interval", f"{int(interval * 1000)}ms"], None
    return start


def exporter(_scratch, interval, _seconds):
    port = free_port()
    command = [EXPORTER, f"--web.listen-address=127.0.0.1:{port}", "--web.disable-exporter-metrics",
               "--log.level=error", "--collector.disable-defaults"]
    return command + [f"--collector.{name}" for name in BOTH_READ], Scraper(port, interval)


def measure(contestant, seconds):
    """CPU microseconds per tick and peak memory of one run."""
    scratch = tempfile.mkdtemp(prefix="culprit-overhead-")
    command, scraper = contestant["start"](scratch, contestant["interval"], seconds + WARM_UP_S)
    with open_sockets(contestant["sockets"]), open(os.path.join(scratch, "errors"), "w+") as errors:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            if scraper:
                time.sleep(0.5)
                scraper.start()
            time.sleep(WARM_UP_S)
            if process.poll() is not None:
                errors.seek(0)
                raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: {errors.read()}")
            cpu, moment = tree_cpu_ns(process.pid), time.monotonic()
            time.sleep(seconds)
            cpu, elapsed = tree_cpu_ns(process.pid) - cpu, time.monotonic() - moment
            rss = peak_rss_bytes(process.pid)
        finally:
            if scraper:
                scraper.stop.set()
                scraper.join()
            process.send_signal(signal.SIGTERM)
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            shutil.rmtree(scratch, ignore_errors=True)
    if scraper and scraper.failed > 2:
        raise SystemExit(f"{scraper.failed} scrapes failed")
    return cpu / 1000 / (elapsed / contestant["interval"]), rss


def contestants(build, sockets):
    rows = [("sadc (its default activities)", sadc([]), 1, 0), ("sadc -S DISK", sadc(["-S", "DISK"]), 1, 0),
            ("sadc -S DISK,SNMP", sadc(["-S", "DISK,SNMP"]), 1, 0)]
    for interval in (1, 0.1):
        rows.append(("prometheus-node-exporter, the sources both read", exporter, interval, 0))
        rows.append(("culprit-node", node(build), interval, 0))
        rows.append(("culprit-node", node(build), interval, sockets))
        rows.append(("culprit record", record(build), interval, 0))
        rows.append(("culprit record", record(build), interval, sockets))
    return [{"name": n, "start": s, "interval": i, "sockets": k} for n, s, i, k in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="build folder with culprit and culprit-node (release)")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sockets", type=int, default=100)
    args = parser.parse_args()
    print(f"{machine()}\n`benchmarks/overhead.py BUILD --seconds {args.seconds:g} --repeats {args.repeats} "
          f"--sockets {args.sockets}`; other connected sockets on the machine: {established()}\n")
    all_of_them = contestants(args.build, args.sockets)
    results = [([], []) for _ in all_of_them]
    for _ in range(args.repeats):
        for contestant, (cpu, rss) in zip(all_of_them, results):
            used, peak = measure(contestant, args.seconds)
            cpu.append(used)
            rss.append(peak)
    report(all_of_them, results)


def report(all_of_them, results):
    sadc_us = median(results[1][0])
    exporter_us = {c["interval"]: median(cpu) for c, (cpu, _) in zip(all_of_them, results) if c["start"] is exporter}
    rows = []
    for contestant, (cpu, rss) in zip(all_of_them, results):
        rows.append([contestant["name"], f"{contestant['interval']:g} s", contestant["sockets"],
                     spread(cpu, lambda v: f"{v:.0f}"), f"{median(cpu) / sadc_us:.2f}",
                     f"{median(cpu) / exporter_us[contestant['interval']]:.2f}", f"{median(rss) / 1e6:.1f}"])
    table(["", "interval", "sockets", "CPU per tick, us: median (range)", "of sadc -S DISK", "of the exporter", "peak RSS, MB"],
          rows)


if __name__ == "__main__":
    main()
