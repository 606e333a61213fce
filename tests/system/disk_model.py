#!/usr/bin/env python3
"""Do virtual disks behave as their model says, do effects end by themselves, and does nothing get lost?

    tests/system/disk_model.py BUILD [CHECK...]

Speeds are judged by the kernel's own counters of the loop device. A wrong speed is measured again, because the machine may be
shared: it counts when it is wrong each time, and proves nothing when the CPUs had no idle time."""
import errno
import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from disk_common import (Between, DiskLab, Refused, Snap, direct_read, fio, fio_command, need_root_and_tools, run,
                         watch_fio)
from record_common import check, wait_for

RATE, SEEK = 15_000_000, 0.004
MODEL = "rate=15MB,seek=4ms"
BLOCK = 64 * 1024
SIZE = 256 << 20
TOLERANCE = 0.05
IDLE_ENOUGH = 0.05  # below this share of idle CPU a wrong speed proves nothing
ATTEMPTS = 3
WAKE_UPS = 4        # of a request at depth 1: the loop device, the daemon, its timer, fio


class WrongSpeed(AssertionError):
    def __init__(self, message, cpu_idle):
        super().__init__(message)
        self.cpu_idle = cpu_idle


def near(what, measured, expected, cpu_idle, tolerance=TOLERANCE):
    line = "%s: %.4g, expected %.4g (%+.1f %%)" % (what, measured, expected, 100 * (measured / expected - 1))
    print("   ", line)
    if abs(measured - expected) > tolerance * expected:
        raise WrongSpeed(line, cpu_idle)


def at_least(what, measured, bound, cpu_idle):
    if measured < bound:
        raise WrongSpeed("%s: %.4g is less than %.4g" % (what, measured, bound), cpu_idle)


def at_most(what, measured, bound, cpu_idle):
    if measured > bound:
        raise WrongSpeed("%s: %.4g is more than %.4g" % (what, measured, bound), cpu_idle)


def service_time(rw, block):
    return block / RATE + (SEEK if "rand" in rw else 0)


def fresh(lab, name, model=MODEL):
    lab.ask("add %s %d %s" % (name, SIZE, model))
    return lab.attach(name)


def remove(lab, name, loop):
    lab.detach(loop)
    wait_for(lambda: lab.ask("status " + name)["opens"] == "0", 10, "the loop device does not let go of " + name)
    lab.ask("remove " + name)


# The model

def deep_queues_run_at_the_configured_speed(lab):
    loop = fresh(lab, "deep")
    for rw, depth in (("read", 4), ("read", 16), ("randread", 4), ("randread", 16), ("write", 4), ("randwrite", 16)):
        seen = watch_fio(loop, rw, BLOCK, depth, 2.5)
        iops = 1 / service_time(rw, BLOCK)
        what = "%s, depth %d: " % (rw, depth)
        near(what + "requests/s", seen.iops, iops, seen.cpu_idle)
        near(what + "bytes/s", seen.rate, iops * BLOCK, seen.cpu_idle)
        near(what + "await, s", seen.await_s, depth / seen.iops, seen.cpu_idle)
        at_least(what + "util", seen.util, 0.99, seen.cpu_idle)
    remove(lab, "deep", loop)


def lateness():
    """How late this machine wakes a sleeper now, in seconds: what a disk of software cannot be better than."""
    begun, pause, count = time.monotonic(), 0.004, 100
    for _ in range(count):
        time.sleep(pause)
    return (time.monotonic() - begun) / count - pause


def one_request_at_a_time_takes_its_service_time(lab):
    loop = fresh(lab, "single")
    for rw, block in (("read", BLOCK), ("randread", 4096), ("randwrite", 4096)):
        late = lateness()
        seen = watch_fio(loop, rw, block, 1, 2)
        late = max(late, lateness())
        service = service_time(rw, block)
        line = "%s of %d at depth 1: await %.6f s, service time %.6f s; sleepers wake %.6f s late" % (
            rw, block, seen.await_s, service, late)
        print("   ", line)
        at_least(line, seen.await_s, service * 0.99, seen.cpu_idle)
        at_most(line, seen.await_s, service + max(0.0003, WAKE_UPS * late), seen.cpu_idle)
    remove(lab, "single", loop)


def hidden_load_never_shows_in_the_device(lab):
    loop = fresh(lab, "busy")
    before, counted = Snap(loop), lab.counters("busy")
    lab.ask("hidden busy share=0.5 for=30s")
    time.sleep(1.5)
    after, seen = Snap(loop), lab.counters("busy")
    check(after.requests == before.requests and after.busy_ms == before.busy_ms, "hidden load alone shows in the device")
    check(seen["read_requests"] == counted["read_requests"], "hidden load is counted as the device's")
    hidden_s = (seen["hidden_busy_ns"] - counted["hidden_busy_ns"]) / 1e9
    near("hidden load alone, s of 1.5 s", hidden_s, 0.75, Between(before, after).cpu_idle, 0.34)
    for rw, depth, total in (("read", 4, 12_000_000), ("randread", 1, 1_500_000)):
        block = BLOCK if depth > 1 else 4096
        before, counted = Snap(loop), lab.counters("busy")
        figures = fio(loop, rw, block, depth, "--io_size=%d" % total, "--size=%d" % SIZE)
        after, seen = Snap(loop), lab.counters("busy")
        seconds = after.t - before.t
        sent = figures["io_bytes"]
        device = Between(before, after)
        check(seen["read_bytes"] - counted["read_bytes"] == device.bytes >= sent,
              "the daemon served %d bytes, the device counted %d, fio read %d" %
              (seen["read_bytes"] - counted["read_bytes"], device.bytes, sent))
        check(device.bytes - sent <= 1 << 20, "the device moved %d bytes that nobody asked for" % (device.bytes - sent))
        check(sum(device_bytes(lab, "busy")) == seen["read_bytes"] + seen["write_bytes"], "counters do not add up")
        hidden = (seen["hidden_busy_ns"] - counted["hidden_busy_ns"]) / 1e9 / seconds
        near("share of hidden load against %s at depth %d" % (rw, depth), hidden, 0.5, device.cpu_idle, 0.1)
        if depth > 1:
            near("bytes/s beside hidden load", figures["bw_bytes"], RATE / 2, device.cpu_idle)
    lab.ask("heal busy")
    remove(lab, "busy", loop)


def device_bytes(lab, name):
    counters = lab.counters(name)
    return counters["read_bytes"], counters["write_bytes"]


def read_seconds(loop, offset):
    begun = time.monotonic()
    direct_read(loop, offset)
    return time.monotonic() - begun


def slowness_heals_itself(lab):
    loop = fresh(lab, "slow")
    direct_read(loop)
    lab.ask("slow slow factor=20 for=60s")
    slow_s = read_seconds(loop, 64 << 20)
    check(slow_s >= 20 * SEEK, "a slowed request took %.4f s" % slow_s)
    lab.ask("slow slow factor=20 for=1s")
    lab.ask("slow slow factor=20 for=60s")
    time.sleep(1.1)
    check(lab.ask("status slow")["active"] == "slow", "asking again did not prolong it")
    lab.ask("slow slow factor=20 for=1s")
    wait_for(lambda: lab.ask("status slow")["active"] == "", 20, "the deadline passed and it is still slow")
    check(min(read_seconds(loop, offset << 20) for offset in (128, 32, 192)) < 10 * SEEK, "it is still slow after its deadline")
    remove(lab, "slow", loop)


# Errors and hangs

def failure_is_eio_and_ends(lab):
    loop = fresh(lab, "fail")
    run("dd", "if=/dev/zero", "of=" + loop, "bs=64k", "count=1", "oflag=direct")
    errors = lab.counters("fail")["errors"]
    lab.ask("fail fail for=60s")
    begun = time.monotonic()
    for _ in range(5):
        expect_eio(lambda: direct_read(loop))
    check(time.monotonic() - begun > 5 * 0.0002, "errors come at once: callers that retry would spin")
    check(lab.counters("fail")["errors"] == errors + 5, "errors are not counted")
    lab.ask("fail fail for=1s")
    wait_for(lambda: lab.ask("status fail")["active"] == "", 20, "the failure does not end")
    check(direct_read(loop) == 4096, "it does not read after its deadline")
    remove(lab, "fail", loop)


def expect_eio(action):
    try:
        action()
    except OSError as error:
        check(error.errno == errno.EIO, "%s instead of EIO" % error)
        return
    raise AssertionError("a failing disk answered")


def flakiness_repeats_with_its_seed(lab):
    loop = fresh(lab, "flaky", "none")

    def pattern():
        lab.ask("heal flaky")
        lab.ask("flaky flaky probability=0.3 seed=7 for=60s")
        return "".join("." if reads(loop, i) else "x" for i in range(60))

    first = pattern()
    check(8 <= first.count("x") <= 30, "30 % of the requests should fail: " + first)
    check(pattern() == first, "the same seed gave another pattern")
    lab.ask("heal flaky")
    remove(lab, "flaky", loop)


def reads(loop, number):
    try:
        return direct_read(loop, number * 4096) == 4096
    except OSError:
        return False


def a_hung_disk_answers_again(lab):
    loop = fresh(lab, "hang")
    for ending in ("heal", "deadline"):
        lab.ask("hang hang for=%s" % ("60s" if ending == "heal" else "4s"))
        result = []
        reader = threading.Thread(target=lambda: result.append(direct_read(loop)), daemon=True)
        reader.start()
        wait_for(lambda: lab.ask("status hang")["queued"] == "1", 3, "the request does not wait")
        time.sleep(0.4)
        check(not result, "a hung disk answered")
        if ending == "heal":
            lab.ask("heal hang hang")
        reader.join(30)
        check(result == [4096], "no answer after the %s: %s" % (ending, result))
    remove(lab, "hang", loop)


# What is stored

def digest(path, start=0):
    whole = hashlib.sha256()
    with open(path, "rb") as file:
        file.seek(start)
        while block := file.read(1 << 20):
            whole.update(block)
    return whole.hexdigest()


def restore_is_identical(lab):
    loop = fresh(lab, "saved", "none")
    with open(loop, "r+b") as device:
        device.seek(100 << 20)
        device.write(os.urandom(20_000_000))
        os.fsync(device.fileno())
    image = os.path.join(lab.path("images"), "saved.img")
    before, blocks = digest(loop), os.stat(image).st_blocks
    check(digest(image) == before, "the device and its image differ")
    lab.ask("snapshot saved")
    run("dd", "if=/dev/urandom", "of=" + loop, "bs=1M", "count=150", "conv=notrunc")  # through the page cache: dirty
    check(digest(loop) != before, "nothing changed")
    lab.ask("restore saved")
    check(digest(loop) == before, "the device does not show the restored bytes")
    check(digest(image) == before, "the restored image differs")
    check(os.stat(image).st_blocks <= blocks + 64, "holes were filled: %d blocks, before %d" % (os.stat(image).st_blocks, blocks))
    refuses_while_mounted(lab, loop)
    lab.ask("restore saved")
    check(digest(loop) == before, "restored again, it differs")
    remove(lab, "saved", loop)


def refuses_while_mounted(lab, loop):
    """The mount is in a namespace that the daemon does not see."""
    run("mkfs.ext4", "-q", "-F", loop)
    script = "mkdir -p %s && mount %s %s && echo mounted && read line; umount %s" % ((lab.path("fs"), loop) + (lab.path("fs"),) * 2)
    other = subprocess.Popen(["unshare", "-m", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    lab.children.append(other)
    check(other.stdout.readline() == "mounted\n", "cannot mount the disk")
    try:
        lab.ask("restore saved")
        raise AssertionError("a mounted disk was restored")
    except Refused as refusal:
        check("mounted" in str(refusal), str(refusal))
    other.communicate("\n", timeout=20)


def a_killed_daemon_leaves_nobody_stuck(lab):
    loop = fresh(lab, "killed")
    lab.ask("model killed none")
    run("dd", "if=/dev/urandom", "of=" + loop, "bs=1M", "count=40", "oflag=direct")
    before = digest(os.path.join(lab.path("images"), "killed.img"))
    lab.ask("model killed " + MODEL)
    lab.ask("hang killed for=60s")
    readers = [subprocess.Popen(fio_command(loop, "randread", 4096, depth, "--runtime=60", "--time_based"),
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for depth in (1, 8)]
    lab.children += readers
    wait_for(lambda: int(lab.ask("status killed")["queued"]) >= 9, 10, "fio does not begin")
    lab.kill(signal.SIGKILL)
    for reader in readers:
        check(reader.wait(10) != 0, "fio did not notice the death of its disk")
    lab.detach(loop)
    check(not os.path.ismount(lab.mount), "the mount of the dead daemon is still there")
    lab.start()
    check(lab.ask("status killed")["rate"] == str(RATE), "the new daemon forgot the model")
    lab.ask("model killed none")
    loop = lab.attach("killed")
    check(digest(loop) == before, "the new daemon has other bytes")
    remove(lab, "killed", loop)


def two_daemons_never_serve_one_folder(lab):
    other = subprocess.run([lab.program, "--folder", lab.path("images"), "--socket", lab.path("other"), "--mount", lab.mount],
                           capture_output=True, text=True, timeout=20)
    check(other.returncode == 1 and "another culprit-disk serves" in other.stderr, other.stderr)


def nonsense_on_the_socket_hurts_nobody(lab):
    for line in (b"\0\n", b"\xff\xfe\n", b"x" * 100_000, b"add " + b"y" * 900 + b" 1GB\n", b"slow s factor=1e999 for=1s\n", b""):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(lab.socket)
            try:
                client.sendall(line)
                client.settimeout(5)
                if line.endswith(b"\n"):
                    check(client.recv(4096).startswith(b"error "), "%r was taken" % line[:20])
            except (BrokenPipeError, ConnectionResetError):
                pass
    check("pid" in lab.ask("list"), "the daemon does not answer any more")


def quit_leaves_nothing(lab):
    lab.ask("quit")
    check(lab.daemon.wait(10) == 0, "quit did not end the daemon cleanly")
    check(not os.path.exists(lab.socket), "the socket is still there")


CHECKS = [deep_queues_run_at_the_configured_speed, one_request_at_a_time_takes_its_service_time,
          hidden_load_never_shows_in_the_device, slowness_heals_itself, failure_is_eio_and_ends,
          flakiness_repeats_with_its_seed, a_hung_disk_answers_again, restore_is_identical,
          a_killed_daemon_leaves_nobody_stuck, two_daemons_never_serve_one_folder,
          nonsense_on_the_socket_hurts_nobody, quit_leaves_nothing]


def attempt(build, one):
    with DiskLab(build) as lab:
        one(lab)


def judge(build, one):
    """False when the CPUs had no time for it: then nothing is said about the disk."""
    print("  ", one.__name__, flush=True)
    for left in reversed(range(ATTEMPTS)):
        try:
            attempt(build, one)
            return True
        except WrongSpeed as wrong:
            print("    wrong: %s; the CPUs had %.1f %% idle time" % (wrong, 100 * wrong.cpu_idle))
            if not left:
                if wrong.cpu_idle >= IDLE_ENOUGH:
                    raise
                return False
        time.sleep(5)


def main():
    need_root_and_tools("fio", "losetup", "mkfs.ext4")
    build = sys.argv[1] if len(sys.argv) > 1 else "build"
    wanted = sys.argv[2:]
    unjudged = [one.__name__ for one in CHECKS if (not wanted or one.__name__ in wanted) and not judge(build, one)]
    if unjudged:
        print("skipped: the machine is too busy to judge " + ", ".join(unjudged))
        sys.exit(77)
    print("virtual disks behave as their model says")


if __name__ == "__main__":
    main()
