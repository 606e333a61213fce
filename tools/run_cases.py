#!/usr/bin/env python3
"""Runs text cases (tests/cli/**/*.case) against the built program.

A case file holds several cases, separated by blank lines before the next NAME. The words at a line's start:

  NAME what is shown          begins a case
  REQUIRES root               skipped for others; also: user, program NAME
  RUN command line            run by bash -e in a fresh folder; several RUN lines are one script
  EXPECT line                 a line of stdout; * stands for anything; the lines come in this order, others between them
  EXPECT_ERR line             the same for stderr
  EXPECT_NOT text             in no line of either
  EXIT code                   0 when it is not given
  # comment

`culprit` is in PATH, SRC is the source tree. Usage: run_cases.py BUILD_FOLDER FILE...
Exit code 0: all passed, 77: all were skipped, 1: one failed.
"""
import fnmatch
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TIME_LIMIT_S = 60
WORDS = {"NAME", "REQUIRES", "RUN", "EXPECT", "EXPECT_ERR", "EXPECT_NOT", "EXIT"}


def read_cases(path):
    cases = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        if word not in WORDS or (not cases and word != "NAME"):
            sys.exit(f"{path}:{number}: unexpected {word!r}")
        if word == "NAME":
            cases.append({key: [] for key in WORDS} | {"NAME": rest, "EXIT": 0})
        elif word == "EXIT":
            cases[-1]["EXIT"] = int(rest)
        else:
            cases[-1][word].append(rest)
    return cases


def missing(requirement):
    """Why the case cannot run here, or nothing."""
    kind, _, name = requirement.partition(" ")
    if kind == "root":
        return "" if os.geteuid() == 0 else "needs root"
    if kind == "user":
        return "" if os.geteuid() != 0 else "needs an ordinary user"
    if kind == "program":
        return "" if shutil.which(name) else f"needs the program {name}"
    sys.exit(f"unknown requirement {requirement!r}")


def in_order(patterns, text):
    """The first pattern that no line after the previous match fits, or None."""
    lines = iter(text.splitlines())
    for pattern in patterns:
        glob = pattern.strip().replace("[", "[[]").replace("?", "[?]")
        if not any(fnmatch.fnmatchcase(line.strip(), glob) for line in lines):
            return pattern
    return None


def failure(case, environment):
    with tempfile.TemporaryDirectory(prefix="culprit-case-") as folder:
        try:
            done = subprocess.run(["bash", "-ec", "\n".join(case["RUN"])], cwd=folder, env=environment, text=True,
                                  errors="replace", stdin=subprocess.DEVNULL, capture_output=True, timeout=TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            return f"still running after {TIME_LIMIT_S} s"
    shown = f"--- stdout\n{done.stdout[-3000:]}--- stderr\n{done.stderr[-3000:]}"
    if done.returncode != case["EXIT"]:
        return f"exit code {done.returncode} instead of {case['EXIT']}\n{shown}"
    for key, text in (("EXPECT", done.stdout), ("EXPECT_ERR", done.stderr)):
        pattern = in_order(case[key], text)
        if pattern is not None:
            return f"no line (after the one before it) fits {key} {pattern}\n{shown}"
    for unwanted in case["EXPECT_NOT"]:
        if unwanted in done.stdout + done.stderr:
            return f"there is a line with {unwanted}\n{shown}"
    return ""


def main():
    build, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(__file__).resolve().parent.parent
    environment = dict(os.environ, PATH=f"{build}:{os.environ['PATH']}", SRC=str(root), LC_ALL="C.UTF-8")
    passed = failed = skipped = 0
    for path in map(pathlib.Path, sys.argv[2:]):
        for case in read_cases(path):
            reason = next(filter(None, (missing(r) for r in case["REQUIRES"])), "")
            why = "" if reason else failure(case, environment)
            passed, failed, skipped = passed + (not reason and not why), failed + bool(why), skipped + bool(reason)
            word = "skip" if reason else "FAIL" if why else "ok"
            print(f"{word:4} {path.stem}: {case['NAME']}" + (f": {reason}" if reason else f": {why}" if why else ""))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 77 if skipped and not passed else 0)


if __name__ == "__main__":
    main()
