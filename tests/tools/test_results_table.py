# SPDX-License-Identifier: Apache-2.0
"""harness/tools/results_table.py: README's first table and the page of results have the figures of one run."""

import json
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "harness" / "tools"))
import page  # noqa: E402
import results_table  # noqa: E402

MARK = "<!-- oscar-fig07: from make headline-table -->"


def shown(file):
    text = (ROOT / file).read_text()
    found = re.search(rf"{re.escape(MARK)}\n(.*?)\n<!-- end -->", text, re.DOTALL)
    assert found, f"{file}: no {MARK}"
    return page.rows(found[1])


def test_readme_and_results_agree_to_the_digit():
    readme, results = shown("README.md"), shown("docs/research/results.md")
    case = ", ".join(reversed(readme[0][0].split(", ")))
    [row] = [row for row in results if row[0] == case]
    of_results = {head.split(":")[0]: cell.split(",")[0] for head, cell in zip(results[0][1:], row[1:])}
    of_readme = {row[0]: row[1] for row in readme[2:]}
    assert of_readme == of_results
    assert {"oscar", "oscar_paper"} < set(of_readme)


@pytest.mark.parametrize("mean, half, text", [
    (21.2512, 0.2841, "21.3 ± 0.3"), (1001.87, 0.284, "1001.9 ± 0.3"), (23166.2, 423.4, "23166 ± 423"), (0.99502, 0.00003, "0.995"),
    (0.871, 0.0031, "0.871 ± 0.003"), (1741, 0, "1741"), (12.2, 0, "12.2"),
])
def test_a_cell_has_the_digits_that_its_interval_supports(mean, half, text):
    assert results_table.number(mean, half) == text


def figure(mean, unit):
    return {"mean": mean, "ci95": 0.2, "unit": unit, "n": 12, "min": mean, "max": 2 * mean}


def sweep(names):
    units = {"recover_us": "us", "utilisation": "", "rtt_p50_us": "us", "rtt_p99_us": "us", "queue_mean_bytes": "bytes"}
    algorithms = {name: {metric: figure(20.0 + i, unit) for metric, unit in units.items()} for i, name in enumerate(names)}
    parameters = {"k": 9, "gbps": 100}
    return {"scenario": "oscar-fig07", "parameters": parameters, "algorithms": algorithms,
            "cases": [{"parameters": {"k": 1, "gbps": 40}, "algorithms": algorithms}, {"parameters": parameters, "algorithms": algorithms}]}


def test_both_pages_are_written_or_neither(tmp_path):
    (tmp_path / "docs" / "research").mkdir(parents=True)
    pages = [tmp_path / "README.md", tmp_path / "docs" / "research" / "results.md"]
    heads = ["| k = 9, 100 Gbit/s | time to recover (µs) | utilisation | median RTT (µs) | p99 RTT (µs) | mean queue (KB) |\n| --- |\n",
             "| `recover_us` (µs) | oscar: mean, worst phase | oscar_paper: mean, worst phase | cubic |\n| --- |\n"]
    rows = ["| oscar | old | | | | |\n| oscar_paper | old | | | | |\n| cubic | old | | | | |",
            "| 100 Gbit/s, k = 3 | old | | |\n| 100 Gbit/s, k = 9 | old | | |\n| 40 Gbit/s, k = 1 | old | | |"]
    shown = [head + body for head, body in zip(heads, rows)]
    for file, table in zip(pages, shown):
        file.write_text(f"above\n{MARK}\n{table}\n<!-- end -->\nbelow\n")
    summary = tmp_path / "summary.json"
    summary.write_text(json.dumps(sweep(["oscar", "cubic"])))
    with pytest.raises(SystemExit, match="without oscar_paper"):
        results_table.headline(summary, tmp_path)
    assert all("old" in file.read_text() for file in pages)
    summary.write_text(json.dumps(sweep(["oscar", "cubic", "oscar_paper"])))
    results_table.headline(summary, tmp_path)
    assert "| oscar_paper | 22.0 ± 0.2 |" in pages[0].read_text()
    assert "| 100 Gbit/s, k = 9 | 20.0 ± 0.2, 40.0 | 22.0 ± 0.2, 44.0 | 21.0 ± 0.2 |" in pages[1].read_text()
    assert pages[1].read_text().count("old") == 1  # what was not run
