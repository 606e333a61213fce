#!/usr/bin/env python3
"""A real sshd on loopback: the calls of a server behind ssh arrive here with their classes, a command runs there as if it were
here, a capture that is killed leaves nothing there, and what goes wrong is said."""
import os
import signal
import sys
import time

from record_common import Bench, check, skip, wait_for
from record_ssh import start_sshd
from syscap_common import TracedServer, events_of, logs_of, wait_for_log


def write_cluster(bench, name, reach, server, storage):
    path = bench.path(name)
    with open(path, "w") as text:
        text.write('name = "far"\n[[server]]\nname = "far"\nreach = "%s"\ndaemons = ["%s"]\nstorage = ["%s"]\n'
                   % (reach, server, storage))
    return path


def captured(bench, server, cluster):
    run = bench.path("ssh.run")
    done = bench.run("syscap", "--cluster", cluster, "--for", "3s", "--quiet", "--out", run)
    check(done.returncode == 0, done.stderr)
    check([os.path.basename(log) for log in logs_of(run)] == ["far.sclog"], "logs: %s" % logs_of(run))
    events = [e for e in events_of(bench, run) if e.kind == "call"]
    check(events and {e.process for e in events} == {server.pid}, "processes: %s" % {e.process for e in events})
    for name in ("pread64", "pwrite64"):
        own = [e for e in events if e.name == name]
        check(own and all(e.fd_class == "storage" and "/brick" in e.target for e in own), "%s: %s" % (name, own[:2]))
    wrong = [e for e in events if e.name in ("sendto", "recvfrom") and e.fd_class not in ("other", "")]
    check(not wrong, "a socket pair is no traffic of the file system: %s" % wrong[:1])
    server.check_well("captured through ssh")
    print("%d calls came through ssh" % len(events))


def chosen(bench, server, cluster):
    """A process of the other machine, by its number."""
    run = bench.path("chosen.run")
    done = bench.run("syscap", "--cluster", cluster, "--node", "far", "--pid", str(server.pid), "--for", "2s", "--quiet", "--out", run)
    check(done.returncode == 0, done.stderr)
    events = [e for e in events_of(bench, run) if e.kind == "call"]
    check(events and {e.process for e in events} == {server.pid}, "processes: %s" % {e.process for e in events})
    done = bench.run("syscap", "--cluster", cluster, "--node", "far", "--pid", "1073741823", "--for", "1s", "--out", bench.path("none.run"))
    check(done.returncode == 1 and "1073741823" in done.stderr, "a process that is not there: " + done.stderr)
    server.check_well("captured by its number")
    print("a process behind ssh is captured by its number")


def commanded(bench, cluster):
    """A command over there, from its first call on, with our streams and its exit code."""
    run = bench.path("command.run")
    script = "cat; echo to stdout; echo to stderr >&2; exit 7"
    done = bench.run("syscap", "--cluster", cluster, "--node", "far", "--out", run, "--", "sh", "-c", script, input="to stdin\n")
    check(done.returncode == 7, "exit code %d: %s" % (done.returncode, done.stderr))
    check(done.stdout == "to stdin\nto stdout\n" and "to stderr" in done.stderr, "%r, %r" % (done.stdout, done.stderr))
    events = events_of(bench, run)
    check([e for e in events if e.name == "execve" and e.outcome == 0], "its exec was not seen")
    check([e for e in events if e.kind == "exit" and e.outcome == 7 << 8], "its end was not seen: %s" % events[-3:])
    done = bench.run("syscap", "--cluster", cluster, "--node", "far", "--out", bench.path("none.run"), "--", "no-such-program")
    check(done.returncode == 127 and "no-such-program" in done.stderr, "a command that is not there: " + done.stderr)
    print("a command behind ssh: %d records, its streams and its exit code" % len(events))


def interrupted(bench, cluster):
    """Ctrl-C reaches the command over there, children included."""
    run = bench.path("interrupted.run")
    tracer = bench.start("syscap", "--cluster", cluster, "--node", "far", "--out", run, "--", "sh", "-c", "sleep 71.25; echo no")
    wait_for(lambda: sleepers(), 30, "the command does not run")
    os.kill(tracer.pid, signal.SIGINT)
    tracer.wait(20)
    wait_for(lambda: not sleepers(), 5, "the command still runs")
    check([e for e in events_of(bench, run) if e.kind == "signal" and e.name == "SIGINT"], "no SIGINT was seen")
    print("Ctrl-C ends a command behind ssh")


def sleepers():
    return [pid for pid in filter(str.isdigit, os.listdir("/proc")) if cmdline(pid)[:2] == [b"sleep", b"71.25"]]


def cmdline(pid):
    try:
        with open("/proc/%s/cmdline" % pid, "rb") as text:
            return text.read().split(b"\0")
    except OSError:  # it has just ended
        return [b""]


def killed(bench, server, cluster):
    """stdin of the far end closes: it detaches and ends by itself."""
    run = bench.path("killed.run")
    tracer = bench.start("syscap", "--cluster", cluster, "--quiet", "--out", run)
    wait_for_log(bench, run, tracer)
    time.sleep(1)
    os.kill(tracer.pid, signal.SIGKILL)
    tracer.wait(10)
    wait_for(lambda: not far_ends(), 15, "culprit-node is still there")
    server.check_well("the capture through ssh was killed")
    check(len(events_of(bench, run)) > 100, "nothing of a killed capture can be read")
    print("a killed capture leaves nothing running, and its log")


def far_ends():
    """Processes that capture for us, by their command lines."""
    lines = map(cmdline, filter(str.isdigit, os.listdir("/proc")))
    return [words for words in lines if b"culprit-node" in words[0] and b"syscap" in words]


def refused(bench):
    nobody = write_cluster(bench, "nobody.toml", "ssh:nobody-here@127.0.0.1:1", "traced_server", "/")
    done = bench.run("syscap", "--cluster", nobody, "--for", "1s", "--out", bench.path("no.run"))
    check(done.returncode == 1 and "far" in done.stderr and "hint:" in done.stderr, "an ssh that fails: " + done.stderr)


def main():
    if os.geteuid() != 0:
        skip("sshd needs root")
    with Bench(memory=True) as bench:
        reach = start_sshd(bench)
        bricks = bench.path("bricks")
        server = TracedServer(bench, bricks, ["unshare", "--mount"])  # mounts of its own, as systemd gives them to daemons
        cluster = write_cluster(bench, "cluster.toml", reach, "traced_server", bricks)
        captured(bench, server, cluster)
        chosen(bench, server, cluster)
        commanded(bench, cluster)
        interrupted(bench, cluster)
        killed(bench, server, cluster)
        refused(bench)
        server.end()


if __name__ == "__main__":
    sys.exit(main())
