#!/usr/bin/env python3
"""How large is a run? Bytes per node and tick, and per recorded socket and tick, of a simulated and a recorded run.

SQLite's dbstat says how many bytes of pages each table and index has; the tcp table is the sockets' share, all else
(manifest, free pages and the tables of samples, keys and events included) is the nodes'.

    benchmarks/stored_size.py BUILD [--servers 50] [--ticks 600] [--seconds 60] [--sockets 100]
"""
import argparse
import os
import shutil
import sqlite3
import sys
import tempfile
import threading

sys.dont_write_bytecode = True  # the source tree stays clean
from common import culprit, machine, run_folder, table
from overhead import open_sockets


def folder_bytes(path):
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


def sizes(run):
    """Bytes in all, bytes of sockets, samples (nodes x ticks), rows per table."""
    database = sqlite3.connect(f"file:{run}/metrics.sqlite?mode=ro", uri=True)
    owner = dict(database.execute("SELECT name, tbl_name FROM sqlite_master"))
    pages = {}
    for name, size in database.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"):
        table_name = owner.get(name, name)
        pages[table_name] = pages.get(table_name, 0) + size
    rows = {name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in set(owner.values())}
    database.close()
    return folder_bytes(run), pages, rows


def row_of(what, run):
    total, pages, rows = sizes(run)
    samples, sockets = rows["sample"], rows.get("tcp", 0)
    tcp = pages.get("tcp", 0)
    devices = rows.get("disk", 0) / samples, rows.get("nic", 0) / samples
    return [what, samples, f"{devices[0]:.1f}, {devices[1]:.1f}", f"{sockets / samples:.1f}",
            f"{(total - tcp) / samples:.0f}", f"{tcp / sockets:.1f}" if sockets else "-", f"{total / 1e6:.2f}"], pages


def simulated(build, scratch, args):
    out = os.path.join(scratch, "simulated")
    culprit(build, "simulate", "--servers", str(args.servers), "--ticks", str(args.ticks), "--seed", "1", "--out", out)
    return row_of(f"simulated, {args.servers} servers, 2 clients, {args.ticks} ticks", run_folder(out))


def keep_busy(held, stop):
    """Every socket sends a little all the time: counters that stand still would be stored in fewer bytes."""
    while held and not stop.wait(0.05):
        for first, second in zip(held[::2], held[1::2]):
            for sender, receiver in ((first, second), (second, first)):
                sender.sendall(bytes(2000))
                receiver.recv(65536)


def recorded(build, scratch, args, sockets):
    out = os.path.join(scratch, f"recorded-{sockets}")
    with open_sockets(sockets) as held:
        stop = threading.Event()
        traffic = threading.Thread(target=keep_busy, args=(held, stop))
        traffic.start()
        try:
            culprit(build, "record", "--interval", "50ms", "--for", f"{args.seconds}s", "--out", out)
        finally:
            stop.set()
            traffic.join()
    return row_of(f"recorded here, 50 ms for {args.seconds} s, {sockets} busy sockets", run_folder(out))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--servers", type=int, default=50)
    parser.add_argument("--ticks", type=int, default=600)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--sockets", type=int, default=100)
    args = parser.parse_args()
    print(f"{machine()}\n`benchmarks/stored_size.py BUILD --servers {args.servers} --ticks {args.ticks} "
          f"--seconds {args.seconds} --sockets {args.sockets}`\n")
    scratch = tempfile.mkdtemp(prefix="culprit-size-")
    try:
        results = [simulated(args.build, scratch, args)] + [recorded(args.build, scratch, args, n) for n in (0, args.sockets)]
        table(["run", "samples", "disks, NICs per sample", "sockets per sample", "bytes per node and tick, without sockets",
               "bytes per socket and tick", "MB in all"], [row for row, _ in results])
        print()
        names = sorted(set().union(*(pages for _, pages in results)))
        table(["table, bytes per sample", "simulated", "recorded", "recorded with sockets"],
              [[name] + [f"{pages.get(name, 0) / row[1]:.1f}" for row, pages in results] for name in names])
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
