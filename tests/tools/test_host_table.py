# SPDX-License-Identifier: Apache-2.0
"""harness/tools/host_table.py: --page with --cc replaces columns and leaves the rest."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "harness" / "tools"))
import host_table  # noqa: E402
import page  # noqa: E402


@pytest.mark.parametrize("cc, then", [("sqcc", "| 1 | near | 0.1 | 7 |"), (None, "| 1 | near | 7 |")])
def test_with_cc_the_columns_of_others_stay(monkeypatch, tmp_path, cc, then):
    monkeypatch.setitem(host_table.CASES, "some", ({"n": [1, 4], "from": ["near", "far"], "base": ["automatic"]}, []))
    text = "<!-- some jain: from harness/tools/host_table.py -->\n| n | from |{}\n| --- | --- |{}\n{}\n<!-- end -->\n"
    run = "| n | from | sqcc |\n| --- | --- | --- |\n| 1 | near | 7 |"
    file = tmp_path / "page.md"
    file.write_text(text.format(" bbr | sqcc |", " --- | --- |", "| 1 | near | 0.1 | 0.2 |"), encoding="utf-8")
    shown = page.Page(file)
    host_table.put(shown, type("Options", (), {"cc": cc}), "some", "jain", run)
    assert then in shown.text.splitlines()
