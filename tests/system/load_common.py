"""A disk and a network link that nobody else uses, and load on them that has a beginning and an end.

Only on such devices can two observers' totals be demanded to be equal. The disk is a loop device on a file; the link is a
veth pair from this network namespace into one made here. Needs root. This file is also the far end of the network load:
`load_common.py serve ADDRESS PORT_FILE` inside the namespace.
"""
import os
import socket
import struct
import subprocess
import sys
import threading
import time

from record_common import check, skip, wait_for

HEADER = struct.Struct("!QQ")  # bytes to the server, bytes back
DISK_BYTES = 256 << 20


def run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, env=dict(os.environ, LC_ALL="C", S_TIME_FORMAT="ISO", TZ="UTC"))
    check(done.returncode == 0, "%s: %s" % (" ".join(argv), done.stderr.strip()))
    return done.stdout


def receive(connection, size):
    while size > 0:
        got = len(connection.recv(min(size, 1 << 18)))
        check(got > 0, "the other end of the network load is gone")
        size -= got


def answer(connection):
    """One connection of the server: takes and gives what the header says, then stays open and idle until the other closes."""
    there, back = HEADER.unpack(connection.recv(HEADER.size, socket.MSG_WAITALL))
    receive(connection, there)
    connection.sendall(b"y" * back)
    connection.recv(1)
    connection.close()


def serve(address, port_file):
    with socket.create_server((address, 0), backlog=64) as listener:
        with open(port_file + ".new", "w") as out:
            out.write(str(listener.getsockname()[1]))
        os.rename(port_file + ".new", port_file)
        while True:
            threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


class Server:
    """The far end of the network load; `prefix` are the words that lead into its namespace."""

    def __init__(self, bench, address, prefix=()):
        port_file = bench.path("port")
        process = subprocess.Popen([*prefix, sys.executable, os.path.abspath(__file__), "serve", address, port_file])
        bench.children.append(process)
        wait_for(lambda: os.path.exists(port_file), 30, "the network load's server does not start")
        with open(port_file) as text:
            self.address, self.port = address, int(text.read())

    def transfer(self, there, back):
        """Returns the connection, open and with nothing on its way."""
        connection = socket.create_connection((self.address, self.port), timeout=120)
        connection.sendall(HEADER.pack(there, back))
        connection.sendall(b"x" * there)
        receive(connection, back)
        return connection


class OwnDevices:
    """Made here, removed when the bench ends. disk and nic are names as the kernel's; far_nic is the link's other end."""

    def __init__(self, bench, image_folder):
        number = os.getpid()
        self.namespace = "culprit-t%d" % number
        self.nic, self.far_nic = "cl%da" % number, "cl%db" % number
        self.into = ["nsenter", "--net=/run/netns/" + self.namespace, "--"]
        self.make_disk(bench, image_folder)
        self.make_link(bench, number)
        self.server = Server(bench, self.far_address, self.into)

    def make_disk(self, bench, folder):
        image = os.path.join(folder, "culprit-disk-%d" % os.getpid())
        bench.cleanups.append(lambda: os.path.exists(image) and os.unlink(image))
        with open(image, "wb") as out:
            os.posix_fallocate(out.fileno(), 0, DISK_BYTES)
        made = subprocess.run(["losetup", "--find", "--show", "--direct-io=on", image], capture_output=True, text=True)
        if made.returncode != 0:
            skip("cannot make a loop device: " + made.stderr.strip())
        self.device = made.stdout.strip()
        bench.cleanups.append(lambda: run("losetup", "--detach", self.device))
        self.disk = os.path.basename(self.device)

    def make_link(self, bench, number):
        made = subprocess.run(["ip", "netns", "add", self.namespace], capture_output=True, text=True)
        if made.returncode != 0:
            skip("cannot make a network namespace: " + made.stderr.strip())
        bench.cleanups.append(lambda: run("ip", "netns", "del", self.namespace))
        run("ip", "link", "add", self.nic, "type", "veth", "peer", "name", self.far_nic, "netns", self.namespace)
        bench.cleanups.append(lambda: run("ip", "link", "del", self.nic))
        # A network of four addresses out of 198.18.0.0/15, which is reserved for measurements; the process number picks it.
        network = (198 << 24) + (18 << 16) + number % 32768 * 4
        self.address, self.far_address = (socket.inet_ntoa(struct.pack("!I", network + i)) for i in (1, 2))
        ends = ((["ip"], (), self.nic, self.address, 1), (["ip", "-n", self.namespace], self.into, self.far_nic, self.far_address, 2))
        for ip, into, nic, address, end in ends:  # no IPv6 and no ARP: nothing but our load may be on the link
            run(*into, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/%s/disable_ipv6 2>/dev/null || :" % nic)
            run(*ip, "link", "set", nic, "address", "02:00:00:00:00:0%d" % end)
            run(*ip, "addr", "add", address + "/30", "dev", nic)
            run(*ip, "link", "set", nic, "up")
        for ip, _, nic, _, end in ends:
            other = self.far_address if end == 1 else self.address
            run(*ip, "neigh", "replace", other, "lladdr", "02:00:00:00:00:0%d" % (3 - end), "dev", nic, "nud", "permanent")

    def load(self, megabytes, seconds=0):
        """Writes to and reads from the disk, past the page cache, while as much goes through the link and a quarter of it
        back. Reading is repeated until the seconds are over."""
        sent = megabytes << 20
        failures = []

        def network():
            try:
                self.server.transfer(sent, sent // 4).close()
            except (OSError, AssertionError) as error:
                failures.append(str(error))

        thread = threading.Thread(target=network)
        thread.start()
        end = time.monotonic() + seconds
        size = ("bs=16M", "count=%d" % (megabytes // 16))  # so many requests at once wait for milliseconds: await has digits
        run("dd", "if=/dev/zero", "of=" + self.device, *size, "oflag=direct", "conv=notrunc")
        run("dd", "if=" + self.device, "of=/dev/null", *size, "iflag=direct")
        while time.monotonic() < end:
            run("dd", "if=" + self.device, "of=/dev/null", *size, "iflag=direct")
        thread.join()
        check(not failures, "the network load failed: %s" % failures)

    def counters(self):
        with open("/proc/diskstats") as disks, open("/proc/net/dev") as nics:
            return [line.split() for line in [*disks, *nics] if self.disk in line.split() or self.nic + ":" in line.split()]

    def wait_until_quiet(self):
        """The last acknowledgements, and a udev that looks at a disk that was written to, belong to the load."""
        end = time.monotonic() + 30
        before, since = self.counters(), time.monotonic()
        while time.monotonic() - since < 1:
            check(time.monotonic() < end, "somebody else uses %s or %s" % (self.disk, self.nic))
            time.sleep(0.05)
            if (now := self.counters()) != before:
                before, since = now, time.monotonic()


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(*sys.argv[2:])
