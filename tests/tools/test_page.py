# SPDX-License-Identifier: Apache-2.0
"""harness/tools/page.py: tables in a page are replaced, in whole or in part."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "harness" / "tools"))
import page  # noqa: E402

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
    assert page.columns(RUN, SHOWN, 2) == MERGED


def test_columns_that_are_not_named_stay():
    run = RUN.replace("sqcc |", "bbr | sqcc |").replace("| > 7 |", "| 9 | > 7 |").replace("| 8 |", "| 9 | 8 |").replace("--- |\n", "--- | --- |\n")
    assert page.columns(run, SHOWN, 2, ["sqcc"]) == MERGED


def test_cells_that_were_run_are_replaced():
    shown = "| name | a | b |\n| --- | --- | --- |\n| x | 1 | 2 |\n| y | 3 | 4 |"
    run = "| name | b |\n| --- | --- |\n| y | 5 |"
    assert page.cells_by_name(run, shown) == shown.replace("4", "5")
    for changed, why in ((run.replace("y", "z"), "no row z"), (run.replace("b", "c"), "no column c")):
        with pytest.raises(SystemExit, match=why):
            page.cells_by_name(changed, shown)


def test_rows_that_were_run_are_replaced():
    head = "| name | a |\n| --- | --- |\n"
    shown = head + "| `x` | 1 |\n| `y` | 2 |"
    assert page.rows_by_name(head + "| `y` | 3 |", shown) == shown.replace("2", "3")
    for run, why in ((head + "| `z` | 3 |", "no row `z`"), (head.replace(" a ", " b ") + "| `y` | 3 |", "another head")):
        with pytest.raises(SystemExit, match=why):
            page.rows_by_name(run, shown)


@pytest.mark.parametrize("run, why", [
    (RUN.rsplit("\n", 1)[0], "other cases"),
    (RUN.replace("| 4 |", "| 5 |"), "other cases"),
    (RUN.replace("sqcc", "vegas"), "no column vegas"),
])
def test_a_table_that_does_not_fit_is_refused(run, why):
    with pytest.raises(SystemExit, match=why):
        page.columns(run, SHOWN, 2)


def test_the_page_changes_in_its_table_alone(tmp_path):
    text = "before\n<!-- some jain: from make it -->\n{}\n<!-- end -->\nafter\n<!-- some queue: from make it -->\n"
    file = tmp_path / "page.md"

    def put(before, name="some jain", **merge):
        file.write_text(before, encoding="utf-8")
        shown = page.Page(file)
        shown.put(name, "make it", RUN, **merge)
        shown.save()
        return file.read_text(encoding="utf-8")

    assert put(text.format(SHOWN)) == text.format(RUN)
    assert put(text.format(SHOWN), merge=lambda new, shown: page.columns(new, shown, 2)) == text.format(MERGED)
    for before, name in ((text.format(SHOWN), "some goodput"), (text.format(SHOWN) * 2, "some jain")):
        with pytest.raises(SystemExit, match="has not one"):
            put(before, name)
        assert file.read_text(encoding="utf-8") == before
