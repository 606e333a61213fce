#!/usr/bin/env python3
"""Do culprit's counters agree with those of sysstat and ss?

usage: compare_sadc.py BUILD_FOLDER [--seconds 12] [--scratch FOLDER]

Starts sadc and culprit-node side by side, makes disk load (dd with O_DIRECT) and network load (TCP) that begins and ends
inside both recordings, and compares:
  - totals of the counters, which must be equal, on a disk and an interface that nobody else uses: a loop device on a file
    in the scratch folder and a veth pair between two network namespaces, both made here and removed at the end;
  - await and %util as `sar` prints them for the whole time, within 1 %;
  - the real disk beneath, which others use too: every raw counter of sadc must lie between two neighbouring samples;
  - the congestion windows of idle sockets with those that `ss -tin` prints.
Needs root for the devices and namespaces. Without it: the disk beneath (between neighbours), lo and ss.
Exit code 0: all equal; 1: something differs; 77: sysstat is missing.
"""
import argparse
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

SADC = next((p for p in ("/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc", "/usr/lib/sa/sadc") if os.path.exists(p)), None)
ROOT = os.geteuid() == 0
TRAFFIC_BYTES = 40_000_000
ENV = dict(os.environ, LC_ALL="C", S_TIME_FORMAT="ISO", TZ="UTC")

# This file again, as the two ends of the network load: server PORT_FILE ADDRESS, client ADDRESS PORT BYTES.
def serve(port_file, address):
    listener = socket.create_server((address, 0))
    with open(port_file + ".tmp", "w") as out:
        out.write(str(listener.getsockname()[1]))
    os.rename(port_file + ".tmp", port_file)
    connection, _ = listener.accept()
    while connection.recv(1 << 20):
        pass
    connection.sendall(b"done")


def send(address, port, size):
    connection = socket.create_connection((address, int(port)), timeout=60)
    block, left = b"x" * 65536, int(size)
    while left > 0:
        left -= connection.send(block[:left])
    connection.shutdown(socket.SHUT_WR)
    connection.recv(4)


def run(*argv, check=True):
    return subprocess.run(argv, check=check, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV).stdout


class World:
    """The disk, the interface and the way into the namespace; whatever was made is removed, also after an error."""

    def __init__(self, scratch):
        self.scratch = tempfile.mkdtemp(prefix="compare_sadc.", dir=scratch)
        self.undo = [lambda: shutil.rmtree(self.scratch, ignore_errors=True)]
        self.inside, self.outside = [], []
        self.nic, self.address = "lo", "127.0.0.1"
        self.loop = None
        self.file = os.path.join(self.scratch, "load")
        self.under = self.disk_of(self.scratch)

    @staticmethod
    def disk_of(path):
        device = os.stat(path).st_dev
        link = os.path.realpath(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
        if not os.path.exists(link):
            return None
        return os.path.basename(os.path.dirname(link) if os.path.exists(link + "/partition") else link)

    def make(self):
        if not ROOT:
            return
        backing = os.path.join(self.scratch, "disk.img")
        with open(backing, "wb") as out:
            os.posix_fallocate(out.fileno(), 0, 256 << 20)
        self.loop = run("losetup", "--find", "--show", "--direct-io=on", backing).strip()
        self.undo.append(lambda: run("losetup", "--detach", self.loop, check=False))
        self.file = self.loop
        names = [f"cmpsadc{os.getpid()}{end}" for end in "ab"]
        for name in names:
            run("ip", "netns", "add", name)
            self.undo.append(lambda name=name: run("ip", "netns", "del", name, check=False))
        run("ip", "-n", names[0], "link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns", names[1])
        for i, name in enumerate(names):  # no IPv6 and no ARP: nothing but our load may be on the link
            run("ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
            run("ip", "-n", name, "link", "set", "veth0", "address", f"02:00:00:00:00:0{i + 1}")
            run("ip", "-n", name, "addr", "add", f"10.87.0.{i + 1}/24", "dev", "veth0")
            run("ip", "-n", name, "link", "set", "veth0", "up")
            run("ip", "-n", name, "neigh", "replace", f"10.87.0.{2 - i}", "lladdr", f"02:00:00:00:00:0{2 - i}", "dev", "veth0", "nud", "permanent")
        self.inside, self.outside = (["ip", "netns", "exec", name] for name in names)
        self.nic, self.address = "veth0", "10.87.0.1"
        load(self, small=True)  # devices without any activity are not recorded

    def remove(self):
        for step in reversed(self.undo):
            step()


class Node:
    """culprit-node and what it said: counters[(source, name)] = [(seconds since boot, {column: value}), ...]."""

    def __init__(self, world, build, *options):
        self.process = subprocess.Popen([*world.inside, os.path.join(build, "culprit-node"), *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.counters, self.cost = {}, []
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        sources, keys, rows = {}, {"0": ""}, []
        for line in self.process.stdout:
            words = line.split()
            if words[0] == "source":
                sources[words[1]] = (words[2], words[3:])
            elif words[0] == "key":
                keys[words[1]] = " ".join(words[3:])
            elif words[0] == "r":
                name, columns = sources[words[1]]
                values = {c: int(v) for c, v in zip(columns, words[3:]) if v != "-"}
                rows.append(((name, keys[words[2]].split(" ")[0]), values))
            elif words[0] == "end":
                self.cost.append(int(words[3]))
                for key, values in rows:
                    self.counters.setdefault(key, []).append((int(words[2]) / 1e9, values))
                rows = []

    def stop(self):
        self.process.stdin.close()
        self.reader.join()
        self.process.wait()

    def total(self, source, name, *columns):
        samples = self.counters[(source, name)]
        return sum(samples[-1][1][c] - samples[0][1][c] for c in columns)


def raw_sadc(path, *options):
    """The raw counters of a sadc file: {device: [(uptime in s, {label: value}), ...]}; each line has previous and current."""
    out, uptime, before = {}, None, None
    for line in run("sadf", "-r", "-O", "debug", path, "--", *options).splitlines():
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


def change_of(samples):
    """What each counter gained from the first sample to the last, and the seconds between them."""
    (start, first), (end, last) = samples[0], samples[-1]
    return {k: last[k] - v for k, v in first.items()}, end - start


class Table:
    def __init__(self):
        self.bad = 0
        print(f"{'what':<34}{'sysstat':>16}{'culprit':>16}  ")

    def row(self, what, theirs, ours, ok):
        self.bad += not ok
        show = lambda v: f"{v:.3f}" if isinstance(v, float) and v != int(v) else f"{v if isinstance(v, str) else int(v)}"
        print(f"{what:<34}{show(theirs):>16}{show(ours):>16}  {'equal' if ok and theirs == ours else 'ok' if ok else 'DIFFERS'}")

    def equal(self, what, theirs, ours):
        self.row(what, theirs, ours, theirs == ours)

    def near(self, what, theirs, ours, limit=0.01):
        self.row(what, float(theirs), float(ours), abs(theirs - ours) <= limit * abs(theirs))


def load(world, small=False):
    port_file = os.path.join(world.scratch, f"port{time.monotonic_ns()}")
    server = subprocess.Popen([*world.inside, sys.executable, __file__, "--serve", port_file, world.address])
    for _ in range(200):
        if os.path.exists(port_file):
            break
        time.sleep(0.05)
    port = open(port_file).read()
    client = subprocess.Popen([*world.outside, sys.executable, __file__, "--send", world.address, port, str(1000 if small else TRAFFIC_BYTES)])
    size = ["bs=4M", f"count={1 if small else 48}"]  # large requests take milliseconds: two printed digits are then exact enough
    run("dd", "if=/dev/zero", f"of={world.file}", "oflag=direct", "conv=notrunc", *size)
    run("dd", f"if={world.file}", "of=/dev/null", "iflag=direct", *size)
    return client.wait(timeout=60) + server.wait(timeout=60)


def average_of_sar(path, device):
    """await and %util of the whole file, as sar prints them."""
    lines = [l.split() for l in run("sar", "-f", path, "-d", "-p").splitlines()]
    head = next(l for l in lines if "await" in l)
    row = next(l for l in lines if l and l[0] == "Average:" and device in l)
    at = row.index(device) - head.index("DEV")
    return tuple(float(row[head.index(name) + at]) for name in ("await", "%util"))


def compare_disk(table, world, node, sadc_file):
    device = os.path.basename(world.loop)
    change, seconds = change_of(raw_sadc(sadc_file, "-d")[device])
    table.equal(f"{device} sectors read (rd_sec)", change["rkB/s"], node.total("disk", device, "sectors_read"))
    table.equal(f"{device} sectors written (wr_sec)", change["wkB/s"], node.total("disk", device, "sectors_written"))
    requests = node.total("disk", device, "reads", "writes", "discards")
    table.equal(f"{device} requests (tps)", change["tps"], requests)
    busy = node.total("disk", device, "io_ms")
    table.equal(f"{device} ms busy", change["tot_ticks"], busy)
    waited = node.total("disk", device, "read_ms", "write_ms", "discard_ms")
    await_printed, util_printed = average_of_sar(sadc_file, device)
    table.near(f"{device} await, ms", await_printed, waited / requests)
    table.near(f"{device} %util of {seconds:.2f} s", util_printed, busy / 10 / seconds)


def compare_network(table, world, node, sadc_file):
    change, _ = change_of(raw_sadc(sadc_file, "-n", "DEV")[world.nic])
    for label, column in (("rxkB/s", "rx_bytes"), ("txkB/s", "tx_bytes"), ("rxpck/s", "rx_packets"), ("txpck/s", "tx_packets")):
        table.equal(f"{world.nic} {column}", change[label], node.total("nic", world.nic, column))
    received = node.total("nic", world.nic, "rx_bytes")
    table.row(f"{world.nic} saw the load", f">= {TRAFFIC_BYTES}", received, received >= TRAFFIC_BYTES)


def compare_busy_disk(table, world, node, sadc_file):
    """Others use this disk, so totals over different spans differ; but each sample of sadc lies between two of ours."""
    device = world.under
    theirs = raw_sadc(sadc_file, "-d").get(device)
    ours = node.counters.get(("disk", device))
    if not theirs or not ours:
        print(f"(skipped: {device} is not in both recordings)")
        return
    for label, columns in (("rkB/s", ["sectors_read"]), ("wkB/s", ["sectors_written"]), ("tps", ["reads", "writes", "discards"])):
        values = [(when, sum(v[c] for c in columns)) for when, v in ours]
        checked = inside = 0
        for when, counters in theirs:
            before = [v for t, v in values if t <= when - 0.02]  # uptime is cut to 10 ms
            after = [v for t, v in values if t >= when + 0.1]    # sadc reads the disks some ms after the time
            if not before or not after:
                continue
            checked += 1
            inside += before[-1] <= counters[label] <= after[0]
        table.row(f"{device} {label} between neighbours", checked, inside, checked == inside and checked > 0)


def drain(connection, size):
    while size > 0:
        size -= len(connection.recv(min(size, 65536)))


def compare_windows(table, build):
    """Idle connections on loopback that have sent different amounts, so that their windows differ."""
    listener = socket.create_server(("127.0.0.1", 0))
    pairs = []
    for i in range(4):
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
        pairs.append((client, server))
        reader = threading.Thread(target=drain, args=(server, i * 300_000))
        reader.start()
        client.sendall(b"x" * (i * 300_000))
        reader.join()
    time.sleep(0.5)
    port = listener.getsockname()[1]
    stream = run(os.path.join(build, "culprit-node"), "--once", "--ports", str(port))
    text = run("ss", "-tinH", "state", "established", f"( sport = :{port} or dport = :{port} )")
    theirs = {}
    for head, details in zip(*[iter(text.splitlines())] * 2):
        words = head.split()
        local, peer = words[-2:]
        theirs[f"{local}>{peer}"] = int(re.search(r"\bcwnd:(\d+)", details).group(1))
    keys = {l.split()[1]: l.split()[3] for l in stream.splitlines() if l.startswith("key ")}
    ours = {keys[l.split()[2]]: int(l.split()[3]) for l in stream.splitlines() if l.startswith("r 3 ")}
    table.equal("idle sockets", len(theirs), len(ours))
    for name in sorted(theirs):
        table.equal(f"cwnd {name.replace('127.0.0.1', '')}", theirs[name], ours.get(name, "absent"))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--seconds", type=int, default=12)
    parser.add_argument("--scratch", default=None)
    arguments = parser.parse_args()
    if not SADC or not shutil.which("sadf"):
        print("sysstat is not installed")
        return 77
    world = World(arguments.scratch)
    try:
        world.make()
        sadc_file = os.path.join(world.scratch, "sadc")
        node = Node(world, arguments.build, "--interval", "100ms", *(["--nics", "lo"] if world.nic == "lo" else []))
        sadc = subprocess.Popen([*world.inside, SADC, "-S", "DISK", "1", str(arguments.seconds), sadc_file], env=ENV)
        time.sleep(2.5)  # both have taken their first samples
        failed = load(world)
        late = sadc.poll() is not None
        sadc.wait()
        time.sleep(0.5)
        node.stop()
        if failed or late:
            print("the load failed, or took longer than the recording: try a larger --seconds")
            return 1
        table = Table()
        if world.loop:
            compare_disk(table, world, node, sadc_file)
        compare_network(table, world, node, sadc_file)
        compare_busy_disk(table, world, node, sadc_file)
        compare_windows(table, arguments.build)
        print(f"{len(node.cost)} samples, {sum(node.cost) / len(node.cost) / 1000:.0f} us of CPU each")
        return 1 if table.bad else 0
    finally:
        world.remove()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:])
    elif sys.argv[1:2] == ["--send"]:
        send(*sys.argv[2:])
    else:
        sys.exit(main())
