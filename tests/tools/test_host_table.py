# SPDX-License-Identifier: Apache-2.0
"""harness/tools/host_table.py: --page with --cc replaces columns and leaves the rest."""

import importlib.util
import pathlib
import sys

import pytest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "harness" / "tools" / "host_table.py"

SHOWN = """| n | from | bbr | sqcc | swift |
| --- | --- | --- | --- | --- |
| 1 | near | 0.1 | 0.2 | > 0.3 |
| 4 | far | 0.4 | 0.5 | 0.6 |"""


@pytest.fixture(scope="module", name="tool")
def fixture_tool():
    spec = importlib.util.spec_from_file_location("host_table", TOOL)
    module = importlib.util.module_from_spec(spec)
    sys.modules["host_table"] = module
    spec.loader.exec_module(module)
    return module


def test_the_columns_that_were_run_are_replaced(tool):
    run = "| n | from | sqcc |\n| --- | --- | --- |\n| 1 | near | > 7 |\n| 4 | far | 8 |"
    assert tool.merged(run, SHOWN, 2) == SHOWN.replace("0.2", "> 7").replace("0.5", "8")


@pytest.mark.parametrize("run, why", [
    ("| n | from | sqcc |\n| --- | --- | --- |\n| 1 | near | 7 |", "other cases"),
    ("| n | from | sqcc |\n| --- | --- | --- |\n| 1 | near | 7 |\n| 5 | far | 8 |", "other cases"),
    ("| n | from | vegas |\n| --- | --- | --- |\n| 1 | near | 7 |\n| 4 | far | 8 |", "no column vegas"),
])
def test_a_table_that_does_not_fit_is_refused(tool, run, why):
    with pytest.raises(SystemExit, match=why):
        tool.merged(run, SHOWN, 2)


def test_the_page_changes_in_its_table_alone(tool, monkeypatch):
    options = type("Options", (), {"cc": "sqcc"})
    monkeypatch.setitem(tool.CASES, "some", ({"n": [1, 4], "from": ["near", "far"], "base": ["automatic"]}, []))
    marks = "before\n<!-- some jain: from harness/tools/host_table.py -->\n{}\n<!-- end -->\nafter\n<!-- some queue: x -->\n"
    run = "| n | from | sqcc |\n| --- | --- | --- |\n| 1 | near | 7 |\n| 4 | far | 8 |"
    page = tool.put(marks.format(SHOWN), options, "some", "jain", run)
    assert page == marks.format(SHOWN.replace("0.2", "7").replace("0.5", "8"))
    options.cc = None
    assert tool.put(page, options, "some", "jain", run) == marks.format(run)
    with pytest.raises(SystemExit, match="has no"):
        tool.put(page, options, "some", "goodput", run)
