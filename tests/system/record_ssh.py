#!/usr/bin/env python3
"""A real sshd on loopback: the same machine recorded once as local and once through ssh gives the same counters.

The disk and the network link are the test's own, and their load begins and ends inside the run, so the totals must be equal
to the last byte, also across a connection that is killed in the middle. Further: how the sampler is stored, and what is said
when ssh does not work.
"""
import os
import shutil
import signal
import socket
import subprocess
import sys

from load_common import OwnDevices
from record_common import Bench, check, children_of, manifest, query, skip, wait_for

INTERVAL_NS = 200_000_000
LOAD_MB = 32  # each of three times
NEAR, FAR = 0, 1


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start_sshd(bench):
    sshd = shutil.which("sshd") or "/usr/sbin/sshd"
    if not os.access(sshd, os.X_OK) or not shutil.which("ssh"):
        skip("there is no sshd or ssh")
    if not os.path.isdir("/run/sshd"):
        os.mkdir("/run/sshd", 0o755)
        bench.cleanups.append(lambda: os.rmdir("/run/sshd"))
    for key in ("host", "user", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", bench.path(key)], check=True)
    shutil.copy(bench.path("user.pub"), bench.path("authorized_keys"))
    port = free_port()
    with open(bench.path("sshd_config"), "w") as text:
        text.write("ListenAddress 127.0.0.1\nPort %d\nHostKey %s\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\n"
                   "PidFile none\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nAcceptEnv XDG_CACHE_HOME\n"
                   % (port, bench.path("host"), bench.path("authorized_keys")))
    server = subprocess.Popen([sshd, "-D", "-e", "-f", bench.path("sshd_config")], stderr=open(bench.path("sshd.log"), "w"))
    bench.children.append(server)
    with open(bench.path("host.pub")) as public, open(bench.path("known_hosts"), "w") as known:
        known.write("[127.0.0.1]:%d %s" % (port, public.read()))
    for name, key, hosts in (("ssh_config", "user", "known_hosts"), ("stranger_config", "stranger", "known_hosts"), ("unknown_config", "user", "nobody")):
        with open(bench.path(name), "w") as text:
            text.write("IdentityFile %s\nIdentitiesOnly yes\nUserKnownHostsFile %s\nGlobalKnownHostsFile none\nStrictHostKeyChecking yes\nSendEnv XDG_CACHE_HOME\n"
                       % (bench.path(key), bench.path(hosts)))
    os.mkdir(bench.path("cache"))
    bench.env["XDG_CACHE_HOME"] = bench.path("cache")
    bench.env["CULPRIT_SSH_OPTIONS"] = "-F " + bench.path("ssh_config")
    user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
    probe = ["ssh", "-F", bench.path("ssh_config"), "-o", "BatchMode=yes", "-p", str(port), user + "@127.0.0.1", "true"]
    wait_for(lambda: subprocess.run(probe, capture_output=True).returncode == 0, 20, "sshd does not answer: " + open(bench.path("sshd.log")).read())
    return "ssh:%s@127.0.0.1:%d" % (user, port)


def write_cluster(path, nodes, extra="", devices=None):
    with open(path, "w") as text:
        text.write('name = "twice"\n')
        for name, reach in nodes:
            text.write('[[server]]\nname = "%s"\nreach = "%s"\n%s' % (name, reach, extra if name == "far" else ""))
            if devices:
                text.write('disks = ["%s"]\nnics = ["%s"]\n' % (devices.disk, devices.nic))


def kill_connection(recorder):
    names = {pid: open("/proc/%d/comm" % pid).read().strip() for pid in children_of(recorder.pid)}
    clients = [pid for pid, name in names.items() if name == "ssh"]
    check(len(clients) == 1, "the recorder's children: %s" % names)
    os.kill(clients[0], signal.SIGKILL)


def wait_for_return(bench, run, recorder):
    gaps = "select count(*) from event where kind='gap' and node='far' and text like '%signal 9%'"
    wait_for(lambda: query(run, gaps)[0][0] >= 1, 60, "no gap: " + bench.output(recorder))
    wait_for_more(bench, run, recorder)


def wait_for_more(bench, run, recorder, count=5):
    wanted = [bench.samples(run, node) + count for node in (NEAR, FAR)]
    wait_for(lambda: all(bench.samples(run, node) >= wanted[node] for node in (NEAR, FAR)), 60, "no samples: " + bench.output(recorder))


def record_with_load(bench, run, devices):
    """Load while both are there, while ssh is cut, and after it came back."""
    recorder = bench.start("record", "--cluster", bench.path("cluster.toml"), "--interval", "200ms", "--quiet", "--out", run)
    wait_for_more(bench, run, recorder)
    devices.load(LOAD_MB)
    wait_for_more(bench, run, recorder)
    kill_connection(recorder)
    devices.load(LOAD_MB)
    wait_for_return(bench, run, recorder)
    devices.load(LOAD_MB)
    devices.wait_until_quiet()
    wait_for_more(bench, run, recorder)
    code, text = bench.stop(recorder)
    print(text)
    check(code == 0 and "of 2 nodes" in text and manifest(run)["complete"], text)


def columns_of(run, source):
    return [name for (name,) in query(run, "select name from source_column where source='%s'" % source)]


def series(run, node, source, column):
    """(time, value) per sample of the only device; NULL is left out."""
    return query(run, "select sample.t_ns, s.%s from %s as s join sample on sample.id=s.sample where sample.node=%d and s.%s is not null order by sample.id"
                 % (column, source, node, column))


def same_devices_and_columns(run, devices):
    sources = [name for (name,) in query(run, "select name from source")]
    check({"disk", "nic", "tcp", "netstat", "system"} <= set(sources), "sources: %s" % sources)
    for source, name in (("disk", devices.disk), ("nic", devices.nic)):
        keys = [query(run, "select name, detail from key where source='%s' and node=%d" % (source, node)) for node in (NEAR, FAR)]
        check(keys[NEAR] == keys[FAR] and [n for n, _ in keys[NEAR]] == [name], "%s: local has %s, ssh has %s" % (source, *keys))
    filled = 0
    for source in ("disk", "nic", "netstat", "system"):
        for column in columns_of(run, source):
            near, far = (bool(series(run, node, source, column)) for node in (NEAR, FAR))
            check(near == far, "%s.%s: local %s it, ssh %s" % (source, column, *("has" if h else "lacks" for h in (near, far))))
            filled += near
    return filled


def between_neighbours(ones, others):
    """How many values of one node lie between the samples of the other just before and after, and how many were looked at.
    A sampler may be stopped between reading the clock and the counters, though not beyond its own next sample: within that
    all values must lie."""
    direct = looked = 0
    for (when, value), (following, _) in zip(ones, ones[1:]):
        surely_before = [v for (_, v), (end, _) in zip(others, others[1:]) if end <= when]
        surely_after = [v for t, v in others if t >= following]
        if not surely_before or not surely_after:
            continue
        check(surely_before[-1] <= value <= surely_after[0], "%d is not in %d..%d" % (value, surely_before[-1], surely_after[0]))
        before = [v for t, v in others if t < when - INTERVAL_NS // 2]
        after = [v for t, v in others if t > when + INTERVAL_NS // 2]
        looked += 1
        direct += before[-1] <= value <= after[0]
    return direct, looked


def same_counters(run):
    print("%-36s%16s%16s%8s  %s" % ("total over the run", "local", "ssh", "", "ticks between the other's neighbours"))
    totals = {}
    for source in ("disk", "nic"):
        for column, kind in query(run, "select name, kind from source_column where source='%s'" % source):
            near, far = (series(run, node, source, column) for node in (NEAR, FAR))
            if kind != "counter" or not near:
                continue
            one, two = (values[-1][1] - values[0][1] for values in (near, far))
            pairs = [between_neighbours(near, far), between_neighbours(far, near)]
            direct, looked = (sum(numbers) for numbers in zip(*pairs))
            print("%-36s%16d%16d%8s  %d of %d" % (source + " " + column, one, two, "equal" if one == two else "DIFFERS", direct, looked))
            check(one == two, "%s.%s differs" % (source, column))
            check(looked > 10 and direct >= 0.8 * looked, "%s.%s: %d of %d between neighbours" % (source, column, direct, looked))
            totals[column] = one
    sectors, sent = 3 * LOAD_MB * 2048, 3 * LOAD_MB << 20
    check(totals["sectors_written"] >= sectors and totals["sectors_read"] >= sectors, "the disk load was not seen")
    check(totals["tx_bytes"] >= sent and totals["rx_bytes"] >= sent // 4, "the network load was not seen")


def gap_of_ssh(run):
    gaps = query(run, "select node, t_ns, text from event where kind='gap'")
    cut = [(when, text) for node, when, text in gaps if node == "far" and "signal 9" in text]
    check(len(cut) == 1, "gaps: %s" % gaps)
    later = query(run, "select count(*) from sample where node=%d and t_ns > %d" % (FAR, cut[0][0]))[0][0]
    check(later >= 10, "only %d samples after the gap" % later)
    print("gap of ssh:", cut[0][1], "(%d samples after it)" % later)
    about = {node["name"]: node for node in manifest(run)["nodes"]}
    check(about["far"]["gaps"] >= 1 and about["far"]["skipped"] > 0, str(about["far"]))
    check(about["far"]["clock_uncertainty_ns"] > 0, "no clock offset was measured")
    check(abs(about["far"]["clock_offset_ns"]) <= about["far"]["clock_uncertainty_ns"] + 1_000_000, str(about["far"]))
    check(about["near"]["environment"].get("kernel") == about["far"]["environment"].get("kernel"), "environments differ")


def sent_once(bench):
    stored = os.listdir(os.path.join(bench.path("cache"), "culprit"))
    check(len(stored) == 1 and stored[0].startswith("culprit-node-"), "stored on the node: %s" % stored)
    stamp = os.stat(os.path.join(bench.path("cache"), "culprit", stored[0])).st_mtime_ns
    again = bench.run("record", "--cluster", bench.path("cluster.toml"), "--for", "2s", "--out", bench.path("again.run"))
    check(again.returncode == 0 and "of 2 nodes" in again.stdout, again.stderr)
    check(os.stat(os.path.join(bench.path("cache"), "culprit", stored[0])).st_mtime_ns == stamp, "it was sent a second time")


def failures(bench, reach):
    cluster = bench.path("far.toml")
    write_cluster(cluster, [("far", reach)])

    def attempt(config, expected, file=cluster):
        bench.env["CULPRIT_SSH_OPTIONS"] = "-F " + bench.path(config)
        result = bench.run("record", "--cluster", file, "--for", "1s", "--out", bench.path("no.run"))
        check(result.returncode == 1 and expected in result.stderr and "hint:" in result.stderr, "%s: %s" % (config, result.stderr))
        check(not os.path.exists(bench.path("no.run.partial")), "an empty run was left")

    attempt("stranger_config", "permission denied")
    attempt("unknown_config", "host key is not known")
    write_cluster(bench.path("closed.toml"), [("far", "ssh:root@127.0.0.1:%d" % free_port())])
    attempt("ssh_config", "nobody listens", bench.path("closed.toml"))
    write_cluster(bench.path("wrong.toml"), [("far", reach)], 'sampler = "/no/such/culprit-node"\n')
    attempt("ssh_config", "the sampler is not on the node", bench.path("wrong.toml"))
    with open(bench.path("no-node"), "w") as text:
        text.write("#!/bin/sh\necho This account is not available.\nexit 1\n")
    os.chmod(bench.path("no-node"), 0o755)
    write_cluster(bench.path("none.toml"), [("far", reach)], 'sampler = "%s"\n' % bench.path("no-node"))
    attempt("ssh_config", "This account is not available.", bench.path("none.toml"))
    with open(bench.path("old-node"), "w") as text:
        text.write("#!/bin/sh\necho culprit-stream 999 9.9.9\ncat\n")
    os.chmod(bench.path("old-node"), 0o755)
    write_cluster(bench.path("old.toml"), [("far", reach)], 'sampler = "%s"\n' % bench.path("old-node"))
    bench.env["CULPRIT_SSH_OPTIONS"] = "-F " + bench.path("ssh_config")
    old = bench.run("record", "--cluster", bench.path("old.toml"), "--for", "1s", "--out", bench.path("no.run"))
    check(old.returncode == 1 and "version" in old.stderr, "version skew is not explained: " + old.stderr)


def main():
    if os.geteuid() != 0:
        skip("sshd, a loop device and a network namespace need root")
    with Bench(memory=True) as bench:
        reach = start_sshd(bench)
        devices = OwnDevices(bench, os.environ.get("TMPDIR", "/tmp"))
        write_cluster(bench.path("cluster.toml"), [("near", "local"), ("far", reach)], devices=devices)
        run = bench.path("ssh.run")
        record_with_load(bench, run, devices)
        print("%d columns have values, the same ones on both" % same_devices_and_columns(run, devices))
        same_counters(run)
        gap_of_ssh(run)
        sent_once(bench)
        failures(bench, reach)
        print("the sampler was sent once; six ways in which ssh fails are each explained")


if __name__ == "__main__":
    sys.exit(main())
