"""What the system tests of `culprit record` share: a scratch folder, starting and reading recordings, skipping."""
import ctypes
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

SKIPPED = 77


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIPPED)


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def wait_for(condition, seconds, message):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(message)


def children_of(pid):
    """The processes that a process of one thread has started and not yet waited for."""
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as text:
            return [int(word) for word in text.read().split()]
    except OSError:  # it has ended
        return []


def adopt_orphans():
    """What our children leave running becomes ours, so that it can be ended by its number."""
    subreaper = 36  # PR_SET_CHILD_SUBREAPER
    ctypes.CDLL(None).prctl(subreaper, 1, 0, 0, 0)


def end_orphans(seconds=5):
    """Samplers and ssh sessions end by themselves when their recorder does; whatever has not ended by then is killed."""
    end = time.monotonic() + seconds
    while left := children_of(os.getpid()):
        for pid in left:
            if time.monotonic() > end:
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, os.WNOHANG)
        time.sleep(0.02)


class Witness:
    """How long this machine let a thread wait that wants to run every 5 ms: what it did to itself, it did to the recorder."""

    def __init__(self):
        self.longest_ns = 0
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        last = time.monotonic_ns()
        while True:
            time.sleep(0.005)
            now = time.monotonic_ns()
            self.longest_ns = max(self.longest_ns, now - last)
            last = now


class Bench:
    """A scratch folder with its own registry, so that recordings of other users of this machine do not matter."""

    def __init__(self, memory=False):
        self.build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
        self.culprit = os.path.join(self.build, "culprit")
        if not os.access(self.culprit, os.X_OK):
            skip("there is no " + self.culprit)
        base = "/dev/shm" if memory and os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="culprit-system-", dir=base)
        os.mkdir(self.path("registry"), 0o700)
        self.env = dict(os.environ, CULPRIT_RUNTIME_DIR=self.path("registry"))
        self.children = []
        self.cleanups = []

    def __enter__(self):
        adopt_orphans()
        for number in (signal.SIGTERM, signal.SIGHUP):  # Ctrl-C is an exception already: clean up then, too
            signal.signal(number, lambda number, _: sys.exit(128 + number))
        return self

    def __exit__(self, *_):
        for child in self.children:
            if child.poll() is None:
                child.kill()
                child.wait()
        end_orphans()
        for cleanup in reversed(self.cleanups):
            try:
                cleanup()
            except (OSError, subprocess.SubprocessError) as error:  # the others must still be done
                print("cleaning up:", error, file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words, timeout=60, input=None):
        return subprocess.run([self.culprit, *words], env=self.env, cwd=self.folder, capture_output=True, text=True,
                              timeout=timeout, input=input)

    def start(self, *words):
        log = open(self.path("log-%d" % len(self.children)), "w+")
        child = subprocess.Popen([self.culprit, *words], env=self.env, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT)
        child.log = log
        self.children.append(child)
        return child

    def output(self, child):
        child.log.flush()
        with open(child.log.name) as text:
            return text.read()

    def stop(self, child, number=signal.SIGINT, timeout=30):
        child.send_signal(number)
        code = child.wait(timeout)
        return code, self.output(child)

    def samples(self, run, node=None):
        """How many samples a run, open or closed, has; 0 while it does not exist."""
        try:
            rows = query(run, "select count(*) from sample" + ("" if node is None else " where node=%d" % node))
        except (sqlite3.Error, FileNotFoundError):
            return 0
        return rows[0][0]


def database(run):
    for path in (run, run + ".partial"):
        if os.path.exists(os.path.join(path, "metrics.sqlite")):
            return os.path.join(path, "metrics.sqlite")
    raise FileNotFoundError(run)


def query(run, sql):
    connection = sqlite3.connect("file:%s?mode=ro" % database(run), uri=True, timeout=10)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def manifest(run):
    with open(os.path.join(run, "manifest.json")) as text:
        return json.load(text)
