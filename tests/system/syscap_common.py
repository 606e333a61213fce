"""What the system tests of `culprit syscap` share: captures and their events, strace's text as the same events, and the
programs of tests/trace, which tell what a tracer must have seen of them."""
import errno
import glob
import json
import mmap
import os
import re
import shutil
import signal
import struct
import subprocess
from dataclasses import dataclass, field

from record_common import check, wait_for

# What the kernel returns inside and no program ever sees: it has not yet decided between EINTR and a restart.
RESTARTS = {"ERESTARTSYS": 512, "ERESTARTNOINTR": 513, "ERESTARTNOHAND": 514, "ERESTART_RESTARTBLOCK": 516}
ERRNO = {name: number for number, name in errno.errorcode.items()} | RESTARTS | {"EAGAIN": errno.EAGAIN, "ENOTSUPP": 524}
UNFINISHED = "?"


@dataclass
class Event:
    """One record of a tracer. `outcome`: a call's result, -errno when it failed, "?" when it never returned; an end's status."""
    sequence: int
    process: int
    thread: int
    kind: str
    name: str
    outcome: object
    number: int = 0
    args: list = field(default_factory=list)
    asked: object = None
    target: str = ""
    fd_class: str = ""
    duration_s: object = None


def is_restart(outcome):
    return isinstance(outcome, int) and -outcome in RESTARTS.values()


def event_of(row):
    """A line of `syscap show --format jsonl`."""
    outcome = UNFINISHED if row["kind"] == "call" and row["duration_s"] is None else row["result"]
    return Event(row["sequence"], row["process"], row["thread"], row["kind"], row["name"], outcome, row["number"], row["args"],
                 row["bytes_asked"], row["target"], row["class"], row["duration_s"])


def show(bench, run, *words):
    done = bench.run("syscap", "show", run, *words, timeout=120)
    check(done.returncode == 0, "show %s: %s" % (run, done.stderr))
    return done.stdout


def events_of(bench, run, *words):
    """In the order of their start."""
    rows = [json.loads(line) for line in show(bench, run, "--format", "jsonl", *words).splitlines()]
    return sorted((event_of(row) for row in rows), key=lambda event: event.sequence)


def program(bench, name):
    path = os.path.join(bench.build, "trace", name)
    check(os.access(path, os.X_OK), "there is no " + path)
    return path


def backends():
    """Those that can be tested here, and why the others cannot."""
    if os.geteuid() == 0:
        return ["ebpf", "ptrace"]
    print("left out: ebpf, which needs root")
    return ["ptrace"]


def capture(bench, backend, run, command, cwd, options=()):
    """Runs a command under `culprit syscap`. Its exit code is the command's."""
    words = [bench.culprit, "syscap", "--backend", backend, "--quiet", *options, "--out", run, "--", *command]
    return subprocess.run(words, env=bench.env, cwd=cwd, capture_output=True, text=True, timeout=60)


def logs_of(run):
    """The sclogs of a run, open or closed."""
    return sorted(glob.glob(run + "*/syscalls/*.sclog"))


def wait_for_log(bench, run, child, size=4096):
    """Until a capture is at work: something beyond the header has been written."""
    def there():
        check(child.poll() is None, "the capture has ended: " + bench.output(child))
        return any(os.path.getsize(path) > size for path in logs_of(run))
    wait_for(there, 30, "no calls come")


# --- strace ---

STRACE = ["strace", "-f", "-ttt", "-T", "-yy", "-s", "0"]
STRACE_LINE = re.compile(r"^(\d+) +(\d+\.\d+) (.*)$")
STRACE_CALL = re.compile(r"^(\w+)\(.*\) += (-?\d+|0x[0-9a-f]+|\?)(?:<.*>)?(?: ([A-Z][A-Z0-9_]+))?(?: .*)?$", re.DOTALL)
STRACE_OPEN = re.compile(r"^(\w+)\(.* ?<(?:unfinished|pid changed to (\d+)) \.\.\.>$")
STRACE_SUPERSEDED = re.compile(r"\+\+\+ superseded by execve in pid (\d+)")
STRACE_RESUMED = re.compile(r"^<\.\.\. (\w+) resumed>(.*)$")


def strace_outcome(text):
    """(name, outcome) of a whole call."""
    match = STRACE_CALL.match(text)
    check(match, "strace wrote a line that this test cannot read: " + text)
    name, result, error = match.groups()
    if error in ERRNO and result in ("-1", "?"):
        return name, -ERRNO[error]
    return name, UNFINISHED if result == "?" else int(result, 0)


def strace_end(text):
    """The status of wait(2) that "+++ ... +++" stands for; None: a thread that exec replaced."""
    if "superseded" in text:
        return None
    word = re.search(r"exited with (\d+)|killed by (SIG\w+)( \(core dumped\))?", text)
    if word.group(1):
        return int(word.group(1)) << 8
    return signal.Signals[word.group(2)] | (0x80 if word.group(3) else 0)


class StraceText:
    """strace's lines as events. Its own small reader: the one in culprit is among the things that are tested."""

    def __init__(self):
        self.events, self.open = [], {}

    def add(self, thread, kind, name, outcome):
        event = Event(len(self.events), 0, thread, kind, name, outcome)
        self.events.append(event)
        return event

    def line(self, thread, text):
        if text.startswith("---"):
            if not text.startswith("--- stopped by"):
                self.add(thread, "signal", text.split()[1], None)
        elif match := STRACE_SUPERSEDED.match(text):  # a thread that is not the leader execs and becomes it
            if old := self.open.pop(int(match.group(1)), None):
                self.open[thread] = old
                old.thread = thread
        elif text.startswith("+++"):
            status = strace_end(text)
            if status is not None:
                self.add(thread, "exit", "exit", status)
        elif match := STRACE_RESUMED.match(text):
            event = self.open.pop(thread)
            event.outcome = strace_outcome(event.name + "(" + match.group(2))[1]
        elif match := STRACE_OPEN.match(text):
            event = self.add(int(match.group(2) or thread), "call", match.group(1), UNFINISHED)
            self.open[event.thread] = event
        else:
            self.add(thread, "call", *strace_outcome(text))


def strace_events(path):
    reader = StraceText()
    with open(path, errors="replace") as text:
        for line in text:
            match = STRACE_LINE.match(line.rstrip("\n"))
            check(match, "strace wrote a line without a time: " + line)
            reader.line(int(match.group(1)), match.group(3))
    return reader.events


# --- what the programs tell ---

@dataclass
class Told:
    """A line of tests/trace/expect.h."""
    word: str
    thread: int
    name: str = ""
    args: list = field(default_factory=list)
    outcome: object = None
    extra: dict = field(default_factory=dict)
    text: str = ""


def told_call(words, line):
    count = int(words[3])
    args = [int(word, 16) for word in words[4:4 + count]]
    check(words[4 + count] == "=", line)
    outcome = words[5 + count]
    extra = dict(word.split("=", 1) for word in words[6 + count:])
    return Told("CALL", int(words[1]), words[2], args, outcome if outcome == UNFINISHED else int(outcome), extra, line)


def told_completion(words, line):
    split = words.index("=")
    return Told(words[0], int(words[1]), words[2], words[3:split], int(words[split + 1]), {}, line)


def read_told(path):
    told = []
    with open(path) as text:
        for line in text:
            words = line.split()
            if words[0] == "CALL":
                told.append(told_call(words, line.strip()))
            elif words[0] in ("AIO", "URING"):
                told.append(told_completion(words, line.strip()))
            elif words[0] == "UNSEEN":
                told.append(Told("UNSEEN", 0, outcome=int(words[1]), text=line.strip()))
            elif words[0] == "EXIT":
                told.append(Told("EXIT", int(words[1]), outcome=int(words[2]), text=line.strip()))
            elif words[0] == "COUNT":
                told.append(Told("COUNT", int(words[1]), words[2], outcome=int(words[3]), text=line.strip()))
            else:  # SIGNAL, IGNORED
                extra = {key: int(value) for key, value in (word.split("=") for word in words[3:])}
                told.append(Told(words[0], int(words[1]), words[2], extra=extra, text=line.strip()))
    return told


# --- a server to attach to ---

class TracedServer:
    """tests/trace/traced_server: its rounds per thread, and how many of its calls failed."""

    def __init__(self, bench, folder=None, before=()):
        """`before`: words in front of its own, of a program that becomes it (unshare)."""
        folder = folder or bench.path("bricks")
        os.makedirs(folder, exist_ok=True)
        self.counters = bench.path("counters")
        with open(self.counters, "wb") as out:
            out.write(bytes(40))
        self.process = subprocess.Popen([*before, program(bench, "traced_server"), self.counters, folder])
        bench.children.append(self.process)
        self.pid = self.process.pid
        with open(self.counters, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 40)
        wait_for(lambda: all(self.rounds()), 10, "the server does not begin")

    def rounds(self):
        return struct.unpack_from("4Q", self.memory)

    def failed(self):
        return struct.unpack_from("Q", self.memory, 32)[0]

    def status(self, key):
        with open("/proc/%d/status" % self.pid) as text:
            return next(line.split()[1] for line in text if line.startswith(key + ":"))

    def check_well(self, when):
        """All four threads go on, no call has failed, nobody traces it."""
        check(self.process.poll() is None, "%s: the server has ended with %s" % (when, self.process.returncode))
        before = self.rounds()
        wait_for(lambda: all(now > then for now, then in zip(self.rounds(), before)), 5,
                 "%s: a thread of the server stands still: %s, %s" % (when, before, self.rounds()))
        check(self.failed() == 0, "%s: %d calls of the server failed" % (when, self.failed()))
        check(self.status("TracerPid") == "0", "%s: it is still traced" % when)

    def end(self):
        self.process.kill()
        self.process.wait()


def fresh_folder(path):
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path
