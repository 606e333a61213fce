#!/usr/bin/env python3
"""Do the counters that `culprit record` stores agree with those of sysstat's sadc and of ss?

usage: compare_sadc.py BUILD_FOLDER

Records this machine (`local`) and a network namespace (`ns:`) with one `culprit record`, beside one sadc in each, and makes
disk load (O_DIRECT) and network load (TCP) that begins and ends inside all recordings. From the closed run it compares:
  - totals of the counters, which must be equal, on a disk and a link that nobody else uses: a loop device and a veth pair
    between the two namespaces, made here and removed at the end;
  - await and %util as `sar` prints them for its whole time, within 1 %;
  - the disk beneath, which others use too: every counter of sadc must lie between two neighbouring samples;
  - the congestion windows of idle sockets with those that `ss -tin` prints.
Without root there are no own devices: then only the disk beneath, and sockets on loopback.
Exit code 0: all agree; 1: something differs; 77: sysstat is missing.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from load_common import OwnDevices, Server, run
from record_common import Bench, check, manifest, query, skip, wait_for

SADC = next((p for p in ("/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc", "/usr/lib/sa/sadc") if os.path.exists(p)), None)
INTERVAL = "50ms"  # so that a sample is near each of sadc's
LOAD_MB = 160
IDLE_BYTES = ((0, 0), (300_000, 0), (600_000, 900_000), (1_200_000, 50_000))  # there and back: windows that differ
UPTIME_LEAD = time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)  # sadc's clock and ours


def disk_under(path):
    device = os.stat(path).st_dev
    link = os.path.realpath("/sys/dev/block/%d:%d" % (os.major(device), os.minor(device)))
    if not os.path.exists(link):
        return None
    return os.path.basename(os.path.dirname(link) if os.path.exists(link + "/partition") else link)


class Sadc:
    """One sadc: counters() is {device: [(uptime in s, {label: value}), ...]}."""

    def __init__(self, bench, name, prefix=()):
        self.path = bench.path(name + ".sadc")
        environment = dict(os.environ, LC_ALL="C", S_TIME_FORMAT="ISO", TZ="UTC")
        self.process = subprocess.Popen([*prefix, SADC, "-S", "DISK", "1", self.path], env=environment)
        bench.children.append(self.process)

    def wait_for_samples(self, count):
        """sadc writes a sample in several pieces and none of them is marked as the last: look when it grew, then wait."""
        for _ in range(count):
            before = self.size()
            wait_for(lambda: self.size() > before, 30, "sadc does not write")
            time.sleep(0.2)

    def size(self):
        return os.path.getsize(self.path) if os.path.exists(self.path) else 0

    def stop(self):
        self.wait_for_samples(1)
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(10)

    def counters(self, *options):
        """Each line of sadf's debug output has the previous and the current value of every counter."""
        out, uptime, before = {}, None, None
        for line in run("sadf", "-r", "-O", "debug", self.path, "--", *options).splitlines():
            if line.startswith("# uptime_cs;"):
                before, uptime = uptime, int(line.split(";")[1]) / 100
            if line.startswith("#"):
                continue
            label, values, name = None, {}, None
            for field in (f.strip() for f in line.split(";")[1:]):
                if label in ("DEV", "IFACE"):
                    name, label = field, None
                elif re.fullmatch(r"-?[0-9.]+", field) and label:
                    values.setdefault(label, []).append(float(field))
                else:
                    label = field
            samples = out.setdefault(name, [])
            if not samples:
                samples.append((before, {k: v[0] for k, v in values.items() if len(v) == 2}))
            samples.append((uptime, {k: v[-1] for k, v in values.items()}))
        return out

    def average(self, device):
        """await and %util of the whole file, as sar prints them."""
        lines = [l.split() for l in run("sar", "-f", self.path, "-d", "-p").splitlines()]
        head = next(l for l in lines if "await" in l)
        row = next(l for l in lines if l and l[0] == "Average:" and device in l)
        at = row.index(device) - head.index("DEV")
        return tuple(float(row[head.index(name) + at]) for name in ("await", "%util"))


class Series:
    """What a run has of one device of one node: (uptime in s, {column: value}) per sample."""

    def __init__(self, run_path, node, source, device):
        columns = [c for (c,) in query(run_path, "select name from source_column where source='%s'" % source)]
        rows = query(run_path, "select sample.mono_ns, %s from %s as s join sample on sample.id=s.sample join key on key.id=s.key "
                     "join node on node.id=sample.node where node.name='%s' and key.name='%s' order by sample.id"
                     % (", ".join("s." + c for c in columns), source, node, device))
        self.samples = [(row[0] / 1e9 + UPTIME_LEAD, dict(zip(columns, row[1:]))) for row in rows]

    def total(self, *columns, since=0, until=-1):
        return sum(self.samples[until][1][c] - self.samples[since][1][c] for c in columns)

    def nearest(self, uptime):
        return min(range(len(self.samples)), key=lambda i: abs(self.samples[i][0] - uptime))


class Table:
    def __init__(self):
        self.bad = 0
        print("%-44s%16s%16s" % ("what", "sysstat, ss", "culprit"))

    def row(self, what, theirs, ours, ok, verdict="ok"):
        self.bad += not ok
        show = lambda v: "%.3f" % v if isinstance(v, float) and v != int(v) else str(v if isinstance(v, str) else int(v))
        print("%-44s%16s%16s  %s" % (what, show(theirs), show(ours), verdict if ok else "DIFFERS"))

    def equal(self, what, theirs, ours):
        self.row(what, theirs, ours, theirs == ours, "equal")

    def near(self, what, theirs, ours, limit=0.01):
        apart = abs(theirs - ours) / abs(theirs) if theirs else float(theirs != ours)
        self.row(what, float(theirs), float(ours), apart <= limit, "%.2f %% apart" % (100 * apart))


def compare_disk(table, run_path, node, sadc, device):
    samples = sadc.counters("-d")[device]
    change = {label: samples[-1][1][label] - first for label, first in samples[0][1].items()}
    ours = Series(run_path, node, "disk", device)
    requests = ours.total("reads", "writes", "discards")
    table.equal(f"{node} {device} rd_sec, sectors read", change["rkB/s"], ours.total("sectors_read"))
    table.equal(f"{node} {device} wr_sec, sectors written", change["wkB/s"], ours.total("sectors_written"))
    table.equal(f"{node} {device} tps, requests", change["tps"], requests)
    table.equal(f"{node} {device} ms busy", change["tot_ticks"], ours.total("io_ms"))
    await_printed, util_printed = sadc.average(device)
    table.near(f"{node} {device} await, ms", await_printed, ours.total("read_ms", "write_ms", "discard_ms") / requests)
    since, until = ours.nearest(samples[0][0]), ours.nearest(samples[-1][0])
    seconds = ours.samples[until][0] - ours.samples[since][0]
    table.near(f"{node} {device} %util of {seconds:.2f} s", util_printed, ours.total("io_ms", since=since, until=until) / 10 / seconds)
    table.row(f"{node} {device} saw the load", ">= %d" % (LOAD_MB * 2048), ours.total("sectors_written"), ours.total("sectors_written") >= LOAD_MB * 2048)


def compare_network(table, run_path, node, sadc, nic):
    samples = sadc.counters("-n", "DEV")[nic]
    ours = Series(run_path, node, "nic", nic)
    name = "veth"  # the interface's own name has a process number in it
    for label, short, column in (("rxkB/s", "rxbyt", "rx_bytes"), ("txkB/s", "txbyt", "tx_bytes"), ("rxpck/s", "rxpck", "rx_packets"), ("txpck/s", "txpck", "tx_packets")):
        table.equal(f"{node} {name} {short}, {column}", samples[-1][1][label] - samples[0][1][label], ours.total(column))
    both = ours.total("rx_bytes", "tx_bytes")
    table.row(f"{node} {name} saw the load", ">= %d" % (LOAD_MB << 20), both, both >= LOAD_MB << 20)


def compare_busy_disk(table, run_path, node, sadc, device):
    """Others use this disk, so totals over different spans differ; but each value of sadc lies between two of ours. A program
    may be stopped between reading the clock and reading the disks, though not beyond its own next sample: within that all
    must lie, and nearly all within the direct neighbours."""
    theirs, ours = sadc.counters("-d").get(device), Series(run_path, node, "disk", device).samples
    if not theirs or not ours:
        print("(skipped: %s is not in both recordings)" % device)
        return
    for label, columns in (("rkB/s", ["sectors_read"]), ("wkB/s", ["sectors_written"]), ("tps", ["reads", "writes", "discards"])):
        values = [(when, sum(v[c] for c in columns)) for when, v in ours]
        checked = possible = direct = 0
        for (when, counters), (following, _) in zip(theirs, theirs[1:]):
            surely_before = [v for (_, v), (end, _) in zip(values, values[1:]) if end <= when]
            surely_after = [v for t, v in values if t >= following + 0.01]  # sadc's times are cut to 10 ms
            before = [v for t, v in values if t <= when - 0.02]
            after = [v for t, v in values if t >= when + 0.1]
            if not surely_before or not surely_after:
                continue
            checked += 1
            possible += surely_before[-1] <= counters[label] <= surely_after[0]
            direct += before[-1] <= counters[label] <= after[0]
        table.row(f"{node} {device} {label} between neighbours", checked, direct, possible == checked and direct >= 0.8 * checked and checked > 0)


def windows_of_ss(server, prefix):
    text = run(*prefix, "ss", "-tinH", "state", "established", "( sport = :%d or dport = :%d )" % (server.port, server.port))
    found = {}
    for head, details in zip(*[iter(text.splitlines())] * 2):
        local, peer = head.split()[-2:]
        if server.address in local + peer:
            found[local + ">" + peer] = int(re.search(r"\bcwnd:(\d+)", details).group(1))
    return found


def compare_windows(table, run_path, node, server, theirs):
    rows = query(run_path, "select key.name, tcp.cwnd_segments from tcp join key on key.id=tcp.key join node on node.id=key.node "
                 "where node.name='%s' and tcp.sample=(select max(sample.id) from sample where node=node.id)" % node)
    ours = {name: cwnd for name, cwnd in rows if server.address in name}
    table.equal(f"{node} idle sockets", len(theirs), len(ours))
    table.row(f"{node} different windows", "> 1", len(set(theirs.values())), len(set(theirs.values())) > 1)
    for number, name in enumerate(sorted(theirs)):
        table.equal(f"{node} cwnd of idle socket {number + 1}", theirs[name], ours.get(name, "absent"))


def write_cluster(path, server, under, devices):
    disks = [name for name in (under, devices and devices.disk) if name]
    nodes = [("near", "local", disks, devices.nic if devices else "lo")]
    if devices:
        nodes.append(("far", "ns:" + devices.namespace, [devices.disk], devices.far_nic))
    with open(path, "w") as text:
        text.write('name = "beside sadc"\ndata_ports = [%d]\n' % server.port)
        for name, reach, names, nic in nodes:
            text.write('[[server]]\nname = "%s"\nreach = "%s"\nnics = ["%s"]\n' % (name, reach, nic))
            text.write("disks = [%s]\n" % ", ".join('"%s"' % disk for disk in names) if names else "")


def record(bench, server, under, devices):
    """The recordings and the load inside them. Returns the run, the sadcs by node and the windows that ss saw."""
    write_cluster(bench.path("cluster.toml"), server, under, devices)
    run_path = bench.path("beside.run")
    places = {"near": (), **({"far": devices.into} if devices else {})}
    recorder = bench.start("record", "--cluster", bench.path("cluster.toml"), "--interval", INTERVAL, "--quiet", "--out", run_path)
    wait_for(lambda: all(bench.samples(run_path, n) > 5 for n in range(len(places))), 30, "no samples: " + bench.output(recorder))
    sadcs = {node: Sadc(bench, node, prefix) for node, prefix in places.items()}  # within our time, so that a sample of ours is near its ends
    for sadc in sadcs.values():
        sadc.wait_for_samples(2)
    idle = [server.transfer(there, back) for there, back in IDLE_BYTES]
    if devices:
        devices.load(LOAD_MB, seconds=3)
        devices.wait_until_quiet()
    else:
        time.sleep(5)
    for sadc in sadcs.values():
        sadc.wait_for_samples(2)
    windows = {node: windows_of_ss(server, prefix) for node, prefix in places.items()}
    for sadc in sadcs.values():
        sadc.stop()
    wanted = [bench.samples(run_path, n) + 5 for n in range(len(places))]
    wait_for(lambda: all(bench.samples(run_path, n) >= wanted[n] for n in range(len(places))), 30, "no more samples")
    code, text = bench.stop(recorder)
    check(code == 0 and manifest(run_path)["complete"], text)
    for connection in idle:
        connection.close()
    return run_path, sadcs, windows


def main():
    if not SADC or not shutil.which("sadf") or not shutil.which("sar"):
        skip("sysstat is not installed")
    with Bench(memory=True) as bench:
        scratch = os.environ.get("TMPDIR", "/tmp")
        devices = OwnDevices(bench, scratch) if os.geteuid() == 0 else None
        server = devices.server if devices else Server(bench, "127.0.0.1")
        if devices:
            devices.load(16)  # sadc leaves out devices without any activity
            devices.wait_until_quiet()
        under = disk_under(scratch)
        run_path, sadcs, windows = record(bench, server, under, devices)
        table = Table()
        if devices:
            compare_disk(table, run_path, "near", sadcs["near"], devices.disk)
            compare_network(table, run_path, "near", sadcs["near"], devices.nic)
            compare_disk(table, run_path, "far", sadcs["far"], devices.disk)
            compare_network(table, run_path, "far", sadcs["far"], devices.far_nic)
        if under:
            compare_busy_disk(table, run_path, "near", sadcs["near"], under)
        for node in sadcs:
            compare_windows(table, run_path, node, server, windows[node])
        count, cost = query(run_path, "select count(*), avg(cost_ns) from sample")[0]
        print("%d samples, %.0f us of CPU each" % (count, cost / 1000))
        return 1 if table.bad else 0


if __name__ == "__main__":
    sys.exit(main())
