"""Faults of processes, of disks and of what is stored, through the guard on a node of its own: real loop devices on real
virtual disks, real ext4 and xfs, a real daemon on each, everything in namespaces that end with this test. Shows for each
that it is in force (by its effect, not by its word), that undo gives everything back, also from the journal alone after
a kill -9, and that what the file system cannot do is refused with a reason."""
import errno
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from record_common import check, skip, wait_for

NS = 1_000_000_000
DAEMON = "storaged"
TOOLS = ("unshare", "losetup", "mkfs.ext4", "mkfs.xfs", "e2fsck", "debugfs", "xfs_repair", "mount", "umount")


def run(*argv, timeout=120):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout)
    check(done.returncode == 0, "%s: %s%s" % (" ".join(argv), done.stdout, done.stderr))
    return done.stdout


class Guard:
    """culprit-node fault guard, and the controller's side of its conversation."""

    def __init__(self, node, fault, disk, lease=10, **params):
        self.node = node
        self.params = params
        part = ["culprit-fault 1", "id i%d" % time.monotonic_ns(), "fault " + fault, "node s1", "address %",
                "role target", "seed 7", "duration_ns %d" % (600 * NS), "lease_ns %d" % (lease * NS), "fs glusterfs"]
        part += ["param %s %s" % (name, urllib.parse.quote(str(value))) for name, value in params.items()]
        part += ["disk " + disk, "daemon " + DAEMON, "end"]
        self.fault = fault
        self.beating = True
        self.process = subprocess.Popen([node.program, "fault", "guard"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=node.environment)
        self.say("\n".join(part))
        threading.Thread(target=self.beat, daemon=True).start()

    def say(self, text):
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass

    def beat(self):
        while self.beating:
            time.sleep(0.5)
            self.say("beat")

    def hear(self, *wanted):
        """The next report that is no note; its words."""
        while True:
            line = self.process.stdout.readline()
            words = [urllib.parse.unquote(word) for word in line.split()]
            if words and words[0] == "note":
                continue
            check(words and words[0] in wanted, "%s: expected %s, heard %r" % (self.fault, wanted, " ".join(words)))
            return words

    def begin(self):
        self.hear("prepared")
        self.say("go")
        self.hear("active")
        return self

    def end(self):
        self.say("undo")
        words = self.hear("removed")
        self.close()
        check(words[2] == "clean", "%s: %s" % (self.fault, " ".join(words)))
        check(words[3] == "asked", "%s ended before it was asked to: %s" % (self.fault, " ".join(words)))
        check(self.process.returncode == 0, "%s: the guard's exit code is %d" % (self.fault, self.process.returncode))

    def refused(self):
        words = self.hear("error")
        self.close()
        return " ".join(words[1:])

    def kill(self):
        """The guard dies without a word; who started it, too."""
        for pid in children_of(self.process.pid):
            os.kill(pid, signal.SIGKILL)
        self.process.kill()
        self.close()

    def close(self):
        self.beating = False
        self.process.stdin.close()
        self.process.wait(60)


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as children:
        return [int(word) for word in children.read().split()]


class Node:
    """This mount and process namespace as a server: /mnt/NAME for each disk, a daemon that lives there."""

    def __init__(self, build):
        self.program = os.path.join(build, "culprit-node")
        self.folder = tempfile.mkdtemp(prefix="culprit-state-", dir="/run")
        os.makedirs("/run/culprit-lab")
        self.socket = "/run/culprit-lab/disk.sock"
        for name in ("images", "fuse", "bin"):
            os.mkdir(self.path(name))
        self.sums = self.path("sums")
        with open(self.path("bin/mount"), "w") as script:
            script.write("#!/bin/sh\nsha256sum %s/e1.img >>%s\nexec %s \"$@\"\n" %
                         (self.path("images"), self.sums, shutil.which("mount")))
        os.chmod(self.path("bin/mount"), 0o755)
        self.environment = dict(os.environ, PATH=self.path("bin") + ":" + os.environ["PATH"])
        self.disk_program = os.path.join(build, "culprit-disk")
        self.daemon = subprocess.Popen([self.disk_program, "--folder", self.path("images"), "--socket", self.socket,
                                        "--mount", self.path("fuse")], stdout=subprocess.PIPE, text=True)
        check(self.daemon.stdout.readline() == "ready\n", "culprit-disk did not become ready")
        self.loops = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def ask(self, line):
        return dict(word.partition("=")[::2] for word in
                    run(self.disk_program, "--socket", self.socket, "--ask", line).split())

    def add(self, name, size, *mkfs):
        self.ask("add %s %s none" % (name, size))
        loop = run("losetup", "-f", "--show", "--direct-io=on", "%s/%s.img" % (self.path("fuse"), name)).strip()
        self.loops.append(loop)
        run(*mkfs, loop)
        os.makedirs("/mnt/" + name)
        run("mount", loop, "/mnt/" + name)
        return os.path.basename(loop)

    def start_daemon(self, name):
        program = self.path(DAEMON)
        if not os.path.exists(program):
            shutil.copy("/bin/sleep", program)
        subprocess.Popen([program, "100000"], cwd="/mnt/" + name, start_new_session=True)

    def stop_daemons(self):
        for pid in self.daemons():
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not self.daemons(), 10, "the daemons to end")

    def daemons(self):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % pid) as stat:
                    text = stat.read()
            except OSError:
                continue
            if "(%s) " % DAEMON in text and text.rsplit(") ", 1)[1][0] not in "ZX":
                found.append(int(pid))
        return found

    def undo_all(self):
        done = subprocess.run([self.program, "fault", "undo-all", "--node", "s1"], capture_output=True, text=True,
                              timeout=120, env=self.environment)
        check(done.returncode == 0, "undo-all: " + done.stdout + done.stderr)
        return done.stdout

    def close(self):
        self.daemon.kill()
        self.daemon.wait(20)
        for target in ("e1", "x1"):
            subprocess.run(["umount", "-l", "/mnt/" + target], capture_output=True)
        for loop in self.loops:
            subprocess.run(["losetup", "-d", loop], capture_output=True)


def can_write(folder, size=4096):
    """0, or the errno of writing a new file to the disk."""
    path = os.path.join(folder, "probe")
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.write(fd, os.urandom(size))
            os.fsync(fd)
        finally:
            os.close(fd)
            os.unlink(path)
    except OSError as error:
        return error.errno
    return 0


def contents(folder):
    """Path -> checksum of every file."""
    found = {}
    for above, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(above, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
    return found


def options_of(name):
    with open("/proc/self/mounts") as mounts:
        return [line.split()[3] for line in mounts if line.split()[1] == "/mnt/" + name]


def write_data(folder):
    os.makedirs(folder + "/data/deep", exist_ok=True)
    for number in range(40):
        with open("%s/data/%sf%d" % (folder, "deep/" if number % 2 else "", number), "wb") as file:
            file.write(os.urandom(5000))
    os.sync()


def check_processes(node, disk):
    pid = node.daemons()[0]
    guard = Guard(node, "crash", disk).begin()
    check(not node.daemons(), "crash: the daemon lives")
    guard.end()
    check(len(node.daemons()) == 1 and node.daemons()[0] != pid, "crash: the daemon is not back")
    pid = node.daemons()[0]
    check(os.readlink("/proc/%d/cwd" % pid) == "/mnt/e1", "crash: the daemon is back in another folder")
    guard = Guard(node, "crash", disk).begin()
    guard.kill()
    check(not node.daemons(), "crash: who started it again?")
    check("undone" in node.undo_all(), "crash: undo-all undid nothing")
    check(len(node.daemons()) == 1, "crash: the daemon is not back from the journal")
    guard = Guard(node, "hang", disk).begin()
    check(state_of(node.daemons()[0]) == "T", "hang: the daemon is not stopped")
    guard.kill()
    check(state_of(node.daemons()[0]) == "T", "hang: a stopped process goes on by itself")
    node.undo_all()
    check(state_of(node.daemons()[0]) != "T", "hang: the daemon is still stopped")
    for fault, params in (("err_files", {}), ("err_fsize", {"size": 100}), ("err_vmsize", {})):
        before = limits_of(node.daemons()[0])
        guard = Guard(node, fault, disk, **params).begin()
        check(limits_of(node.daemons()[0]) != before, fault + ": no limit changed")
        guard.end()
        check(limits_of(node.daemons()[0]) == before, fault + ": the limits are not what they were")


def state_of(pid):
    with open("/proc/%d/stat" % pid) as stat:
        return stat.read().rsplit(") ", 1)[1][0]


def limits_of(pid):
    with open("/proc/%d/limits" % pid) as limits:
        return limits.read()


def check_space(node, name, disk):
    folder = "/mnt/" + name
    before = sorted(os.listdir(folder))
    guard = Guard(node, "err_space", disk).begin()
    check(can_write(folder, 1 << 20) == errno.ENOSPC, "err_space: there is space on " + name)
    guard.end()
    check(can_write(folder, 1 << 20) == 0, "err_space: %s is still full" % name)
    check(sorted(os.listdir(folder)) == before, "err_space: something is left on " + name)
    guard = Guard(node, "err_space", disk, free="8MB").begin()
    left = os.statvfs(folder)
    check(4e6 < left.f_bfree * left.f_frsize < 12e6, "err_space: %d blocks are left" % left.f_bfree)
    guard.kill()
    check(sorted(os.listdir(folder)) != before, "err_space: ended without an undo?")
    node.undo_all()
    check(sorted(os.listdir(folder)) == before, "err_space: something is left on %s after a kill -9" % name)


def check_inodes(node, disk):
    before = os.statvfs("/mnt/e1").f_ffree
    guard = Guard(node, "err_inodes", disk).begin()
    check(os.statvfs("/mnt/e1").f_ffree <= 1, "err_inodes: inodes are left")
    check(can_write("/mnt/e1") == errno.ENOSPC, "err_inodes: a file could be made")
    guard.end()
    check(os.statvfs("/mnt/e1").f_ffree == before, "err_inodes: inodes are missing")
    check(can_write("/mnt/e1") == 0, "err_inodes: no file can be made after it")


def check_remount(node, disk):
    options, data, pid = options_of("e1"), contents("/mnt/e1"), node.daemons()[0]
    guard = Guard(node, "err_remount", disk).begin()
    check(can_write("/mnt/e1") == errno.EROFS, "err_remount: e1 can be written")
    guard.end()
    check(can_write("/mnt/e1") == 0, "err_remount: e1 cannot be written after it")
    check(options_of("e1") == options, "err_remount: mounted otherwise: %s" % options_of("e1"))
    check(contents("/mnt/e1") == data, "err_remount: the data changed")
    check(len(node.daemons()) == 1 and node.daemons()[0] != pid, "err_remount: the daemon was not started again")


def check_device(node, name, disk):
    folder = "/mnt/" + name
    data, options = contents(folder), options_of(name)
    guard = Guard(node, "device_failure", disk).begin()
    check(can_write(folder) in (errno.EIO, errno.EROFS), "device_failure: %s can be written" % name)
    guard.end()
    check(can_write(folder) == 0, "device_failure: %s cannot be written after it" % name)
    check(contents(folder) == data, "device_failure: the data of %s changed" % name)
    check(options_of(name) == options, "device_failure: %s is mounted otherwise" % name)
    check(len(node.daemons()) == 1, "device_failure: the daemon is not back")
    guard = Guard(node, "device_failure", disk, lease=2).begin()
    can_write(folder)
    guard.kill()
    wait_for(lambda: node.ask("status " + name)["active"] == "", 5, "the disk to heal by itself")
    node.undo_all()
    check(can_write(folder) == 0 and contents(folder) == data, "device_failure: %s is not back after a kill -9" % name)
    check(len(node.daemons()) == 1, "device_failure: the daemon is not back after a kill -9")


def check_effects(node, disk):
    text = Guard(node, "slow_disk", disk).refused()
    check("no model" in text, "slow_disk was refused without the reason: " + text)
    node.ask("model e1 rate=200MB,seek=100us")
    guard = Guard(node, "slow_disk", disk, lease=2, factor=3).begin()
    time.sleep(3)  # longer than the lease: it was prolonged
    check(node.ask("status e1").get("slow_factor") == "3", "slow_disk: the disk is not slow")
    guard.kill()
    wait_for(lambda: node.ask("status e1")["active"] == "", 5, "the slow disk to heal by itself")
    node.undo_all()
    guard = Guard(node, "flaky_disk", disk, probability=1).begin()
    check(can_write("/mnt/e1") != 0, "flaky_disk: nothing fails")
    guard.end()
    check(can_write("/mnt/e1") == 0, "flaky_disk: e1 cannot be written after it")
    node.ask("model e1 none")


def check_inconsistency(node, disk, method):
    data = contents("/mnt/e1")
    lost = []
    for kill in (False, True):
        open(node.sums, "w").close()
        # Applying it takes longer than this lease: the guard must not take that for a silent controller.
        guard = Guard(node, "inconsistency", disk, lease=1, method=method, percent=25).begin()
        damaged = contents("/mnt/e1")
        check(damaged != data, "inconsistency: nothing is lost by " + method)
        lost.append({path for path in data if damaged.get(path) != data[path]})
        check(len(node.daemons()) == 1, "inconsistency: the daemon is not running")
        if kill:
            guard.kill()
            node.undo_all()
        else:
            guard.end()
        sums = [line.split()[0] for line in open(node.sums)]
        check(len(sums) >= 2 and sums[0] == sums[-1], "inconsistency: another image after the restore by " + method)
        check(method == "delete" or sums[1] != sums[0], "inconsistency: debugfs changed nothing")
        check(contents("/mnt/e1") == data, "inconsistency: the data is not back")
        check(len(node.daemons()) == 1, "inconsistency: the daemon is not back")
    check(lost[0] == lost[1], "inconsistency: the same seed lost other files: %s" % lost)


def check_refusals(node, ext4, xfs):
    root = subprocess.run(["findmnt", "-no", "SOURCE", "/"], capture_output=True, text=True).stdout.strip()
    for fault, disk, params, reason in (("err_inodes", xfs, {}, "no fixed number"),
                                        ("err_remount", xfs, {}, "ext4"),
                                        ("inconsistency", xfs, {"method": "debugfs"}, "ext4"),
                                        ("inconsistency", ext4, {"below": "../x"}, "below"),
                                        ("crash", ext4, {"signal": "STOP"}, "signal"),
                                        ("err_space", os.path.basename(root), {}, "/")):
        text = Guard(node, fault, disk, **params).refused()
        check(reason in text, "%s was refused without the reason: %s" % (fault, text))


def inside(build):
    for target in ("/run", "/mnt"):
        run("mount", "-t", "tmpfs", "tmpfs", target)
    node = Node(build)
    try:
        ext4 = node.add("e1", "96MiB", "mkfs.ext4", "-q", "-N", "3000")
        xfs = node.add("x1", "320MiB", "mkfs.xfs", "-q", "-f")
        for name in ("e1", "x1"):
            write_data("/mnt/" + name)
        node.start_daemon("e1")
        wait_for(lambda: node.daemons(), 10, "the daemon")
        for step, arguments in ((check_processes, (ext4,)), (check_space, ("e1", ext4)), (check_space, ("x1", xfs)),
                                (check_inodes, (ext4,)), (check_effects, (ext4,)), (check_remount, (ext4,)),
                                (check_device, ("e1", ext4)), (check_inconsistency, (ext4, "delete")),
                                (check_inconsistency, (ext4, "debugfs")), (check_refusals, (ext4, xfs))):
            begun = time.monotonic()
            step(node, *arguments)
            print("%s %s: %.1f s" % (step.__name__, arguments[0], time.monotonic() - begun), flush=True)
        node.stop_daemons()
        node.start_daemon("x1")
        check_device(node, "x1", xfs)
        print("ok")
    finally:
        node.stop_daemons()
        node.close()


def main():
    build = os.path.abspath(sys.argv[1])
    if len(sys.argv) > 2:
        return inside(build)
    if os.geteuid() != 0:
        skip("needs root: it mounts file systems")
    for tool in TOOLS:
        if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            skip("there is no " + tool)
    if not os.path.exists("/dev/fuse") or not os.path.exists("/dev/loop-control"):
        skip("there is no /dev/fuse or no loop device here")
    for program in ("culprit-node", "culprit-disk"):
        if not os.access(os.path.join(build, program), os.X_OK):
            skip("there is no " + program)
    done = subprocess.run(["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc",
                           "--propagation", "private", sys.executable, os.path.abspath(__file__), build, "inside"])
    left = [line for line in run("losetup", "-a").splitlines() if "/culprit-state-" in line]
    for line in left:
        subprocess.run(["losetup", "-d", line.split(":")[0]], capture_output=True)
    check(not left, "loop devices are left: %s" % left)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
