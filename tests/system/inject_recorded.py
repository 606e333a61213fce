#!/usr/bin/env python3
"""On a small lab: a fault is in the run that is being recorded, with the times of the guard; what it cost the clients is
measured there; what must be refused is refused with its reason; the kill switch and a second injector."""
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from inject_common import finish, look, start, status, wait_active, wait_for
from lab_common import BUILD, CULPRIT, Lab, check, culprit, need


def refused(lab, reason, *words, code=1, **options):
    done = culprit("inject", *words, "--cluster", lab.cluster, "--for", "2s", code=code, **options)
    check(reason in done.stderr, "%s: %s" % (" ".join(words), done.stderr))
    check(done.stdout == "", done.stdout)


def with_cluster(lab, old, new):
    """A lab's file with something else in it; as an object that looks like the lab."""
    with open(lab.cluster) as text:
        changed = text.read().replace(old, new)
    path = os.path.join(lab.folder, "changed.toml")
    with open(path, "w") as out:
        out.write(changed)
    return type("Changed", (), {"cluster": path})


def refusals(lab):
    before = {node: look(lab, node) for node in ("s1", "c1")}
    disk = json_disk(lab)
    root = subprocess.run(["findmnt", "-n", "-o", "SOURCE", "/"], capture_output=True, text=True).stdout.strip()
    if os.path.exists("/sys/class/block/" + os.path.basename(root)):
        refused(with_cluster(lab, '"%s"' % disk, '"%s"' % os.path.basename(root)), "no fault may touch it", "disk_hog", "--on", "s1")
    refused(with_cluster(lab, '"%s"' % disk, '"sdzz"'), "there is no block device sdzz", "disk_hog", "--on", "s1")
    refused(with_cluster(lab, 'nics = ["eth0"]', 'nics = ["eth9"]'), "s1 has no NIC eth9", "receive_pktloss", "--on", "s1")
    refused(lab, "not a disk that cluster.toml names", "disk_hog", "--on", "s1", "--param", "disk=vda")
    refused(lab, "would touch 5 nodes", "none", "--on", "s1,s2,c1,c2,s3", code=2)
    refused(lab, "these are all 3 servers", "none", "--on", "s1,s2,s3", code=2)
    refused(lab, "percent cannot be '200'", "receive_pktloss", "--on", "s1", "--param", "percent=200")
    refused(lab, "needs a running daemon", "hang", "--on", "c1")
    nft = lab.sh("s1", "realpath $(command -v nft)").strip()
    lab.sh("s1", "mount --bind /dev/null " + nft)
    refused(lab, "needs the program nft, which s1 does not have", "receive_pktloss", "--on", "s1")
    lab.sh("s1", "umount " + nft)
    lab.sh("s1", "mkdir -p /run/culprit && touch /run/culprit/STOP")
    refused(lab, "the kill switch is on", "none", "--on", "s1")
    lab.sh("s1", "rm /run/culprit/STOP")
    refused(with_cluster(lab, "ns:" + lab.name, "ns:gone" + lab.name), "the lab is not up", "none", "--on", "s1")
    nobody = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", CULPRIT, "inject", "none", "--on", "s1",
                             "--cluster", lab.cluster], capture_output=True, text=True)
    if "ermission denied" not in nobody.stderr:  # the build folder or the lab's may be closed to others
        check(nobody.returncode == 1 and "needs root" in nobody.stderr, nobody.stderr)
    check({node: look(lab, node) for node in before} == before, "a refusal has changed something")
    print("ok: refusals with reasons")


def json_disk(lab):
    with open(lab.cluster) as text:
        return text.read().split('disks = ["')[1].split('"')[0]


def second_injector(lab):
    child = start(lab.cluster, "none", "--on", "s1", "--for", "60s")
    wait_active(child)
    refused(lab, "process %d with none on s1" % child.pid, "none", "--on", "s2")
    # Somebody with another file for the same node: the node itself says no.
    other = os.path.join(lab.folder, "other.toml")
    with open(lab.cluster) as text, open(other, "w") as out:
        out.write(text.read().replace('name = "s2"', 'name = "zz"'))
    done = culprit("inject", "none", "--on", "s1", "--for", "1s", "--cluster", other, code=1)
    check("another fault is at work on s1" in done.stderr and "with none" in done.stderr, done.stderr)
    lab.sh("s1", "touch /run/culprit/STOP")
    code, out, err = finish(child)
    lab.sh("s1", "rm /run/culprit/STOP")
    check(code == 1 and json.loads(out)["parts"][0]["reason"] == "kill switch", out + err)
    print("ok: two injectors are kept apart, and the kill switch ends one")


def events(run):
    with sqlite3.connect("file:%s/metrics.sqlite?mode=ro" % run, uri=True) as database:
        return database.execute("select t_ns, node, kind, text from event where kind in ('fault', 'note') order by rowid").fetchall()


def recorded(lab, folder):
    run = os.path.join(folder, "fault.run")
    recorder = subprocess.Popen([CULPRIT, "record", "--cluster", lab.cluster, "--interval", "200ms", "--quiet", "--out", run],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    sink = traffic = None
    try:
        wait_for(lambda: os.path.exists(run + ".partial/metrics.sqlite"), 30, "no recording")
        # The clients talk to s1 all the time, and to nobody while it is cut off.
        sink = subprocess.Popen([CULPRIT, "lab", "exec", "--name", lab.name, "s1", "--", "python3", "-c", SINK])
        traffic = subprocess.Popen([CULPRIT, "lab", "exec", "--name", lab.name, "c1", "--", "python3", "-c", SOURCE % address(lab, "s1")])
        time.sleep(5)
        done = culprit("inject", "network_partition", "--on", "s1", "--for", "3s", "--cluster", lab.cluster, "--json", "--seed", "5")
        answer = json.loads(done.stdout)
    finally:
        for child in (sink, traffic):
            if child:
                child.terminate()
                child.wait()
        recorder.send_signal(signal.SIGTERM)
        out, _ = recorder.communicate(timeout=30)
    check(recorder.returncode == 0, out)
    rows = events(run)
    faults = [row for row in rows if row[2] == "fault"]
    check(len(faults) == 2 and all(row[1] == "s1" for row in faults), str(rows))
    part = answer["parts"][0]
    check(faults[0][0] == part["active_ns"] and faults[1][0] == part["removed_ns"], "the times are not the guard's: %s %s" % (rows, part))
    check(faults[0][3] == "network_partition on, seed 5, id %s" % answer["id"], faults[0][3])
    check(faults[1][3] == "network_partition off, id %s, clean" % answer["id"], faults[1][3])
    cost = answer["cost"][0]
    check(cost["before_bytes_per_s"] > 10 * cost["during_bytes_per_s"], "no cost was seen: %s" % cost)
    check(any("the clients moved" in row[3] for row in rows if row[2] == "note"), str(rows))
    print("ok: the fault is in the run, with the guard's times and what it cost: " + cost["text"])


def address(lab, node):
    with open(lab.cluster) as text:
        return text.read().split('name = "%s"' % node)[1].split('address = "')[1].split('"')[0]


SINK = """
import socket, sys, threading
l = socket.socket(); l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); l.bind(("", 5999)); l.listen(4)
def drain(c):
    while c.recv(65536): pass
import signal; signal.alarm(60)
while True:
    c, _ = l.accept(); threading.Thread(target=drain, args=(c,), daemon=True).start()
"""
SOURCE = """
import signal, socket, time
signal.alarm(60)
while True:
    try: c = socket.create_connection(("%s", 5999)); break
    except ConnectionRefusedError: time.sleep(0.1)  # nobody listens yet
while True:
    c.sendall(bytes(20000)); time.sleep(0.01)
"""


def main():
    need("nft", "python3", "setpriv", "findmnt")
    lab = Lab("rec%d" % os.getpid(), "--servers", "3", "--clients", "2", fs="directory")
    refusals(lab)
    second_injector(lab)
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="culprit-test-") as folder:
        recorded(lab, folder)
    check(status(lab.cluster) == [], "a journal is left")


if __name__ == "__main__":
    sys.exit(main())
