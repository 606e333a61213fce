#!/usr/bin/env python3
"""How many tests were there in ctest's JUnit file? Counts single unit tests and text cases, not only their programs,
so that a skip inside one is counted. Prints PASSED FAILED SKIPPED, then one line per skip and per failure on stderr."""
import re
import sys
import xml.etree.ElementTree as ElementTree

GTEST = {kind: re.compile(rf"^\[  {word} \] (\d+) tests?", re.MULTILINE)
         for kind, word in (("passed", "PASSED "), ("failed", "FAILED "), ("skipped", "SKIPPED"))}
CASES = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
SKIPS = re.compile(r"^skip (.+)$|^\[  SKIPPED \] (\w+\.[\w/]+)$|^(?:.*: )?Skipped\n(.+)$", re.MULTILINE)


def number(pattern, text):
    match = pattern.search(text)
    return int(match.group(1)) if match else 0


def count(test):
    """(passed, failed, skipped) of one program that ctest ran."""
    output = test.findtext("system-out") or ""
    cases = CASES.findall(output)
    if cases:
        inside = tuple(map(int, cases[-1]))
    else:
        inside = tuple(number(GTEST[kind], output) for kind in ("passed", "failed", "skipped"))
    if test.find("failure") is not None:  # also when it crashed and said nothing
        return inside[0], max(1, inside[1]), inside[2]
    if test.find("skipped") is not None:
        return 0, 0, max(1, inside[2])
    return inside if any(inside) else (1, 0, 0)


def main():
    totals = [0, 0, 0]
    for test in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        output = test.findtext("system-out") or ""
        for i, n in enumerate(count(test)):
            totals[i] += n
        if test.find("failure") is not None:
            print(f"failed:  {test.get('name')}", file=sys.stderr)
        for match in dict.fromkeys(next(filter(None, groups)) for groups in SKIPS.findall(output)):
            print(f"skipped: {test.get('name')}: {match}", file=sys.stderr)
        if test.find("skipped") is not None and not SKIPS.search(output):
            print(f"skipped: {test.get('name')}: {output.strip().splitlines()[-1] if output.strip() else '?'}",
                  file=sys.stderr)
    print(*totals)


if __name__ == "__main__":
    main()
