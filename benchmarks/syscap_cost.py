#!/usr/bin/env python3
"""What does a capture of system calls cost, and what does it lose?

  postmark  PostMark on ext4 on a loop device on tmpfs, under every tracer there is: wall time / plain
  calls     a 1-byte pread loop: ns added per traced call
  others    the same loop in a process that is not traced while a capture of another one runs
  loss      a million calls a second from two paced threads for ten seconds, 256 MiB of buffer: how many are missing?
  bytes     bytes per event, fdlog included, of the logs of a run (--run RUN, made on a lab under load)

Contestants and the plain program run in pairs, one right after the other, and which of both is first alternates. The tables
have medians over the pairs and 95 % bootstrap intervals of the medians. The time of a program is taken inside the capture,
so that starting and ending a tracer does not count. All output is written, to tmpfs. It needs root.

    benchmarks/syscap_cost.py BUILD [--parts postmark,calls,others,loss] [--pairs 15] [--run RUN --parts bytes]
"""
import argparse
import atexit
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree stays clean
from common import end_in_order, machine, median, run_folder, table

POSTMARK = "set location {folder}\nset number 1000\nset transactions {transactions}\nset size 500 10000\nset seed 42\nrun\nquit\n"
IMAGE_MB = 1024
RESAMPLES = 4000
BUFFER = "256MiB"
ONE_CPU = ["taskset", "-c", "0"]  # a tracer by ptrace is several times faster beside its tracee: compare equals with equals


def interval(values, seed=1):
    """95 % of the medians of resampled values."""
    chance = random.Random(seed)
    medians = sorted(median(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[int(RESAMPLES * 0.025)], medians[int(RESAMPLES * 0.975)]


def with_interval(values, form):
    low, high = interval(values)
    return f"{form(median(values))} ({form(low)}-{form(high)})"


class Bench:
    """A scratch folder in memory, and the words that put a tracer before a command."""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.culprit = os.path.join(self.build, "culprit")
        self.folder = tempfile.mkdtemp(prefix="culprit-cost-", dir="/dev/shm")
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        os.mkdir(self.path("registry"), 0o700)
        os.environ["CULPRIT_RUNTIME_DIR"] = self.path("registry")

    def path(self, name):
        return os.path.join(self.folder, name)

    def program(self, name):
        return os.path.join(self.build, "trace", name)

    def syscap(self, backend, *options):
        return [self.culprit, "syscap", "--backend", backend, "--quiet", *options, "--out", self.path("capture.run"), "--"]

    def tracers(self):
        """name -> the words before a command; those that are not installed or do not work here are left out, loudly."""
        found = {
            "ebpf, records": self.syscap("ebpf"),
            "ebpf, aggregate": self.syscap("ebpf", "--aggregate"),
            "perf trace record": ["perf", "trace", "record", "-q", "-o", self.path("perf.data")],
            "ptrace": self.syscap("ptrace"),
            "strace -f": ["strace", "-f", "-o", self.path("strace.txt")],
            "ptrace, one CPU": ONE_CPU + self.syscap("ptrace"),
            "strace -f, one CPU": ONE_CPU + ["strace", "-f", "-o", self.path("strace.txt")],
        }
        for name, words in list(found.items()):
            why = self.cannot(words)
            if why:
                print(f"left out: {name}: {why}", file=sys.stderr)
                del found[name]
        return found

    def cannot(self, words):
        """Why a tracer cannot be used; "" when it can."""
        if not shutil.which(words[0]):
            return "it is not installed"
        done = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
        self.clear()
        return "" if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"

    def clear(self):
        """Removes what the last capture has written."""
        for name in ("capture.run", "capture.run.partial"):
            shutil.rmtree(self.path(name), ignore_errors=True)
        for name in ("perf.data", "strace.txt"):
            if os.path.exists(self.path(name)):
                os.remove(self.path(name))

    def run(self, words, **options):
        done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done


def stops_at_each_call(name):
    """ptrace and strace are tens of times slower: a part of the work is enough to measure that."""
    return name.startswith(("ptrace", "strace"))


def pairs(count, plain, traced):
    """[(plain, traced)]; each of both is first in every other pair."""
    rows = []
    for number in range(count):
        if number % 2 == 0:
            one = plain()
            rows.append((one, traced()))
        else:
            other = traced()
            rows.append((plain(), other))
    return rows


# --- PostMark ---

class LoopDisk:
    """ext4 on a loop device on tmpfs."""

    def __init__(self, bench):
        self.image, self.folder = bench.path("disk.img"), bench.path("disk")
        with open(self.image, "wb") as out:
            out.truncate(IMAGE_MB << 20)
        os.mkdir(self.folder)
        bench.run(["mkfs.ext4", "-q", "-F", self.image])
        bench.run(["mount", "-o", "loop", self.image, self.folder])
        atexit.register(subprocess.run, ["umount", "-l", self.folder], check=False)


def postmark_seconds(bench, disk, words, transactions):
    work = os.path.join(disk.folder, "work")
    shutil.rmtree(work, ignore_errors=True)
    os.mkdir(work)
    config = bench.path("postmark.cfg")
    with open(config, "w") as text:
        text.write(POSTMARK.format(folder=work, transactions=transactions))
    os.sync()
    bench.clear()
    bench.run([*words, bench.program("traced_timer"), bench.path("took"), "postmark", config])
    with open(bench.path("took")) as text:
        return int(text.read()) / 1e9


def postmark(bench, args):
    disk = LoopDisk(bench)
    rows, seconds = [], {}
    for name, words in bench.tracers().items():
        transactions = args.transactions // 10 if stops_at_each_call(name) else args.transactions
        plain_words = ONE_CPU if "one CPU" in name else []
        both = pairs(args.pairs, lambda: postmark_seconds(bench, disk, plain_words, transactions),
                     lambda: postmark_seconds(bench, disk, words, transactions))
        seconds[name] = [traced for _, traced in both]
        rows.append([name, transactions, f"{median([p for p, _ in both]):.2f}", f"{median(seconds[name]):.2f}",
                     with_interval([traced / plain for plain, traced in both], lambda v: f"{v:.3f}")])
        print(f"{name}: {rows[-1][-1]}", file=sys.stderr, flush=True)
    table(["tracer", "transactions", "plain, s", "traced, s", "of plain (95 %)"], rows)
    print()
    against_strace(bench, disk, args)


def against_strace(bench, disk, args):
    """ptrace and strace in pairs of their own, because both are to be compared with each other."""
    tracers, rows = bench.tracers(), []
    for suffix in ("", ", one CPU"):
        names = ["strace -f" + suffix, "ptrace" + suffix]
        if not all(name in tracers for name in names):
            continue
        seconds = [lambda words=tracers[name]: postmark_seconds(bench, disk, words, args.transactions // 10) for name in names]
        ratios = [ours / theirs for theirs, ours in pairs(args.pairs, *seconds)]
        rows.append(["one CPU for both" if suffix else "any CPU", with_interval(ratios, lambda v: f"{v:.3f}")])
    table(["affinity", "ptrace / strace -f (95 %)"], rows)


# --- single calls ---

def loop_ns(bench, words, count):
    """ns per call, as the program has measured itself. It writes to a file: a tracer's own words must not get in between."""
    bench.clear()
    command = f"exec '{bench.program('traced_load')}' loop {count} '{bench.path('byte')}' > '{bench.path('ns')}'"
    bench.run([*words, "sh", "-c", command])
    with open(bench.path("ns")) as text:
        return float(text.read())


def calls(bench, args):
    rows = []
    for name, words in bench.tracers().items():
        count = args.loop // 20 if stops_at_each_call(name) else args.loop
        plain_words = ONE_CPU if "one CPU" in name else []
        both = pairs(args.pairs, lambda: loop_ns(bench, plain_words, count), lambda: loop_ns(bench, words, count))
        rows.append([name, f"{median([p for p, _ in both]):.0f}", f"{median([t for _, t in both]):.0f}",
                     with_interval([traced - plain for plain, traced in both], lambda v: f"{v:.0f}")])
        print(f"{name}: {rows[-1][-1]} ns added", file=sys.stderr, flush=True)
    table(["tracer", "plain, ns per call", "traced, ns per call", "added (95 %)"], rows)


def beside_a_capture(bench, options, count):
    """The loop, untraced, while another process is captured."""
    sleeper = subprocess.Popen(["sleep", "600"])
    bench.clear()
    words = [bench.culprit, "syscap", "--backend", "ebpf", "--quiet", *options, "--pid", str(sleeper.pid), "--out",
             bench.path("capture.run")]
    tracer = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(2)  # the probes are in place by then
        if tracer.poll() is not None:
            sys.exit("the capture has ended: " + tracer.stderr.read())
        command = [bench.program("traced_load"), "loop", str(count), bench.path("byte")]
        return float(bench.run(command).stdout)
    finally:
        tracer.send_signal(2)
        tracer.wait(30)
        sleeper.kill()
        sleeper.wait()


def others(bench, args):
    rows = []
    for name, options in (("ebpf, records", []), ("ebpf, aggregate", ["--aggregate"])):
        both = pairs(args.pairs, lambda: loop_ns(bench, [], args.loop), lambda: beside_a_capture(bench, options, args.loop))
        rows.append([name, f"{median([p for p, _ in both]):.0f}", f"{median([t for _, t in both]):.0f}",
                     with_interval([beside - plain for plain, beside in both], lambda v: f"{v:.0f}")])
    table(["capture of another process", "alone, ns per call", "beside it, ns per call", "added (95 %)"], rows)


# --- loss and size ---

def numbers_in(report, key):
    """All values of a key, wherever a JSON report has it."""
    parts = report.values() if isinstance(report, dict) else report if isinstance(report, list) else []
    own = [report[key]] if isinstance(report, dict) and isinstance(report.get(key), (int, float)) else []
    return own + [value for part in parts for value in numbers_in(part, key)]


def loss(bench, args):
    rows = []
    for number in range(args.loss_runs):
        bench.clear()
        out = bench.path("paced")
        command = f"exec '{bench.program('traced_load')}' paced 2 {args.rate} {args.seconds} '{bench.path('byte')}' > '{out}'"
        done = bench.run(bench.syscap("ebpf", "--json", "--buffer", BUFFER) + ["sh", "-c", command])
        with open(out) as text:
            words = text.read().split()
        report = json.loads(done.stdout[done.stdout.index("{"):])
        made, seconds, late = int(words[0]), float(words[2]), int(words[4])
        logged, lost = max(numbers_in(report, "calls")), max(numbers_in(report, "lost"))
        rows.append([number + 1, f"{made / seconds / 1e6:.3f}", made, logged, lost, late,
                     f"{log_bytes(run_folder(bench.path('capture'))) / max(logged, 1):.2f}"])
    table(["run", "calls/s, M", "calls made", "events logged", "events lost", "ticks late", "bytes per event"], rows)


def log_bytes(run, node=None):
    folder = os.path.join(run, "syscalls")
    names = [name for name in os.listdir(folder) if node is None or name.rsplit(".", 1)[0] == node]
    return sum(os.path.getsize(os.path.join(folder, name)) for name in names)


def sizes(bench, args):
    if not args.run:
        sys.exit("bytes: which run? --run RUN")
    run, rows = run_folder(args.run), []
    nodes = sorted(name[:-6] for name in os.listdir(os.path.join(run, "syscalls")) if name.endswith(".sclog"))
    for node in nodes:
        words = [bench.culprit, "syscap", "show", run, "--node", node, "--format", "csv"]
        shown = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        threads, count = set(), -1  # the first line has the names
        for line in shown.stdout:
            count += 1
            threads.add(line.split(b",", 3)[2])
        if shown.wait() != 0:
            sys.exit(f"{node} cannot be read")
        total = log_bytes(run, node)
        rows.append([node, count, len(threads) - 1, f"{total / 1e6:.2f}", f"{total / max(count, 1):.2f}"])
    table(["node", "events", "threads", "MB, both logs", "bytes per event"], rows)


PARTS = {"postmark": postmark, "calls": calls, "others": others, "loss": loss, "bytes": sizes}


def main():
    end_in_order()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="build folder with culprit and trace/ (release)")
    parser.add_argument("--parts", default="postmark,calls,others,loss")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--transactions", type=int, default=20000)
    parser.add_argument("--loop", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--loss-runs", type=int, default=3)
    parser.add_argument("--run", help="for `bytes`: a run with system calls")
    args = parser.parse_args()
    unknown = [part for part in args.parts.split(",") if part not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]}: there are {', '.join(PARTS)}")
    if os.geteuid() != 0:
        sys.exit("this needs root")
    bench = Bench(args.build)
    for part in args.parts.split(","):
        words = f"--parts {part} --pairs {args.pairs}" + (f" --run {args.run}" if part == "bytes" else "")
        print(f"\n{machine()}\n`benchmarks/syscap_cost.py BUILD {words}`\n", flush=True)
        PARTS[part](bench, args)


if __name__ == "__main__":
    main()
