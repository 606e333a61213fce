"""What tests with a lab share: the tool, and a picture of the machine that must be the same before and after."""
import atexit
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

SKIP = 77
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that atexit takes the labs down
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "build"
CULPRIT = os.path.join(BUILD, "culprit")
PROGRAMS = ("culprit", "gluster", "mfs", "sleep infinity")
LABS = "t(plain|kill|half|ctrlc|one|two|three|refuse|fs|ssh|sys|site)|camptest"  # of tests


def need(*programs):
    """Skips the test where it cannot run."""
    if os.geteuid() != 0:
        print("skip: a lab needs root")
        sys.exit(SKIP)
    for device in ("/dev/fuse", "/dev/loop-control"):
        if not os.path.exists(device):
            print("skip: there is no " + device)
            sys.exit(SKIP)
    for program in programs:
        if subprocess.run(["sh", "-c", "command -v " + program], capture_output=True).returncode != 0:
            print("skip: there is no " + program)
            sys.exit(SKIP)
    clear_leftovers()


def clear_leftovers():
    """What a test that was killed may have left; in a picture it would be there before and gone after."""
    labs = "/run/culprit/labs"
    for name in os.listdir(labs) if os.path.isdir(labs) else []:
        if re.fullmatch(LABS, name):
            culprit("lab", "down", "--name", name, code=None)
    for empty in (labs, "/run/culprit/ns", "/run/culprit"):  # the last lab that goes takes them along, if nothing else is in them
        try:
            os.rmdir(empty)
        except OSError:
            pass


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def wait_for(condition, seconds, message):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("waited %d s: %s" % (seconds, message() if callable(message) else message))


def culprit(*words, code=0, limit=180, **options):
    """Runs the tool; `code` is the exit code it must have, None for any."""
    done = subprocess.run([CULPRIT, *words], capture_output=True, text=True, timeout=limit, **options)
    if code is not None:
        check(done.returncode == code,
              "culprit %s: exit code %d\n%s%s" % (" ".join(words), done.returncode, done.stdout, done.stderr))
    return done


class Lab:
    """A lab with a name of its own, taken down whatever happens."""

    def __init__(self, name, *words, fs="directory"):
        self.name = name
        self.folder = tempfile.mkdtemp(prefix="culprit-test-")
        self.cluster = os.path.join(self.folder, "cluster.toml")
        atexit.register(self.clean)
        culprit("lab", "down", "--name", name, code=None)  # what a killed test may have left
        self.up = culprit("lab", "up", "--name", name, "--fs", fs, "--cluster", self.cluster, *words)

    def run(self, node, *words, code=0, limit=120):
        return culprit("lab", "exec", node, "--name", self.name, "--", *words, code=code, limit=limit)

    def sh(self, node, script, code=0, limit=120):
        return self.run(node, "sh", "-c", script, code=code, limit=limit).stdout

    def down(self):
        return culprit("lab", "down", "--name", self.name)

    def clean(self):
        culprit("lab", "down", "--name", self.name, code=None)
        subprocess.run(["rm", "-rf", self.folder])


def keeper(lab, node):
    with open("/run/culprit/ns/%s-%s" % (lab, node)) as file:
        return int(file.read().split()[0])


def disk_daemon(lab):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        words = read("/proc/%s/cmdline" % pid).split("\0")
        if words[0].endswith("culprit-disk") and "/dev/shm/culprit-" + lab in words:
            return int(pid)
    raise AssertionError("there is no disk daemon")


def output(*words):
    return subprocess.run(words, capture_output=True, text=True).stdout


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def processes():
    """Ours by their programs, and everything that lives in a namespace that is not ours."""
    here = {kind: os.readlink("/proc/self/ns/" + kind) for kind in ("net", "mnt", "pid")}
    found, spaces = set(), set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        line = read("/proc/%s/cmdline" % pid).replace("\0", " ").strip()
        try:
            own = {kind: os.readlink("/proc/%s/ns/%s" % (pid, kind)) for kind in here}
        except OSError:
            continue
        spaces.update(own.values())
        if int(pid) == os.getpid() or not line:
            continue
        if own != here or any(line.startswith(word) or "/" + word in line.split(" ")[0] for word in PROGRAMS):
            found.add((pid, line))
    return found, spaces


def loops():
    rows = set()
    for name in os.listdir("/sys/block"):
        if name.startswith("loop"):
            base = "/sys/block/%s/" % name
            numbers = read(base + "dev").strip()
            rows.add((name, read(base + "loop/backing_file"), read(base + "queue/scheduler"),
                      read(base + "queue/read_ahead_kb"), read("/sys/class/bdi/%s/strict_limit" % numbers)))
    return rows


def cgroups():
    """Ours by their names: others on this machine make and remove theirs all the time."""
    return {folder for folder, _, _ in os.walk("/sys/fs/cgroup") if "culprit" in folder or "lab" in folder.split("/")[-1]}


def files(*folders):
    rows = set()
    for top in folders:
        for folder, _, names in os.walk(top):
            rows.update(os.path.join(folder, name) for name in names + [""])
    return rows


def temporary():
    return {name for name in os.listdir("/tmp") if name.startswith(("culprit", "gluster", "mfs", ".gluster"))}


def picture():
    """Everything a lab could leave behind, by kind."""
    running, spaces = processes()
    return {
        "processes": running,
        "namespaces": spaces,
        "links": set(output("ip", "-o", "link").split("\n")),
        "queues": set(output("tc", "qdisc").split("\n")),
        "rules": set(output("nft", "list", "ruleset").split("\n")),
        "mounts": set(read("/proc/self/mounts").split("\n")),
        "loop devices": loops(),
        "cgroups": cgroups(),
        "temporary files": temporary(),
        "files": files("/run/culprit", "/dev/shm", "/var/lib/glusterd", "/var/log/glusterfs", "/var/lib/mfs", "/mnt",
                       "/run/gluster", "/etc/mfs") - {"/run/culprit/"},  # the last lab takes it along when it is empty
    }


def others(kind, row):
    """What was there before the test and may go while it runs: others' processes, and the entries of recorders that were
    killed before (the next injector removes them)."""
    return kind in ("processes", "namespaces") or (kind == "files" and re.fullmatch("/run/culprit/[0-9]+", row))


def same(before, after):
    """The difference as text; "" when there is none."""
    lines = []
    for kind in before:
        gone = {row for row in before[kind] - after[kind] if not others(kind, row)}
        for sign, rows in (("left behind", after[kind] - before[kind]), ("gone", gone)):
            lines += ["%s %s: %s" % (kind, sign, row) for row in sorted(map(str, rows))]
    return "\n".join(lines)


def expect_same(before, what):
    end = time.monotonic() + 30  # a namespace lives a moment longer than its last process
    while difference := same(before, picture()):
        if time.monotonic() > end:
            break
        time.sleep(0.1)
    else:
        print("ok: " + what)
        return
    raise AssertionError("%s:\n%s" % (what, difference))
