#!/usr/bin/env python3
"""Are the tables of docs/results what the kept rows say?

A line `<!-- table FILE: TEXT -->` in a page stands above a copy of a table of docs/results/tables/FILE.md: the one below the
heading that begins with TEXT, or whose first row begins so.

  tools/check_results.py CULPRIT    scores the rows, compares them with the tables, and the tables with the pages
  tools/check_results.py --copy     copies the tables into the pages, after benchmarks/fast10_results or hotdep09_results
"""
import difflib
import pathlib
import re
import subprocess
import sys

RESULTS = pathlib.Path(__file__).resolve().parent.parent / "docs" / "results"
MARK = re.compile(r"<!-- table (\S+): (.+) -->")
# What `culprit score` printed each table from, as in benchmarks/*_results: the first pattern that fits its name. Others need
# the runs themselves (a sweep, other parameters) or another script.
SCORED = [
    (r"overhead", "overhead --overhead"),
    (r"fast10-cells", "fast10-fast10.jsonl --by cell"),
    (r"pairs-(fast10|median_ratio)", r"--pairs pairs-100ms-\1.jsonl pairs-1s-\1.jsonl"),
    (r"pairs-again-(fast10|median_ratio)", r"--pairs pairs-100ms-\1.jsonl pairs-100ms-again-\1.jsonl"),
    (r"(hotdep-table1-hotdep09_\w+)", r"\1.jsonl"),
    (r"(hotdep-\w+-hotdep09_\w+)", r"\1.jsonl --by fault"),
    (r"([\w-]+-(fast10|median_ratio))", r"\1.jsonl --paper"),
]


def tables(text):
    """Each table of a text: the heading above it, and its lines."""
    heading, rows = "", []
    for line in text.split("\n") + [""]:
        if line.startswith("|"):
            rows.append(line)
            continue
        if rows:
            yield heading, rows
            rows = []
        if line.startswith("#"):
            heading = line.lstrip("# ")


def find(name, text):
    """The lines of the one table that a mark means."""
    found = [rows for heading, rows in tables((RESULTS / "tables" / (name + ".md")).read_text())
             if heading.startswith(text) or rows[0].startswith("| " + text)]
    if len(found) != 1:
        raise SystemExit("docs/results/tables/%s.md has %d tables %r, not one" % (name, len(found), text))
    return found[0]


def with_tables(page):
    """The page with the tables as they are now, and how many it has."""
    lines, out, count = page.split("\n"), [], 0
    while lines:
        out.append(lines.pop(0))
        mark = MARK.fullmatch(out[-1])
        if not mark:
            continue
        while lines and lines[0].startswith("|"):
            lines.pop(0)
        out += find(*mark.groups())
        count += 1
    return "\n".join(out), count


def compare(was, now, name, hint):
    """The difference, printed; whether there is one."""
    rows = list(difflib.unified_diff(was.split("\n"), now.split("\n"), name, "now", lineterm="", n=0))
    if rows:
        print("\n".join(rows[:40]))
        print("%s is stale\nhint: %s" % (name, hint))
    return bool(rows)


def check_rows(culprit):
    stale = scored = 0
    for table in sorted((RESULTS / "tables").glob("*.md")):
        words = next((re.sub(name, words, table.stem) for name, words in SCORED if re.fullmatch(name, table.stem)), "")
        if not words:
            continue
        done = subprocess.run([culprit, "score", *words.split()], cwd=RESULTS / "rows", capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit("culprit score %s: %s" % (words, done.stderr))
        stale += compare(table.read_text(), done.stdout, "docs/results/tables/" + table.name,
                         "in docs/results/rows: culprit score " + words)
        scored += 1
    return stale, scored


def main():
    if len(sys.argv) != 2:
        raise SystemExit("usage: tools/check_results.py CULPRIT, or --copy")
    copy = sys.argv[1] == "--copy"
    stale, scored = (0, 0) if copy else check_rows(sys.argv[1])
    copies = 0
    for page in sorted(RESULTS.glob("*.md")):
        now, count = with_tables(page.read_text())
        copies += count
        if copy:
            page.write_text(now)
        else:
            stale += compare(page.read_text(), now, "docs/results/" + page.name, "tools/check_results.py --copy")
    print("%d tables scored, %d copies of them in pages, %d stale" % (scored, copies, stale))
    if stale or not copies or not (scored or copy):  # nothing found is no success
        raise SystemExit(1)


main()
