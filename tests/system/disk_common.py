"""Virtual disks for tests and benchmarks: a daemon of their own in a scratch folder on tmpfs, loop devices, fio, and the
kernel's own counters. Whatever happens, nothing stays behind: the daemon first (its death ends every waiting request),
then the loop devices, then the folder."""
import json
import mmap
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from record_common import check, skip, wait_for

SECTOR = 512


def need_root_and_tools(*tools):
    if os.geteuid() != 0:
        skip("virtual disks need root")
    if not os.path.exists("/dev/fuse") or not os.path.exists("/dev/loop-control"):
        skip("there is no /dev/fuse or no loop device here")
    for tool in tools:
        if not shutil.which(tool):
            skip("there is no " + tool)


def run(*argv, timeout=60):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout)
    check(done.returncode == 0, "%s: %s" % (" ".join(argv), done.stderr.strip()))
    return done.stdout.strip()


class Refused(Exception):
    """The daemon answered with an error."""


class DiskLab:
    def __init__(self, build):
        self.program = os.path.join(os.path.abspath(build), "culprit-disk")
        if not os.access(self.program, os.X_OK):
            skip("there is no " + self.program)
        self.folder = tempfile.mkdtemp(prefix="culprit-disks-", dir="/dev/shm")
        self.socket = os.path.join(self.folder, "sock")
        self.mount = os.path.join(self.folder, "mount")
        os.mkdir(self.mount)
        os.mkdir(self.path("images"))
        self.daemon = None
        self.loops = []
        self.children = []

    def __enter__(self):
        for number in (signal.SIGTERM, signal.SIGHUP):  # Ctrl-C is an exception already: clean up then, too
            signal.signal(number, lambda number, _: sys.exit(128 + number))
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()
        for child in self.children:
            if child.poll() is None:
                child.kill()
                child.wait(10)
        for loop in self.loops[:]:
            self.detach(loop, check_it=False)
        subprocess.run(["umount", "-l", self.mount], capture_output=True)  # of a daemon without --private
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def command(self, *more):
        return [self.program, "--folder", self.path("images"), "--socket", self.socket, "--mount", self.mount, *more]

    def start(self, *more):
        """A daemon on the folder; more than one only after the death of the one before."""
        self.daemon = subprocess.Popen(self.command("--private", *more), stdout=subprocess.PIPE, text=True)
        check(self.daemon.stdout.readline() == "ready\n", "culprit-disk did not become ready")

    def kill(self, number=signal.SIGKILL):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.send_signal(number)
            self.daemon.wait(20)

    def ask(self, line):
        """A question; its answer as a dictionary."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            connection.connect(self.socket)
            connection.sendall(line.encode() + b"\n")
            answer = connection.makefile().readline().strip()
        if not answer.startswith("ok"):
            raise Refused(answer)
        return dict(word.split("=", 1) for word in answer.split()[1:])

    def counters(self, name):
        return {key: int(value) for key, value in self.ask("counters " + name).items() if value.isdigit()}

    def image(self, name):
        return "/proc/%d/root%s/%s.img" % (self.daemon.pid, self.mount, name)

    def attach(self, name):
        """The loop device on a disk, as a lab has it: direct I/O, no scheduler. No merging: a request is a request."""
        loop = attach_loop(self.image(name))
        self.loops.append(loop)
        return loop

    def detach(self, loop, check_it=True):
        done = subprocess.run(["losetup", "-d", loop], capture_output=True, text=True, timeout=30)
        check(not check_it or done.returncode == 0, done.stderr)
        self.loops.remove(loop)


def attach_loop(path):
    loop = run("losetup", "-f", "--show", "--direct-io=on", path)
    queue = "/sys/block/%s/queue/" % os.path.basename(loop)
    for name, value in (("scheduler", "none"), ("nomerges", "2"), ("read_ahead_kb", "128")):
        with open(queue + name, "w") as setting:
            setting.write(value)
    with open("/sys/block/%s/loop/dio" % os.path.basename(loop)) as direct:
        check(direct.read().strip() == "1", loop + " has no direct I/O")
    return loop


def fio_command(loop, rw, block, depth, *more):
    return ["fio", "--name=x", "--filename=" + loop, "--direct=1", "--ioengine=libaio" if depth > 1 else "--ioengine=psync",
            "--rw=" + rw, "--bs=%d" % block, "--iodepth=%d" % depth, "--randrepeat=1", "--norandommap",
            "--output-format=json", *more]


def fio(loop, rw, block, depth, *more, timeout=120):
    """Runs fio to its end; its figures of the one direction."""
    done = subprocess.run(fio_command(loop, rw, block, depth, *more), capture_output=True, text=True, timeout=timeout)
    check(done.returncode == 0, "fio: " + done.stderr)
    return fio_figures(done.stdout, rw)


def fio_figures(text, rw):
    job = json.loads(text[text.index("{"):])["jobs"][0]
    return job["write" if "write" in rw else "read"]


class Snap:
    """The kernel's counters of a device at one moment."""

    def __init__(self, loop):
        name = os.path.basename(loop)
        with open("/proc/diskstats") as lines:
            self.t = time.monotonic()
            fields = next(line.split() for line in lines if line.split()[2] == name)
        numbers = [int(field) for field in fields[3:]]
        self.requests = numbers[0] + numbers[4]
        self.sectors = numbers[2] + numbers[6]
        self.wait_ms = numbers[3] + numbers[7]
        self.busy_ms = numbers[9]
        with open("/proc/stat") as lines:
            cpu = [int(word) for word in lines.readline().split()[1:]]
        self.idle, self.cpu = cpu[3] + cpu[4], sum(cpu[:8])


class Between:
    """What a device and the machine did between two moments."""

    def __init__(self, first, second):
        self.seconds = second.t - first.t
        self.requests = second.requests - first.requests
        self.bytes = (second.sectors - first.sectors) * SECTOR
        self.iops = self.requests / self.seconds
        self.rate = self.bytes / self.seconds
        self.await_s = (second.wait_ms - first.wait_ms) / 1000 / self.requests if self.requests else None
        self.util = (second.busy_ms - first.busy_ms) / 1000 / self.seconds
        self.cpu_idle = (second.idle - first.idle) / max(1, second.cpu - first.cpu)


def watch_fio(loop, rw, block, depth, seconds, warm_up=0.6):
    """The kernel's counters in the steady part of an fio run. fio is first in line for a CPU: the disk is to be measured,
    not fio's wait for its turn."""
    child = subprocess.Popen(["nice", "-n", "-20"] + fio_command(loop, rw, block, depth, "--time_based",
                                                                        "--runtime=%g" % (seconds + warm_up + 2)),
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        idle = Snap(loop).requests
        wait_for(lambda: Snap(loop).requests > idle + depth or child.poll() is not None, 20, "fio does not begin")
        time.sleep(warm_up)
        first = Snap(loop)
        time.sleep(seconds)
        second = Snap(loop)
        check(child.poll() is None, "fio ended early: " + (child.stderr.read() if child.poll() is not None else ""))
        return Between(first, second)
    finally:
        child.terminate()
        child.wait(30)


def direct_read(loop, offset=0, size=4096):
    """One read past the page cache. Raises OSError as the device does."""
    with mmap.mmap(-1, size) as buffer:  # page-aligned, as direct I/O wants it
        fd = os.open(loop, os.O_RDONLY | os.O_DIRECT)
        try:
            return os.preadv(fd, [buffer], offset)
        finally:
            os.close(fd)
