"""What the system tests of `culprit inject` share: looking into a lab's nodes, starting injections in the background, and
killing what belongs to them."""
import json
import os
import signal
import subprocess
import tempfile

from lab_common import BUILD, CULPRIT, check, culprit, wait_for

# What a fault may change on a node, as text that is the same again when it is gone. Numbers that move by themselves are
# left out: of space and inodes only whether they have run out, of a process only whether it is stopped.
LOOK = r"""
echo "== filter"; nft list ruleset
echo "== processes"
for p in /proc/[0-9]*; do
  c=$(cat $p/comm 2>/dev/null) || continue
  case "$c" in culprit-hog|culprit-node|glusterfsd|mfschunkserver) ;; *) continue ;; esac
  s=$(sed 's/.*) //; s/ .*//' $p/stat 2>/dev/null)
  case "$s" in Z|"") continue ;; T) ;; *) s=runs ;; esac
  echo "$c $s" $(grep -E 'open files|file size|address space' $p/limits 2>/dev/null | awk '{print $(NF-2)}')
done | sort
echo "== disk"; grep ' /mnt/disk ' /proc/self/mounts | awk '{print $2, $3, $4}'
if grep -q ' /mnt/disk ' /proc/self/mounts; then
  stat -f -c '%a %d' /mnt/disk | awk '{print ($1 < 64 ? "full" : "space"), ($2 < 8 ? "no-inodes" : "inodes")}'
  ls -A /mnt/disk | grep culprit
fi
if [ -S /run/culprit-lab/disk.sock ] && d=$(grep -m 1 -o '^/dev/loop[0-9]*' /proc/self/mounts); then
  i=$(cat /sys/block/${d#/dev/}/loop/backing_file); i=${i##*/}
  DISK --socket /run/culprit-lab/disk.sock --ask "status ${i%.img}" | tr ' ' '\n' | grep '^active='
fi
true
""".replace("DISK", os.path.join(BUILD, "culprit-disk"))


def look(lab, node):
    return lab.sh(node, LOOK)


def faults():
    return json.loads(culprit("list", "faults", "--json").stdout)


def start(cluster, fault, *words):
    """An injection in the background."""
    said = tempfile.TemporaryFile("w+")
    child = subprocess.Popen([CULPRIT, "inject", fault, "--cluster", cluster, "--json", *words], stdout=subprocess.PIPE,
                             stderr=said, text=True)
    child.said = said
    return child


def said_by(child):
    child.said.seek(0)
    return child.said.read()


def finish(child, limit=120):
    out, _ = child.communicate(timeout=limit)
    return child.returncode, out, said_by(child)


def status(cluster):
    return json.loads(culprit("inject", "--status", "--json", "--cluster", cluster, code=None).stdout)["journals"]


def wait_said(child, words):
    """Until it has said that on stderr; an error when it ends instead."""
    def there():
        ended = child.poll() is not None
        if words in said_by(child):
            return True
        check(not ended, "it ended: " + said_by(child))
        return False
    wait_for(there, 90, lambda: "it does not say '%s': %s" % (words, said_by(child)))


def wait_active(child):
    wait_said(child, "in force on all nodes")


def wait_journal(cluster, child, parts=1):
    """Until its guards have written their journals, which is before they change anything."""
    def there():
        check(child.poll() is None, "it ended")
        return sum(row["state"] == "at-work" for row in status(cluster)) >= parts
    wait_for(there, 60, "there is no journal")


def processes_of(lab, node, *words):
    """Numbers, as they are out here, of the node's processes whose command line has all the words."""
    with open("/run/culprit/ns/%s-%s" % (lab.name, node)) as text:
        inside = os.stat("/proc/%s/ns/pid" % text.read().split()[0]).st_ino
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat("/proc/%s/ns/pid" % pid).st_ino != inside:
                continue
            with open("/proc/%s/cmdline" % pid, "rb") as text:
                line = text.read().decode(errors="replace")
        except OSError:  # it has just ended
            continue
        if all(word in line for word in words):
            found.append(int(pid))
    return found


def kill_guards(lab, nodes):
    killed = 0
    for node in nodes:
        for pid in processes_of(lab, node, "culprit-node", "guard"):
            try:
                os.kill(pid, signal.SIGKILL)
                killed += 1
            except ProcessLookupError:  # who waits for a guard goes with it
                pass
    check(killed, "there was no guard to kill")
