#!/usr/bin/env python3
"""A campaign on a site: MooseFS servers, a metadata server and a client that are reached by ssh only. A workload that talks a
lot does not stand still, the metadata server is no victim, a killed campaign leaves no workload running over there, it does
not go on with other servers, and the end leaves no file on the file system."""
import glob
import json
import re
import time

from lab_common import *
from ssh_common import addresses, from_third_party, need_ssh, start_sshd

need_ssh()
need("mfsmaster", "mfschunkserver", "mfsmount")
NODES = ("s1", "s2", "s3", "m1", "c1")

PLAN = """
seed = 3
[site]
cluster = "%s"
mount = "/mnt/lab"
direct = false
i_own_this_cluster = true
[samples]
interval = "200ms"
before = 10
during = 15
after = 5
[score]
workloads = ["mine"]
faults = ["none", "receive_pktloss"]
iterations = 1
[spoiled]          # how busy this machine is does not matter here
idle_percent = 0
steal_percent = 100
lost_percent = 100
[workload.mine]
run = "while :; do head -c 100000 /dev/zero | tr '\\\\0' x; dd if=/dev/urandom of=f bs=64k count=8 conv=fsync status=none || exit 1; echo $((n += 1)) >count; done"
"""


def site_file(lab):
    """The lab's own file, but every node is reached by ssh, and the master is a server without data."""
    text, where = read(lab.cluster), addresses(lab)
    for node in NODES:
        text = text.replace('"ns:%s-%s"' % (lab.name, node), '"ssh:root@%s"' % where[node])
    text = re.sub(r'\[\[other\]\](\nname = "m1"\n)', r'[[server]]\1daemons = ["mfsmaster"]\n', text)
    text = re.sub(r'\[\[other\]\]\nname = "x1"\n(?:.+\n)*', "", text)  # we are there ourselves
    check(text.count("[[server]]") == 4 and '"meta"' in text, text)
    path = lab.folder + "/site.toml"
    with open(path, "w") as file:
        file.write(text)
    return path


def working():
    """Processes of a workload, wherever they run."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        words = read(path).replace("\0", " ")
        if "SECONDS_LEFT=" in words and "culprit-campaign" in words and " ssh " not in " " + words:
            found.append((path, words[:100]))
    return found


def campaign_pids(folder):
    out = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        words = read(path).split("\0")
        if words[0].endswith("culprit") and words[1:2] == ["campaign"] and folder in words:
            out.append(int(path.split("/")[2]))
    return out


def main():
    before = picture()
    lab = Lab("tsite", "--servers", "3", "--clients", "1", "--layout", "goal1", fs="moosefs")
    start_sshd(lab, NODES)
    plan, folder = lab.folder + "/plan.toml", lab.folder + "/out"
    site = site_file(lab)
    with open(plan, "w") as out:
        out.write(PLAN % site)
    words = [*from_third_party(lab), CULPRIT, "campaign", plan, "--out", folder]
    running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: working() or running.poll() is not None, 90, "no workload begins")
    check(running.poll() is None, running.stderr.read() if running.poll() is not None else "")
    for pid in campaign_pids(folder):
        os.kill(pid, signal.SIGKILL)
    running.wait(timeout=30)
    wait_for(lambda: not working(), 30, lambda: "a workload goes on after the campaign was killed: %s" % working())
    print("ok: killed with -9, and the workload behind ssh has ended")

    text = read(site)
    with open(site, "w") as out:
        out.write(text.replace('name = "s2"', 'name = "other"'))
    refused = subprocess.run(words, capture_output=True, text=True, timeout=60)
    check(refused.returncode == 1 and "are not those that" in refused.stderr, refused.stdout + refused.stderr)
    check(read(folder + "/servers") == "s1\ns2\ns3\n", "the servers that it was begun with are lost")
    with open(site, "w") as out:
        out.write(text)
    print("ok: it does not go on with other servers")

    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    check(done.returncode == 0, done.stdout + done.stderr)
    rows = [json.loads(line) for line in open(folder + "/journal.jsonl")]
    kept = [row for row in rows if row["outcome"] == "kept"]
    check(len(kept) == 2, rows)
    check(all(row["victim"] in ("", "s1", "s2", "s3") for row in kept), kept)
    check(all(row["begun_ns"] <= row["on_ns"] for row in kept), kept)
    check(not working(), "a workload goes on after the end: %s" % working())
    check("culprit-campaign" not in lab.sh("c1", "ls /mnt/lab"), "files are left on the file system")
    check(not os.path.exists(folder + "/up"), "the campaign believes that it left something")
    print("ok: finished through ssh, and nothing is left on the site")
    lab.down()
    lab.clean()
    expect_same(before, "nothing is left")


main()
