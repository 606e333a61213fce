#!/usr/bin/env python3
"""Two nodes in network namespaces: their own NICs are seen, and a sampler that is killed is a gap, then it is back."""
import os
import signal
import subprocess
import sys

from record_common import Bench, check, children_of, manifest, query, skip, wait_for

A, B = "culprit-t%d-a" % os.getpid(), "culprit-t%d-b" % os.getpid()


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True)


def in_namespace(pid, name):
    try:
        return os.stat("/proc/%d/ns/net" % pid).st_ino == os.stat("/run/netns/" + name).st_ino
    except OSError:  # it has ended, or is not ours to look at
        return False


def make_namespaces(bench):
    for name in (A, B):
        made = ip("netns", "add", name)
        if made.returncode != 0:
            skip("cannot make a network namespace: " + made.stderr.strip())
        bench.cleanups.append(lambda name=name: ip("netns", "del", name))
    made = ip("-n", A, "link", "add", "veth-a", "type", "veth", "peer", "name", "veth-b", "netns", B)
    if made.returncode != 0:
        skip("cannot make a veth pair: " + made.stderr.strip())
    for name, link, address in ((A, "veth-a", "10.222.0.1/24"), (B, "veth-b", "10.222.0.2/24")):
        ip("-n", name, "addr", "add", address, "dev", link)
        ip("-n", name, "link", "set", link, "up")


def main():
    if os.geteuid() != 0:
        skip("network namespaces need root")
    with Bench(memory=True) as bench:
        make_namespaces(bench)
        with open(bench.path("cluster.toml"), "w") as text:
            text.write('name = "two"\n')
            for name, reach in (("a", A), ("b", B), ("gone", "culprit-no-such-ns")):
                text.write('[[server]]\nname = "%s"\nreach = "ns:%s"\n' % (name, reach))
        run = bench.path("ns.run")
        recorder = bench.start("record", "--cluster", bench.path("cluster.toml"), "--interval", "100ms", "--quiet", "--summary", "--out", run)
        wait_for(lambda: bench.samples(run, 0) > 5 and bench.samples(run, 1) > 5, 30, "no samples: " + bench.output(recorder))

        victims = [pid for pid in children_of(recorder.pid) if in_namespace(pid, B)]
        check(len(victims) == 1, "b's sampler is not a child: %s" % victims)
        os.kill(victims[0], signal.SIGKILL)
        wait_for(lambda: query(run, "select count(*) from event where kind='gap' and node='b' and text like '%signal 9%'")[0][0] == 1, 30, "no gap: " + bench.output(recorder))
        before = bench.samples(run, 1)
        wait_for(lambda: bench.samples(run, 1) > before + 5, 30, "b does not come back")
        code, text = bench.stop(recorder)
        print(text)
        check(code == 0 and "of 2 nodes" in text, text)
        check("there is no namespace culprit-no-such-ns" in text, "the missing node is not explained")

        gaps = query(run, "select node, text from event where kind='gap'")
        b_gaps = [text for node, text in gaps if node == "b"]
        killed = [text for text in b_gaps if "signal 9" in text]
        check(len(killed) == 1 and all("missed" in text for text in b_gaps if text not in killed), "gaps: %s" % gaps)  # a machine that stands still misses ticks
        check(any(node == "gone" for node, _ in gaps), "the node that never came has no gap")
        nics = set(query(run, "select node.name, key.name from key join node on node.id=key.node where key.source='nic'"))
        check(nics == {("a", "veth-a"), ("b", "veth-b")}, "NICs: %s" % nics)
        zero = query(run, "select count(*) from sample where t_ns=0 or mono_ns=0")
        check(zero == [(0,)], "a gap must not be a zero")
        # b's monotonic times have a hole; nothing was filled in.
        times = [row[0] for row in query(run, "select mono_ns from sample where node=1 order by id")]
        check(max(y - x for x, y in zip(times, times[1:])) > 0.5e9, "b has no hole")
        nodes = {node["name"]: node for node in manifest(run)["nodes"]}
        check(nodes["b"]["gaps"] == len(b_gaps) and nodes["b"]["skipped"] > 0, str(nodes["b"]))
        check(nodes["a"].get("clock_offset_ns", 0) == 0, "namespaces share our clock")
        wait_for(lambda: not any(in_namespace(int(pid), A) or in_namespace(int(pid), B) for pid in os.listdir("/proc") if pid.isdigit()), 10, "a sampler is left")

        only_gone = bench.path("gone.toml")
        with open(only_gone, "w") as text:
            text.write('name = "none"\n[[server]]\nname = "gone"\nreach = "ns:culprit-no-such-ns"\n')
        none = bench.run("record", "--cluster", only_gone, "--for", "2s", "--out", bench.path("none.run"))
        check(none.returncode == 1 and "there is no namespace" in none.stderr, none.stderr)
        check(not os.path.exists(bench.path("none.run.partial")) and not os.path.exists(bench.path("none.run")), "an empty run was left")


if __name__ == "__main__":
    sys.exit(main())
