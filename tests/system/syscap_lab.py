#!/usr/bin/env python3
"""All nodes of a GlusterFS lab captured at once: the right classes on the right nodes, a brick that is killed and comes back
under a new number, and a crash that was injected, with its signal."""
import json
import re

from inject_common import processes_of, wait_for
from lab_common import *

need("ip", "tc", "ethtool", "mkfs.xfs", "nsenter", "glusterd", "gluster", "nft")
FILES = 24  # of several hashes, so that each of three bricks gets some
SERVERS = ("s1", "s2", "s3")
MOVES = ("pwrite64", "pwritev", "pread64", "preadv", "writev", "readv")


def bricks(lab, node):
    return processes_of(lab, node, "glusterfsd", "--brick-name")


def write_and_read(lab, name):
    lab.sh("c1", "for i in $(seq %d); do f=/mnt/lab/%s$i; head -c 200000 /dev/zero > $f && cat $f > /dev/null || exit 1; done"
           % (FILES, name))


def start_capture(lab, run):
    log = open(os.path.join(lab.folder, "syscap.log"), "w+")
    child = subprocess.Popen([CULPRIT, "syscap", "--cluster", lab.cluster, "--quiet", "--out", run], stdout=log, stderr=log)
    atexit.register(child.kill)

    def there():
        check(child.poll() is None, "the capture has ended: " + read(log.name))
        return all(os.path.exists("%s.partial/syscalls/%s.sclog" % (run, node)) for node in (*SERVERS, "c1"))
    wait_for(there, 30, lambda: "not all nodes have a log: " + read(log.name))
    time.sleep(1)  # the probes are in place when the logs are; the lab's daemons are quiet
    return child, log


def rows(run, node, *words):
    out = culprit("syscap", "show", run, "--node", node, "--format", "jsonl", *words).stdout
    return [json.loads(line) for line in out.splitlines()]


def kill_and_restart(lab):
    """The numbers of the brick before and after."""
    [old] = bricks(lab, "s2")
    os.kill(old, signal.SIGKILL)
    time.sleep(2)  # glusterd needs a moment to see that it is gone
    lab.sh("s1", "gluster --mode=script volume start lab force")
    wait_for(lambda: bricks(lab, "s2"), 20, "the brick does not come back")
    [new] = bricks(lab, "s2")
    wait_for(lambda: "online" in client_sees(lab), 30, "the client has not found the new brick")
    return old, new


def client_sees(lab):
    """Whether files of all bricks can be read again."""
    script = "for i in $(seq %d); do cat /mnt/lab/a$i > /dev/null || exit 1; done; echo online" % FILES
    return lab.run("c1", "sh", "-c", script, code=None).stdout


def check_classes(run):
    for node in SERVERS:
        stored = rows(run, node, "--class", "storage")
        moved = [row for row in stored if row["name"] in MOVES and (row["result"] or 0) > 0]
        check(moved, "%s: no data on storage: %s" % (node, sorted({row["name"] for row in stored})))
        check(all(row["target"].startswith("/mnt/disk/") for row in moved), "%s: %s" % (node, moved[0]))
        check(rows(run, node, "--class", "to-client"), node + ": no socket to a client")
        check(not rows(run, node, "--class", "fuse"), node + ": a server without a mount uses /dev/fuse")
    check(not rows(run, "c1", "--class", "storage"), "the client has no storage")
    check(rows(run, "c1", "--class", "fuse"), "the client does not use /dev/fuse")
    sockets = " ".join({row["target"] for row in rows(run, "c1", "--class", "to-server")})
    peers = set(re.findall(r"10\.77\.0\.1[123]\b", sockets))
    check(len(peers) == len(SERVERS), "the client talks to %s" % sorted(peers))
    applications = {row["process"] for row in rows(run, "c1", "--path", "/mnt/lab/")}
    check(len(applications) > 1, "applications on the client are not captured")
    print("ok: classes on %d nodes" % (len(SERVERS) + 1))


def check_ends(run, killed, reborn):
    ends = {row["process"]: row for row in rows(run, "s2", "--kind", "exit") if row["number"] == 1}
    check(killed in ends and ends[killed]["result"] == signal.SIGKILL, "the killed brick: %s" % ends)
    later = [row for row in rows(run, "s2", "--pid", str(reborn)) if row["kind"] == "call"]
    check(len(later) > 100, "the brick that came back: %d calls" % len(later))
    check(any(row["class"] == "storage" for row in later), "its storage is not known")
    crashed = [row for row in rows(run, "s3", "--kind", "exit") if row["number"] == 1 and row["result"] == signal.SIGKILL]
    check(crashed, "the injected crash left no end")
    print("ok: a brick that is killed, one that comes back, an injected crash")


def check_stats(run):
    text = culprit("syscap", "show", run, "--node", "s1", "--stats").stdout
    for word in ("storage", "to-client", "p99"):
        check(word in text, "--stats has no %s:\n%s" % (word, text))
    text = culprit("syscap", "show", run, "--node", "s1", "--class", "storage", "--call", "pwrite64,pwritev,writev").stdout
    check(re.search(r"writev?(64)?\(\d+</mnt/disk/.*\) = \d+ <\d+\.\d+>", text), "no line as strace has it:\n" + text[:500])
    print("ok: show")


def main():
    before = picture()
    lab = Lab("tsys", "--servers", "3", "--clients", "1", "--layout", "distribute", fs="glusterfs")
    run = os.path.join(lab.folder, "calls.run")
    child, log = start_capture(lab, run)
    write_and_read(lab, "a")
    killed, reborn = kill_and_restart(lab)
    write_and_read(lab, "b")
    culprit("inject", "crash", "--on", "s3", "--cluster", lab.cluster, "--for", "3s")
    child.send_signal(signal.SIGINT)
    check(child.wait(timeout=60) == 0, read(log.name))
    check_classes(run)
    check_ends(run, killed, reborn)
    check_stats(run)
    lab.down()
    lab.clean()
    expect_same(before, "nothing is left")


main()
