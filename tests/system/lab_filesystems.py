#!/usr/bin/env python3
"""Real file systems in a lab: dd and PostMark on GlusterFS in its three layouts and on MooseFS, and nothing left after."""
import time

from lab_common import *

need("ip", "tc", "ethtool", "mkfs.xfs", "nsenter", "glusterd", "mfsmaster", "postmark", "nft")

POSTMARK = r"printf 'set location %s\nset number 40\nset transactions 60\nset size 500 20000\nrun\nquit\n' | postmark"


def check_layout(fs, layout, spread):
    """`spread`: on how many servers a file of 16 MB must lie at least."""
    before = picture()
    lab = Lab("tfs", "--servers", "5", "--clients", "2", "--layout", layout, fs=fs)
    print("%s %s: %s" % (fs, layout, lab.up.stdout.strip()))
    served = [lab.sh("s%d" % i, "df --output=used -k /mnt/disk | tail -1") for i in range(1, 6)]
    for client in ("c1", "c2"):
        lab.sh(client, "grep -q ' /mnt/lab fuse' /proc/mounts")
        lab.sh(client, "head -c 16M /dev/urandom > /tmp/culprit-test-$(hostname) && dd if=/tmp/culprit-test-$(hostname) "
                       "of=/mnt/lab/$(hostname) bs=4M oflag=direct conv=fsync 2>&1")
        lab.sh(client, "dd if=/mnt/lab/$(hostname) bs=4M iflag=direct 2>/dev/null | cmp - /tmp/culprit-test-$(hostname); "
                       "code=$?; rm /tmp/culprit-test-$(hostname); exit $code")
    listed = lab.sh("c1", "ls /mnt/lab").split()
    check("tfs-c1" in listed and "tfs-c2" in listed, "a client does not see the other's file: %s" % listed)
    used = [lab.sh("s%d" % i, "df --output=used -k /mnt/disk | tail -1") for i in range(1, 6)]
    busy = sum(int(now) - int(then) > 1000 for then, now in zip(served, used))
    check(busy >= spread, "only %d servers hold data" % busy)
    lab.sh("c2", "mkdir /mnt/lab/post")
    report = lab.sh("c2", POSTMARK % "/mnt/lab/post")
    check("Performing transactions" in report and "Deleting files...Done" in report and "Data:" in report, report)
    print(lab.down().stdout.strip())
    lab.clean()
    expect_same(before, "%s %s" % (fs, layout))


def check_killed_up():
    """A `lab up` that dies while GlusterFS is being set up."""
    before = picture()
    folder = tempfile.mkdtemp(prefix="culprit-test-")
    up = subprocess.Popen([CULPRIT, "lab", "up", "--fs", "glusterfs", "--name", "thalf"], cwd=folder,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(4)
    check(up.poll() is None, "it was up before it could be killed")
    up.kill()
    up.wait()
    culprit("lab", "down", "--name", "thalf")
    subprocess.run(["rm", "-rf", folder])
    expect_same(before, "kill -9 of `lab up` half-way")


def check_killed_parts():
    """A disk daemon and a server that die under load: clients may hang, the lab still comes down."""
    before = picture()
    lab = Lab("tkill", "--servers", "5", "--clients", "2", fs="glusterfs")
    load = subprocess.Popen([CULPRIT, "lab", "exec", "c1", "--name", "tkill", "--", "dd", "if=/dev/zero", "of=/mnt/lab/load",
                             "bs=4M", "count=200", "oflag=direct"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(2)
    check(load.poll() is None, "the load ended too soon")
    os.kill(disk_daemon("tkill"), signal.SIGKILL)
    time.sleep(1)
    os.kill(keeper("tkill", "s2"), signal.SIGKILL)
    time.sleep(1)
    print(lab.down().stdout.strip())
    load.wait(timeout=30)
    lab.clean()
    expect_same(before, "glusterfs after kill -9 of the disk daemon and of s2 under load")


check_killed_up()
check_killed_parts()
check_layout("glusterfs", "disperse", 5)
check_layout("glusterfs", "distribute", 1)
check_layout("glusterfs", "replicate", 5)
check_layout("moosefs", "goal2", 2)
