#!/usr/bin/env python3
"""A real sshd on loopback: the same machine recorded once as local and once through ssh gives the same counters."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

from record_common import Bench, check, manifest, query, skip, wait_for


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


def write_cluster(path, nodes, extra=""):
    with open(path, "w") as text:
        text.write('name = "twice"\n')
        for name, reach in nodes:
            text.write('[[server]]\nname = "%s"\nreach = "%s"\n%s' % (name, reach, extra if name == "far" else ""))


def load(bench):
    """Writes to a disk that start and end inside the recording; there is no network load."""
    with open(os.path.join(os.getcwd(), ".culprit-load-%d" % os.getpid()), "wb") as out:
        try:
            for _ in range(20):
                out.write(os.urandom(1 << 20))
                out.flush()
                os.fsync(out.fileno())
        finally:
            os.unlink(out.name)


def series(run, node, table, column):
    rows = query(run, 'select key.name, sample.t_ns, %s.%s from %s join sample on sample.id=%s.sample join key on key.id=%s.key where sample.node=%d order by sample.t_ns'
                 % (table, column, table, table, table, node))
    found = {}
    for name, t_ns, value in rows:
        found.setdefault(name, []).append((t_ns, value))
    return found


def same_counters(run, table, column, interval_ns):
    near, far = series(run, 0, table, column), series(run, 1, table, column)
    check(set(near) == set(far) and near, "%s: local has %s, ssh has %s" % (table, sorted(near), sorted(far)))
    compared = 0
    for name in near:
        # For each ssh sample the value lies between those of the local samples just before and after its tick.
        for t_ns, value in far[name]:
            before = [v for t, v in near[name] if t < t_ns - interval_ns // 2]
            after = [v for t, v in near[name] if t > t_ns + interval_ns // 2]
            if before and after:
                check(before[-1] <= value <= after[0], "%s.%s of %s: %d is not in %d..%d" % (table, column, name, value, before[-1], after[0]))
                compared += 1
    return near, far, compared


def compare(run, interval_ns):
    near, far, compared = same_counters(run, "disk", "sectors_written", interval_ns)
    check(compared > 10, "only %d ticks in common" % compared)
    for column in ("reads", "writes", "sectors_read", "io_ms"):
        same_counters(run, "disk", column, interval_ns)
    for column in ("rx_bytes", "tx_bytes", "rx_packets"):
        same_counters(run, "nic", column, interval_ns)
    return near, far


def total(values, first, last):
    inside = [v for t, v in values if first <= t <= last]
    return inside[-1] - inside[0]


def equal_totals(near, far, since, until):
    """The load was inside [since, until]: both saw all of it. Others may use the disk too, so allow for what came
    between the two readings of one tick."""
    wrote = 0
    for name in near:
        a, b = total(near[name], since, until), total(far[name], since, until)
        wrote = max(wrote, a)
        check(abs(a - b) <= max(64, a // 50), "%s: local %d sectors, ssh %d" % (name, a, b))
    check(wrote > 20 * 2048 * 0.9, "the load was not seen: %d sectors" % wrote)


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
    with open(bench.path("old-node"), "w") as text:
        text.write("#!/bin/sh\necho culprit-stream 999 9.9.9\ncat\n")
    os.chmod(bench.path("old-node"), 0o755)
    write_cluster(bench.path("old.toml"), [("far", reach)], 'sampler = "%s"\n' % bench.path("old-node"))
    bench.env["CULPRIT_SSH_OPTIONS"] = "-F " + bench.path("ssh_config")
    old = bench.run("record", "--cluster", bench.path("old.toml"), "--for", "1s", "--out", bench.path("no.run"))
    check(old.returncode == 1 and "version" in old.stderr, "version skew is not explained: " + old.stderr)


def main():
    if os.geteuid() != 0:
        skip("sshd needs root")
    with Bench(memory=True) as bench:
        reach = start_sshd(bench)
        write_cluster(bench.path("cluster.toml"), [("near", "local"), ("far", reach)])
        run = bench.path("ssh.run")
        recorder = bench.start("record", "--cluster", bench.path("cluster.toml"), "--interval", "200ms", "--quiet", "--out", run)
        wait_for(lambda: bench.samples(run, 0) > 5 and bench.samples(run, 1) > 5, 40, "no samples: " + bench.output(recorder))
        since = time.time_ns() - 10**9
        load(bench)
        time.sleep(1)
        until = time.time_ns() + 10**8
        time.sleep(1)
        code, text = bench.stop(recorder)
        print(text)
        check(code == 0 and "of 2 nodes" in text, text)
        near, far = compare(run, 200_000_000)
        equal_totals(near, far, since, until)
        about = {node["name"]: node for node in manifest(run)["nodes"]}
        check(about["far"]["clock_uncertainty_ns"] > 0, "no clock offset was measured")
        check(abs(about["far"]["clock_offset_ns"]) <= about["far"]["clock_uncertainty_ns"] + 1_000_000, str(about["far"]))
        check(about["near"]["environment"].get("kernel") == about["far"]["environment"].get("kernel"), "environments differ")

        stored = os.listdir(os.path.join(bench.path("cache"), "culprit"))
        check(len(stored) == 1 and stored[0].startswith("culprit-node-"), "stored on the node: %s" % stored)
        stamp = os.stat(os.path.join(bench.path("cache"), "culprit", stored[0])).st_mtime_ns
        again = bench.run("record", "--cluster", bench.path("cluster.toml"), "--for", "2s", "--out", bench.path("again.run"))
        check(again.returncode == 0 and "of 2 nodes" in again.stdout, again.stderr)
        check(os.stat(os.path.join(bench.path("cache"), "culprit", stored[0])).st_mtime_ns == stamp, "it was sent a second time")
        failures(bench, reach)


if __name__ == "__main__":
    sys.exit(main())
