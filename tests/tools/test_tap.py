# SPDX-License-Identifier: Apache-2.0
"""harness/tools/tap.py: a test machine's console as TAP."""

import pathlib
import subprocess
import sys

TAP = pathlib.Path(__file__).resolve().parents[2] / "harness" / "tools" / "tap.py"


def converted(tmp_path, console):
    file = tmp_path / "console.log"
    file.write_text(console)
    done = subprocess.run([sys.executable, TAP, file], capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines()


def test_results_become_numbered_lines_with_their_reasons(tmp_path):
    status, lines = converted(tmp_path, "boot\r\nPASS too_early\r\nBEGIN 6.1.0\r\nPASS one\r\nnoise\r\nFAIL two: it broke: 3 of 4\r\n"
                                        "SKIP three: no device\r\nEND\r\nPASS too_late\r\n")
    assert lines == ["TAP version 13", "ok 1 one", "# noise", "# it broke: 3 of 4", "not ok 2 two", "ok 3 three # SKIP no device", "1..3"]
    assert status == 1


def test_a_machine_whose_tests_all_passed_is_success(tmp_path):
    assert converted(tmp_path, "BEGIN\nPASS one\nSKIP two: x\nEND\n") == (0, ["TAP version 13", "ok 1 one", "ok 2 two # SKIP x", "1..2"])


def test_a_machine_that_went_off_is_no_success(tmp_path):
    status, lines = converted(tmp_path, "BEGIN\nPASS one\n")
    assert status == 1
    assert "Bail out! the machine went off before its tests had ended" in lines
    assert converted(tmp_path, "BEGIN\nEND\n")[0] == 1, "nothing ran"


def test_a_console_that_is_missing_is_named(tmp_path):
    done = subprocess.run([sys.executable, TAP, tmp_path / "none"], capture_output=True, text=True)
    assert done.returncode == 2
    assert f"{tmp_path}/none: No such file or directory; make vm-test writes the console" in done.stderr
