#!/usr/bin/env python3
"""A lab leaves nothing behind: after `down`, after kill -9 of a part of it, of `up` half-way, and with two at once."""
import os
import signal
import subprocess
import time

from lab_common import *

need("ip", "tc", "ethtool", "mkfs.xfs", "nsenter", "nft")


def plain(before):
    lab = Lab("tplain", "--servers", "3", "--clients", "1")
    listed = culprit("lab", "list").stdout
    check("tplain  directory  3 servers, 1 clients" in listed, listed)
    check(culprit("lab", "status", "--name", "tplain").stdout.count(" up ") == 5, "not everything is up")
    again = culprit("lab", "up", "--fs", "directory", "--name", "tplain", code=1, cwd=lab.folder)
    check("there is a lab tplain already" in again.stderr, again.stderr)
    lab.sh("c1", "dd if=/dev/urandom of=/mnt/lab/s2/file bs=1M count=4 oflag=direct 2>&1")
    check("file" in lab.sh("s2", "ls /mnt/disk"), "the client's file is not on the server's disk")
    lab.down()
    check(not os.path.exists(lab.cluster), "cluster.toml is still there")
    lab.clean()
    expect_same(before, "up and down")


def stopped(pid):
    """Stops it and names a harmless victim instead: the lab must come down with a disk daemon that answers nobody."""
    os.kill(pid, signal.SIGSTOP)
    return keeper("tkill", "x1")


def killed_part(before, what, victim):
    lab = Lab("tkill", "--servers", "3", "--clients", "1")
    lab.sh("c1", "dd if=/dev/urandom of=/mnt/lab/s1/file bs=1M count=8 2>&1")  # dirty pages that cannot be written
    os.kill(victim(), signal.SIGKILL)
    time.sleep(0.5)
    status = culprit("lab", "status", "--name", "tkill", code=None)
    lab.down()
    lab.clean()
    expect_same(before, "kill -9 of " + what)
    return status


def killed_up(before):
    for delay in (0.02, 0.1, 0.2, 0.35, 0.6):
        folder = tempfile.mkdtemp(prefix="culprit-test-")
        up = subprocess.Popen([CULPRIT, "lab", "up", "--fs", "directory", "--name", "thalf", "--servers", "4"], cwd=folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        up.kill()
        up.wait()
        culprit("lab", "down", "--name", "thalf", code=None)
        subprocess.run(["rm", "-rf", folder])
        expect_same(before, "kill -9 of `lab up` after %g s" % delay)


def interrupted_up(before):
    folder = tempfile.mkdtemp(prefix="culprit-test-")
    up = subprocess.Popen([CULPRIT, "lab", "up", "--fs", "directory", "--name", "tctrlc", "--servers", "8"], cwd=folder,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: os.path.exists("/run/culprit/labs/tctrlc"), 30, "the lab is not begun")
    up.send_signal(signal.SIGINT)
    error = up.communicate()[1]
    subprocess.run(["rm", "-rf", folder])
    check(up.returncode == 1 and "interrupted" in error, "exit code %d: %s" % (up.returncode, error))
    expect_same(before, "Ctrl-C of `lab up`")


def two_at_once(before):
    one = Lab("tone", "--servers", "3", "--clients", "1")
    two = Lab("ttwo", "--servers", "3", "--clients", "1")  # the same seed and format: only the name tells the disks apart
    one.sh("c1", "echo one > /mnt/lab/s1/who")
    two.sh("c1", "echo two > /mnt/lab/s1/who")
    check(one.sh("s1", "cat /mnt/disk/who") == "one\n", "the labs share a disk")
    taken = culprit("lab", "up", "--fs", "directory", "--name", "tthree", "--cluster", one.cluster, code=1)
    check("belongs to the lab tone, which is up" in taken.stderr, taken.stderr)
    one.down()
    check(two.sh("s1", "cat /mnt/disk/who") == "two\n", "taking one lab down hurt the other")
    two.down()
    one.clean()
    two.clean()
    expect_same(before, "two labs at once")


def refusals(before):
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/cluster.toml", "w") as file:
            file.write("# mine\n")
        cases = [
            (["--fs", "directory", "--name", "trefuse"], 1, "is there already, and no lab wrote it"),
            (["--fs", "glustrfs"], 2, "did you mean glusterfs?"),
            (["--fs", "glusterfs", "--layout", "stripe"], 2, "there is no layout of glusterfs stripe"),
            (["--fs", "glusterfs", "--servers", "2"], 2, "needs at least 3 servers"),
            (["--fs", "directory", "--name", "Lab/1"], 2, "cannot be named"),
            (["--fs", "directory", "--disk", "floppy"], 2, "floppy"),
            (["--fs", "directory", "--disk-size", "900GB"], 1, "/dev/shm has room for"),
            (["--fs", "directory", "--link", "fast"], 2, "rate"),
        ]
        for words, code, text in cases:
            done = culprit("lab", "up", *words, code=None, cwd=folder)
            check(done.returncode == code and text in done.stderr,
                  "%s: exit code %d: %s" % (words, done.returncode, done.stderr))
        check(read(folder + "/cluster.toml") == "# mine\n", "somebody's cluster.toml was replaced")
    for words in (["down", "--name", "nosuch"], ["exec", "s1", "--name", "nosuch", "--", "true"],
                  ["status", "--name", "nosuch"]):
        done = culprit("lab", *words, code=1)
        check("nosuch" in done.stderr and "hint:" in done.stderr, done.stderr)
    nobody = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", CULPRIT, "lab", "up", "--fs", "directory",
                             "--cluster", "/nonexistent/c"], capture_output=True, text=True)
    check(nobody.returncode == 1 and "needs root" in nobody.stderr, nobody.stderr)
    expect_same(before, "refusals")


def main():
    before = picture()
    plain(before)
    status = killed_part(before, "the disk daemon", lambda: disk_daemon("tkill"))
    check(status.returncode == 1 and "the disks are dead" in status.stdout, status.stdout)
    status = killed_part(before, "one server", lambda: keeper("tkill", "s2"))
    check(status.returncode == 1 and "dead" in status.stdout, status.stdout)
    status = killed_part(before, "the disk daemon, stopped before", lambda: stopped(disk_daemon("tkill")))
    killed_up(before)
    interrupted_up(before)
    two_at_once(before)
    refusals(before)


main()
