#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the bottleneck's queue over time, from the samples that `delaycc run` keeps, as a Markdown table.

usage: queue_table.py RESULTS.sqlite STEP_US END_US ALGORITHM[,ALGORITHM...]

A row per step of time, a column per algorithm; a cell is mean and maximum (KB) of the samples of each whole
microsecond in the step, over all trials of the scenario's main case.
"""

import sqlite3
import sys

QUERY = """
SELECT t_us / :step AS row, avg(bytes) / 1000.0, max(bytes) / 1000.0
FROM queue_samples JOIN trials ON trials.id = queue_samples.trial
WHERE algorithm = :algorithm AND t_us < :end GROUP BY row ORDER BY row"""


def kilobytes(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def main(path, step, end, names):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    columns = []
    for name in names:
        cells = db.execute(QUERY, {"step": step, "end": end, "algorithm": name}).fetchall()
        if not cells:
            sys.exit(f"queue_table.py: {path} has no samples of {name}")
        columns.append({row: f"{kilobytes(mean)}, {kilobytes(peak)}" for row, mean, peak in cells})
    print("| us | " + " | ".join(names) + " |")
    print("| --- |" + " --- |" * len(names))
    for row in range((end + step - 1) // step):
        print(f"| {row * step} - {(row + 1) * step} | " + " | ".join(c.get(row, "-") for c in columns) + " |")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].split(","))
