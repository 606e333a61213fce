#!/usr/bin/env python3
"""Two recorders at once: into different runs, marks by name; the same run is refused; --max-size stops one cleanly."""
import os
import sys

from record_common import Bench, check, manifest, query, wait_for


def main():
    with Bench(memory=True) as bench:
        one, two = bench.path("one.run"), bench.path("two.run")
        first = bench.start("record", "--interval", "100ms", "--quiet", "--out", one)
        wait_for(lambda: bench.samples(one) > 2, 20, "no samples: " + bench.output(first))

        refused = bench.run("record", "--for", "1s", "--out", one)
        check(refused.returncode == 1 and "another recorder" in refused.stderr and "hint:" in refused.stderr, refused.stderr)

        marked = bench.run("mark", "job 17", "starts")
        check(marked.returncode == 0, marked.stderr)
        check(query(one, "select node, kind, text from event where kind='mark'") == [("", "mark", "job 17 starts")], "the mark is not there")

        second = bench.start("record", "--interval", "50ms", "--quiet", "--max-size", "1MB", "--out", two)
        wait_for(lambda: bench.samples(two) > 2, 20, "no samples: " + bench.output(second))
        ambiguous = bench.run("mark", "which")
        check(ambiguous.returncode == 1 and "2 recordings" in ambiguous.stderr and "--run" in ambiguous.stderr, ambiguous.stderr)
        chosen = bench.run("mark", "--run", two, "this one")
        check(chosen.returncode == 0, chosen.stderr)

        check(second.wait(120) == 0, "max-size: " + bench.output(second))
        about = manifest(two)
        check(about["stopped"] == "max-size" and about["complete"], "stopped: %s" % about["stopped"])
        check(os.path.getsize(os.path.join(two, "metrics.sqlite")) < 2_000_000, "much larger than --max-size")
        check(query(two, "select text from event where kind='mark'") == [("this one",)], "the second run's mark")

        code, text = bench.stop(first)
        check(code == 0 and "recorded" in text and "next: culprit" in text, text)
        about = manifest(one)
        check(about["stopped"] == "asked" and about["own_cpu_seconds"] > 0 and about["own_rss_bytes"] > 0, str(about))
        check(len(about["nodes"]) == 1 and about["nodes"][0]["environment"], "no environment in the manifest")
        check(os.listdir(bench.path("registry")) == [], "the registry is not empty")

        again = bench.run("record", "--for", "1s", "--out", one)
        check(again.returncode == 1 and "exists already" in again.stderr, again.stderr)
        nobody = bench.run("mark", "late")
        check(nobody.returncode == 1 and "no recording" in nobody.stderr, nobody.stderr)
        for wrong in (["--interval", "10ms"], ["--interval", "2h"], ["--for", "0"], ["--max-size", "x"], ["--cluster", "/no/such"]):
            bad = bench.run("record", *wrong, "--out", bench.path("bad"))
            check(bad.returncode in (1, 2) and bad.stderr.startswith("culprit:"), "%s: %s" % (wrong, bad.stderr))
            check(not os.path.exists(bench.path("bad.run.partial")), "left behind by %s" % wrong)


if __name__ == "__main__":
    sys.exit(main())
