"""What the benchmark scripts share: CPU time and memory of running processes, medians, tables, the machine in words."""
import datetime
import os
import platform
import signal
import statistics
import subprocess
import sys
import time


def end_in_order():
    """SIGTERM (of `timeout`, say) ends the script as an exception does: what atexit has to take down is taken down."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def cpu_ns(pid):
    """CPU time of a process with all its threads, exact: the kernel's own clock of that process (clock_getcpuclockid)."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def tree(pid):
    """The process and its descendants."""
    pids = [pid]
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as children:
                for child in children.read().split():
                    pids += tree(int(child))
    except FileNotFoundError:
        pass
    return pids


def tree_cpu_ns(pid):
    return sum(cpu_ns(p) for p in tree(pid))


def peak_rss_bytes(pid):
    """Peak resident memory of the process and its descendants, summed (shared pages count in each)."""
    total = 0
    for each in tree(pid):
        with open(f"/proc/{each}/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    total += int(line.split()[1]) * 1024
    return total


def median(values):
    return statistics.median(values)


def spread(values, form):
    """median (lowest-highest)"""
    return f"{form(median(values))} ({form(min(values))}-{form(max(values))})"


def table(head, rows):
    """A Markdown table."""
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


def machine():
    today = datetime.date.today().isoformat()
    with open("/proc/loadavg") as load:
        busy = load.read().split()[0]
    return f"{today}, Linux {platform.release()}, {os.cpu_count()} CPUs, load average {busy} at the start"


def culprit(build, *words, codes=(0,)):
    """Runs culprit to its end; ends the script with its words when it failed."""
    command = [os.path.join(build, "culprit"), *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode not in codes:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def run_folder(path):
    """A run as it is named on disk: NAME or NAME.run."""
    return path if os.path.isdir(path) else path + ".run"
