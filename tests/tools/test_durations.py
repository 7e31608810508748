# SPDX-License-Identifier: Apache-2.0
"""harness/tools/durations.py: what each file of tests needs, and the budget of `make test`."""

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "harness/tools"))

import durations  # noqa: E402

LINES = [json.dumps({"test": test, "cpu_s": cpu_s}) for test, cpu_s in (
    ("tests/lab/a.py::one", 90), ("tests/lab/a.py::one", 1), ("tests/lab/a.py::two[x]", 3), ("tests/vm/b.py::three", 50), ("ctest", 100))]
QUICK = {"tests/lab/a.py::one", "tests/lab/a.py::two[x]"}


def test_the_last_run_of_each_test_counts_in_the_tier_that_it_has_now():
    files = durations.recorded(LINES, QUICK)
    assert files == {"tests/lab/a.py": [2, 4.0, 0, 0.0], "tests/vm/b.py": [0, 0.0, 1, 50.0], "ctest": [1, 100.0, 0, 0.0]}


def test_a_table_that_was_made_can_be_read_again():
    shown = durations.shown(durations.table(durations.recorded(LINES, QUICK)))
    assert shown == {"tests/lab/a.py": [2, 4.0, 0, 0.0], "tests/vm/b.py": [0, 0.0, 1, 50.0], "ctest": [1, 100.0, 0, 0.0]}


def test_what_has_not_run_keeps_its_figures_while_its_file_is_there():
    here = str(pathlib.Path(__file__).relative_to(durations.ROOT))
    files = durations.recorded(LINES, QUICK)
    durations.keep(files, {here: [1, 2.0, 3, 4.0], "tests/lab/gone.py": [1, 2.0, 0, 0.0], "ctest": [1, 7.0, 0, 0.0]})
    assert files[here] == [1, 2.0, 3, 4.0] and not {"tests/lab/gone.py", "tests/lab/a.py"} & {*files} and files["ctest"][1] == 100.0


def test_tests_more_need_what_their_file_s_tests_need_on_the_mean():
    known = {"tests/lab/a.py": [2, 4.0, 0, 0], "ctest": [1, 100.0, 0, 0]}
    assert durations.needed(["tests/lab/a.py::one"] * 5, known) == 110


def test_a_file_that_was_never_recorded_is_named():
    with pytest.raises(SystemExit, match=r"no quick tests of tests/vm/b\.py"):
        durations.needed(["tests/vm/b.py::three"], {"tests/vm/b.py": [0, 0.0, 1, 50.0]})
