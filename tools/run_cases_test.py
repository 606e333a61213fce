#!/usr/bin/env python3
"""Does run_cases.py find what it must find? A runner that lets everything pass would make all cases worthless."""
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

RUNNER = pathlib.Path(__file__).resolve().parent / "run_cases.py"


class RunCases(unittest.TestCase):
    def outcome(self, text):
        """Exit code and last line for a case file with this text, against a program that knows one command."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            program = folder / "culprit"
            program.write_text('#!/bin/sh\necho "list  the tables [1]"\necho note >&2\nexit "${1:-0}" 2>/dev/null\n')
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            (folder / "a.case").write_text(text)
            done = subprocess.run([sys.executable, RUNNER, folder, folder / "a.case"], text=True, capture_output=True)
            return done.returncode, (done.stdout or "\n").splitlines()[-1]

    def test_passes(self):
        text = "NAME a\nRUN culprit\nEXPECT list * [1]\nEXPECT_ERR note\nEXPECT_NOT crash\n\nNAME b\nRUN culprit 3\nEXIT 3\n"
        self.assertEqual(self.outcome(text), (0, "2 passed, 0 failed, 0 skipped"))

    def test_fails(self):
        for wrong in ("EXPECT nothing", "EXPECT_ERR list*", "EXIT 1", "EXPECT_NOT tables", "EXPECT list*\nEXPECT list*"):
            self.assertEqual(self.outcome(f"NAME a\nRUN culprit\n{wrong}\n"), (1, "0 passed, 1 failed, 0 skipped"), wrong)

    def test_skips_with_a_count(self):
        text = "NAME a\nREQUIRES program no-such-program\nRUN culprit\n"
        self.assertEqual(self.outcome(text), (77, "0 passed, 0 failed, 1 skipped"))
        text += "\nNAME b\nRUN culprit\n"
        self.assertEqual(self.outcome(text), (0, "1 passed, 0 failed, 1 skipped"))

    def test_refuses_unknown_words(self):
        self.assertEqual(self.outcome("NAME a\nEXPCT x\n")[0], 1)
        self.assertEqual(self.outcome("RUN culprit\n")[0], 1)
        # a program that is broken must not have its cases skipped for it
        self.assertEqual(self.outcome("NAME a\nREQUIRES command list\nRUN culprit\n")[0], 1)


if __name__ == "__main__":
    unittest.main()
