#!/usr/bin/env python3
"""What holds for every fault of the table, today's and tomorrow's, on a lab with real daemons and virtual disks:
- it comes into force, which is seen on its nodes from outside; it goes; then everything is as before, also with the
  journal's folder full; undoing it again changes nothing;
- kill -9 of the controller ends it within the lease;
- kill -9 of controller and guards: what the kernel holds ends by itself; the rest is taken back by --undo-all or by the
  next injection, also when they died half-way;
- a packet filter table, a qdisc and a cgroup of somebody else stay as they are, to the byte."""
import atexit
import json
import os
import signal
import sys
import threading
import time
import traceback

from inject_common import faults, finish, kill_guards, look, start, status, wait_active, wait_for, wait_journal
from lab_common import Lab, check, culprit, need

LEASE = 2  # seconds; short, so that the test need not wait long
WORDS = ("--for", "60s", "--lease", "%ds" % LEASE, "--seed", "7")

# Where the defaults do not fit a small lab.
PARAMS = {
    "memory_hog": ["bytes=64MB"],
    "cpu_hog": ["threads=1", "share=0.2"],
    "disk_hog": ["rate=2MB"],
    "write_network_hog": ["rate=1MB"],
    "read_network_hog": ["rate=1MB"],
    "err_fsize": ["size=1MB"],
    "inconsistency": ["method=delete", "percent=50"],
}
# More nodes than the target take part. They share clients and the third party, so one worker does them all.
HELPERS = {"send_pktloss": ["c1", "c2"], "write_network_hog": ["x1"], "read_network_hog": ["x1"]}
INVISIBLE = {"none"}  # the null member

FOREIGN = """
nft -f - <<'END'
table inet foreign {
  set peers { type ipv4_addr; elements = { 10.1.2.3, 10.1.2.4 } }
  chain input { type filter hook input priority 5; policy accept; ip saddr @peers tcp dport 9 drop; }
}
END
"""
FOREIGN_LOOK = ("nft list table inet foreign; tc qdisc show; tc filter show dev eth0; cat /proc/1/cgroup; "
                "find /sys/fs/cgroup -path '*foreign-%d*' | sort" % os.getpid())


def foreign_cgroups():
    """A cgroup in every hierarchy that takes one; others on this machine make and remove theirs all the time."""
    made = []
    tops = ["/sys/fs/cgroup"] + [os.path.join("/sys/fs/cgroup", name) for name in sorted(os.listdir("/sys/fs/cgroup"))]
    for top in tops:
        path = os.path.join(top, "foreign-%d" % os.getpid())
        try:
            os.mkdir(path)
        except OSError:
            continue
        if not os.path.exists(os.path.join(path, "cgroup.procs")):  # a plain folder: no hierarchy is here
            os.rmdir(path)
            continue
        made.append(path)
        atexit.register(os.rmdir, path)
    return made


class Subject:
    """One fault on one server of the lab, with a cluster file of their own, so that three can be tried at once."""

    def __init__(self, lab, fault, server):
        self.lab, self.fault, self.server = lab, fault, server
        self.name = fault["name"]
        self.helpers = HELPERS.get(self.name, [])
        self.acting = self.helpers if self.name == "send_pktloss" else [server] + self.helpers
        self.cluster = os.path.join(lab.folder, server + ".toml")
        self.before = self.picture()

    def picture(self):
        return {node: look(self.lab, node) for node in [self.server] + self.helpers}

    def params(self):
        words = []
        for param in PARAMS.get(self.name, []):
            words += ["--param", param]
        return words

    def begin(self, half_way=False):
        child = start(self.cluster, self.name, "--on", self.server, *WORDS, *self.params())
        if half_way:
            wait_journal(self.cluster, child)
        else:
            wait_active(child)
        return child

    def expect_as_before(self, what, seconds=20):
        wait_for(lambda: self.picture() == self.before, seconds,
                 lambda: "%s: %s: not as before\n%s\n%s" % (self.name, what, self.before, self.picture()))
        if self.fault["class"] != "leased":  # a daemon that was restarted must stay
            time.sleep(2)
            check(self.picture() == self.before, "%s: %s: it does not last\n%s" % (self.name, what, self.picture()))
        check(status(self.cluster) == [], "%s: %s: a journal is left: %s" % (self.name, what, status(self.cluster)))

    def undo_all(self):
        return culprit("inject", "--undo-all", "--json", "--cluster", self.cluster, code=None)

    def journal(self, node):
        return self.lab.sh(node, "cat /run/culprit/faults/*.%s.journal" % node)


def comes_and_goes(subject):
    child = subject.begin()
    if subject.name not in INVISIBLE:
        during = subject.picture()
        changed = [node for node in subject.before if without_guard(during[node]) != without_guard(subject.before[node])]
        check(changed, "%s: nothing is seen of it on %s" % (subject.name, list(subject.before)))
    journals = {node: subject.journal(node) for node in subject.acting}
    for node in subject.acting:  # the journal's own file system is full now
        subject.lab.sh(node, "head -c 10M /dev/zero > /run/culprit/filler; true")
    child.send_signal(signal.SIGTERM)
    code, out, err = finish(child)
    check(code == 0, "%s: exit code %d\n%s%s" % (subject.name, code, out, err))
    answer = json.loads(out)
    check(answer["clean"] and all(part["clean"] and part["removed_ns"] > part["active_ns"] for part in answer["parts"]), out)
    for node in subject.acting:
        subject.lab.sh(node, "rm /run/culprit/filler")
    subject.expect_as_before("after its undo with a full disk")
    for node, text in journals.items():
        subject.lab.sh(node, "cat > /run/culprit/faults/again.%s.journal <<'END'\n%sEND\n" % (node, text))
    again = subject.undo_all()
    check(again.returncode == 0 and again.stdout.count('"undone"') == len(journals), "undone again: " + again.stdout + again.stderr)
    subject.expect_as_before("after a second undo")


def effects_in(text):
    """What has an effect: all but rules of ours whose lease is empty, which match nothing."""
    kept, ours = [], False
    for line in text.split("\n"):
        ours = line.startswith("table inet culprit_") or (ours and line != "}")
        if not ours or "elements" in line:
            kept.append(line)
    return [line for line in kept if line != "}"]


def without_guard(text):
    return [line for line in text.split("\n") if not line.startswith("culprit-node")]


def controller_killed(subject):
    child = subject.begin()
    child.kill()
    child.wait()
    subject.expect_as_before("after kill -9 of the controller", LEASE + 18)


def kill_both(subject, child):
    child.send_signal(signal.SIGSTOP)  # so that it cannot look after a guard that dies first
    kill_guards(subject.lab, subject.acting)
    child.kill()
    child.wait()


def both_killed_half_way(subject):
    """As soon as there is a journal: somewhere in apply, or just after it."""
    kill_both(subject, subject.begin(half_way=True))
    undone = subject.undo_all()
    check(undone.returncode == 0, "%s: --undo-all: %s%s" % (subject.name, undone.stdout, undone.stderr))
    subject.expect_as_before("after being killed half-way")


def both_killed(subject, by_next):
    kill_both(subject, subject.begin())
    if subject.fault["held_by"] == "kernel":
        wait_for(lambda: {row["state"] for row in status(subject.cluster)} == {"expired"}, LEASE + 10,
                 lambda: "%s: does not end by itself: %s" % (subject.name, status(subject.cluster)))
        for node, text in subject.picture().items():
            check(effects_in(text) == effects_in(subject.before[node]), "%s: still there on %s\n%s" % (subject.name, node, text))
    if by_next:
        for node in subject.acting:
            culprit("inject", "none", "--on", node, "--for", "100ms", "--cluster", subject.cluster)
    else:
        undone = subject.undo_all()
        check(undone.returncode == 0, "%s: --undo-all: %s%s" % (subject.name, undone.stdout, undone.stderr))
    subject.expect_as_before("after %s" % ("the next start" if by_next else "--undo-all"))


def try_fault(lab, fault, server, index):
    began = time.monotonic()
    subject = Subject(lab, fault, server)
    comes_and_goes(subject)
    controller_killed(subject)
    both_killed(subject, by_next=index % 2 == 0)
    both_killed_half_way(subject)
    print("ok: %-18s on %s, %4.1f s" % (fault["name"], server, time.monotonic() - began), flush=True)


def work(lab, server, jobs, problems):
    for index, fault in jobs:
        try:
            try_fault(lab, fault, server, index)
        except Exception:  # the others are still tried; all problems are shown at the end
            problems.append("%s on %s:\n%s" % (fault["name"], server, traceback.format_exc()))
            culprit("inject", "--undo-all", "--cluster", os.path.join(lab.folder, server + ".toml"), code=None)


def write_clusters(lab, servers):
    """For each server a file without the other servers; clients and the third party are in the first one's only."""
    with open(lab.cluster) as text:
        head, *tables = text.read().split("\n[[")
    for server in servers:
        mine = [table for table in tables if 'name = "%s"' % server in table]
        mine += [table for table in tables if not table.startswith("server")] if server == servers[0] else []
        with open(os.path.join(lab.folder, server + ".toml"), "w") as out:
            out.write("\n[[".join([head] + mine))


def share_out(table, servers):
    """Those with helpers to the first worker, the rest in turn."""
    jobs = {server: [] for server in servers}
    numbered = list(enumerate(table))
    jobs[servers[0]] = [job for job in numbered if job[1]["name"] in HELPERS]
    for job in numbered:
        if job[1]["name"] not in HELPERS:
            min(jobs.values(), key=len).append(job)
    return jobs


def main():
    need("nft", "tc", "mfsmaster", "mfschunkserver", "mkfs.ext4", "debugfs")
    servers = ["s1", "s2", "s3"]
    lab = Lab("inj%d" % os.getpid(), "--servers", "3", "--clients", "2", "--format", "ext4", "--disk-size", "512MiB", "--disk", "ssd", fs="moosefs")
    write_clusters(lab, servers)
    nodes = servers + ["c1", "c2", "x1"]
    check(foreign_cgroups(), "no hierarchy of cgroups takes a new one")
    for node in nodes:  # a small folder of its own for journals, which can be filled; and somebody else's things
        lab.sh(node, "mkdir -p /run/culprit && mount -t tmpfs -o size=512k,mode=700 tmpfs /run/culprit")
        lab.sh(node, FOREIGN)
    lab.sh("c1", "for i in 1 2 3 4 5 6 7 8; do head -c 100000 /dev/urandom > /mnt/lab/f$i; done; sync")
    foreign = {node: lab.sh(node, FOREIGN_LOOK) for node in nodes}
    wanted = sys.argv[2:]
    table = [fault for fault in faults() if not wanted or fault["name"] in wanted]
    problems = []
    threads = [threading.Thread(target=work, args=(lab, server, jobs, problems)) for server, jobs in share_out(table, servers).items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for node in nodes:
        check(lab.sh(node, FOREIGN_LOOK) == foreign[node], "somebody else's things on %s have changed" % node)
    print("ok: filter tables, qdiscs and cgroups of others are as before on %d nodes" % len(nodes))
    check(not problems, "\n".join(problems))
    print("ok: %d faults" % len(table))


if __name__ == "__main__":
    sys.exit(main())
