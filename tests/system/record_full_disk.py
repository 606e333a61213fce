#!/usr/bin/env python3
"""A disk that fills up while recording: it stops by itself, says so, and the run is closed and readable."""
import os
import subprocess
import sys

from record_common import Bench, check, manifest, query, skip, wait_for


def main():
    if os.geteuid() != 0:
        skip("mounting a small disk needs root")
    with Bench() as bench:
        small = bench.path("small")
        os.mkdir(small)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=7m", "culprit-test", small], capture_output=True).returncode != 0:
            skip("cannot mount a tmpfs here")
        bench.cleanups.append(lambda: subprocess.run(["umount", small], check=True))
        run = os.path.join(small, "full.run")
        recorder = bench.start("record", "--interval", "50ms", "--quiet", "--out", run)
        wait_for(lambda: bench.samples(run) > 5, 20, "the recording does not begin: " + bench.output(recorder))
        filler = os.open(os.path.join(small, "filler"), os.O_WRONLY | os.O_CREAT)  # somebody else fills the disk
        try:
            while os.write(filler, b"x" * 4096) > 0:
                pass
        except OSError:
            pass
        os.close(filler)
        code = recorder.wait(60)
        text = bench.output(recorder)
        print(text)
        check(code == 1, "exit code %d" % code)
        check("No space left" in text and "recorded" in text, "it does not say why it stopped")
        check(os.path.isdir(run) and not os.path.exists(run + ".partial"), "the run was not closed")
        about = manifest(run)
        check(about["stopped"] == "disk full" and about["complete"], "the manifest does not say why: %s" % about.get("stopped"))
        check(query(run, "pragma integrity_check") == [("ok",)], "the database is damaged")
        check(query(run, "select count(*) from sample")[0][0] > 5, "the samples before the end are gone")


if __name__ == "__main__":
    sys.exit(main())
