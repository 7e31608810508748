# SPDX-License-Identifier: Apache-2.0
"""harness/tools/host_table.py: --page with --cc replaces columns and leaves the rest."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "harness" / "tools"))
import host_table  # noqa: E402

SHOWN = """| n | from | bbr | sqcc | swift |
| --- | --- | --- | --- | --- |
| 1 | near | 0.1 | 0.2 | > 0.3 |
| 4 | far | 0.4 | 0.5 | 0.6 |"""
RUN = """| n | from | sqcc |
| --- | --- | --- |
| 1 | near | > 7 |
| 4 | far | 8 |"""
MERGED = SHOWN.replace("0.2", "> 7").replace("0.5", "8")


def test_the_columns_that_were_run_are_replaced():
    assert host_table.merged(RUN, SHOWN, 2) == MERGED


@pytest.mark.parametrize("run, why", [
    (RUN.rsplit("\n", 1)[0], "other cases"),
    (RUN.replace("| 4 |", "| 5 |"), "other cases"),
    (RUN.replace("sqcc", "vegas"), "no column vegas"),
])
def test_a_table_that_does_not_fit_is_refused(run, why):
    with pytest.raises(SystemExit, match=why):
        host_table.merged(run, SHOWN, 2)


def test_the_page_changes_in_its_table_alone(monkeypatch):
    options = type("Options", (), {"cc": "sqcc"})
    monkeypatch.setitem(host_table.CASES, "some", ({"n": [1, 4], "from": ["near", "far"], "base": ["automatic"]}, []))
    marks = "before\n<!-- some jain: from harness/tools/host_table.py -->\n{}\n<!-- end -->\nafter\n<!-- some queue: x -->\n"
    page = host_table.put(marks.format(SHOWN), options, "some", "jain", RUN)
    assert page == marks.format(MERGED)
    options.cc = None
    assert host_table.put(page, options, "some", "jain", RUN) == marks.format(RUN)
    for other, metric in ((page, "goodput"), (page * 2, "jain")):
        with pytest.raises(SystemExit, match="has not one"):
            host_table.put(other, options, "some", metric, RUN)
