#!/usr/bin/env python3
"""A real sshd in two lab nodes: record, commands and inject through ssh: give the same as through ns:."""
import csv
import io
import re
import sqlite3

from lab_common import *
from ssh_common import from_third_party, need_ssh, start_sshd

need_ssh()
NODES = ("s1", "s2")
ADDRESS = {"s1": "10.77.0.11", "s2": "10.77.0.12"}


def cluster_of(lab, reach, name):
    """The lab's own file, with two servers and another way to them."""
    text = 'name = "%s"\nfs = "directory"\n' % name
    for block in re.findall(r"\[\[server\]\]\n(?:.+\n)+", read(lab.cluster) + "\n"):
        node = re.search(r'name = "(\w+)"', block).group(1)
        if node in NODES:
            text += "\n" + re.sub(r'reach = ".*"', 'reach = "%s"' % reach(node), block)
    path = os.path.join(lab.folder, name + ".toml")
    with open(path, "w") as file:
        file.write(text)
    return path


def totals(run):
    """What the disks and links counted from the first sample to the last: {(node, device, counter): difference}."""
    rows = {}
    for row in csv.DictReader(io.StringIO(culprit("export", run, "--raw").stdout)):
        if row["source"] in ("disk", "nic") and row["value"] != "":
            rows.setdefault((row["node"], row["source"], row["device"], row["metric"]), []).append(float(row["value"]))
    return {key: values[-1] - values[0] for key, values in rows.items()}


def begun(run):
    """Whether an open run has two samples of each node."""
    try:
        with sqlite3.connect("file:%s.run.partial/metrics.sqlite?mode=ro" % run, uri=True) as database:
            counts = database.execute("select count(*) from sample group by node").fetchall()
    except sqlite3.Error:
        return False
    return len(counts) == len(NODES) and all(count >= 2 for count, in counts)


def record_both(lab, by_ns, ssh_words):
    here = subprocess.Popen([CULPRIT, "record", "--cluster", by_ns, "--interval", "200ms", "--for", "25s", "--out",
                             lab.folder + "/ns"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    there = subprocess.Popen(ssh_words("record", "--cluster", lab.folder + "/ssh.toml", "--interval", "200ms", "--for", "25s",
                                       "--out", lab.folder + "/ssh"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wait_for(lambda: all(begun(lab.folder + "/" + run) for run in ("ns", "ssh")), 15, "not all nodes are recorded in time")
    for node in NODES:
        lab.sh(node, "dd if=/dev/zero of=/mnt/disk/load bs=1M count=16 oflag=direct conv=fsync 2>&1")
    for recorder in (here, there):
        text = recorder.communicate(timeout=60)[0]
        check(recorder.returncode == 0, text)
    ns, ssh = totals(lab.folder + "/ns.run"), totals(lab.folder + "/ssh.run")
    check({key for key in ns} == {key for key in ssh}, "not the same devices: %s" % (ns.keys() ^ ssh.keys()))
    written = [key for key in ns if key[1] == "disk" and key[3] == "sectors_written"]
    check(written, "no counter of written sectors: %s" % sorted({key[3] for key in ns}))
    for key in written:
        check(ns[key] == ssh[key] and ns[key] >= 2 * 16 * 1024, "%s: ns %g, ssh %g" % (key, ns[key], ssh[key]))
    print("ok: record counts the same, %d sectors on each server" % ns[written[0]])


def commands_are_the_same(lab, ssh):
    for command in ("hostname", "ip -o -4 addr show eth0", "cat /proc/mounts", "ls /mnt/disk", "cat /proc/1/cmdline"):
        by_ns = lab.sh("s1", command)
        by_ssh = subprocess.run(ssh("root@10.77.0.11", command), capture_output=True, text=True)
        check(by_ssh.returncode == 0 and by_ssh.stdout == by_ns, "%s: %r through ns, %r through ssh %s"
              % (command, by_ns, by_ssh.stdout, by_ssh.stderr))
    print("ok: commands see the same node")


def inject_both(lab, by_ns, ssh_words):
    def through(words, cluster, *more):
        running = subprocess.Popen(words("inject", "receive_pktloss", "--on", "s1", "--cluster", cluster, "--for", "4s",
                                         "--param", "percent=7", "--seed", "5", *more),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        rules, end = "", time.monotonic() + 60
        while "drop" not in rules and running.poll() is None and time.monotonic() < end:  # it lasts 4 s
            rules = lab.sh("s1", "nft list ruleset")
        out, error = running.communicate(timeout=60)
        check(running.returncode == 0, out + error)
        check("drop" in rules, "no rule while it is in force:\n%s%s%s" % (rules, out, error))
        check(lab.sh("s1", "nft list ruleset") == "", "a rule is left")
        plain = re.sub(r"culprit_\w+", "culprit_ID", rules)
        plain = re.sub(r"expires [0-9a-z]+", "", plain)
        return [line.strip() for line in plain.split("\n")], out

    refused = subprocess.run(ssh_words("inject", "receive_pktloss", "--on", "s1", "--cluster", lab.folder + "/ssh.toml"),
                             capture_output=True, text=True)
    check(refused.returncode in (1, 2) and "--i-own-this-cluster" in refused.stderr, refused.stderr)
    ns_rules, ns_out = through(lambda *words: [CULPRIT, *words], by_ns)
    ssh_rules, ssh_out = through(ssh_words, lab.folder + "/ssh.toml", "--i-own-this-cluster")
    kept = [line for line in ssh_rules if line not in ns_rules]
    check(all("tcp" in line or "22" in line for line in kept), "rules differ beyond the control connection: %s" % kept)
    check(all(line in ssh_rules for line in ns_rules if "drop" in line), "%s\n%s" % (ns_rules, ssh_rules))
    check("seen to be gone" in ns_out and "seen to be gone" in ssh_out, ns_out + ssh_out)
    print("ok: inject makes the same rules")


def main():
    before = picture()
    lab = Lab("tssh", "--servers", "3", "--clients", "1")
    start_sshd(lab, NODES)
    by_ns = cluster_of(lab, lambda node: "ns:tssh-" + node, "ns")
    cluster_of(lab, lambda node: "ssh:root@" + ADDRESS[node], "ssh")
    inside = from_third_party(lab)
    ssh_words = lambda *words: [*inside, CULPRIT, *words]
    ssh = lambda *words: [*inside, "ssh", "-F", lab.folder + "/ssh_config", "-o", "BatchMode=yes", *words]
    commands_are_the_same(lab, ssh)
    record_both(lab, by_ns, ssh_words)
    inject_both(lab, by_ns, ssh_words)
    lab.down()
    lab.clean()
    expect_same(before, "nothing is left")


main()
