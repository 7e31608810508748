#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints summaries of `delaycc run` as Markdown tables.

usage: results_table.py METRIC[,METRIC...] SUMMARY.json [SUMMARY.json ...]
       results_table.py --across METRIC LABEL=SUMMARY.json [LABEL=SUMMARY.json ...]

First form: one table per summary and case, a row per algorithm, a column per metric.
Second form: a row per case (of the first summary), a column per summary, for its first algorithm.
A cell is the mean and the half-width of its 95 % interval; "-" where the metric does not apply.
"""

import json
import sys

SCALES = {"bytes": (1000.0, "KB")}


def unit(cell):
    return SCALES.get(cell["unit"], (1.0, cell["unit"]))[1]


def text(cell):
    if cell is None:
        return "-"
    scale = SCALES.get(cell["unit"], (1.0, ""))[0]
    mean, half = cell["mean"] / scale, (cell["ci95"] or 0) / scale
    digits = 0 if abs(mean) >= 1000 else 1 if abs(mean) >= 10 else 3
    mark = "> " if cell.get("missed") else ""
    return f"{mark}{mean:.{digits}f} ± {half:.{max(digits, 1)}f}" if half >= 0.05 * 10**-digits else f"{mark}{mean:.{digits}f}"


def cases(summary):
    return summary.get("cases") or [summary]


def label(case):
    return ", ".join(f"{key} = {value}" for key, value in sorted(case.get("parameters", {}).items()))


def row(cells):
    print("| " + " | ".join(cells) + " |")


def per_algorithm(metrics, files):
    for file in files:
        summary = json.load(open(file))
        for case in cases(summary):
            algorithms = case["algorithms"]
            shown = [m for m in metrics if any(m in figures for figures in algorithms.values())]
            head = [next(f"`{m}`" + (f" ({unit(f[m])})" if unit(f[m]) else "") for f in algorithms.values() if m in f)
                    for m in shown]
            print(f"\n{summary['scenario']} {label(case)}\n")
            row(["", *head])
            row(["---"] * (len(shown) + 1))
            for name, figures in algorithms.items():
                row([name, *(text(figures.get(m)) for m in shown)])


def across(metric, named):
    tables = [(name, json.load(open(file))) for name, _, file in (n.partition("=") for n in named)]
    row([f"{tables[0][1]['scenario']}, `{metric}`", *(name for name, _ in tables)])
    row(["---"] * (len(tables) + 1))
    for i, case in enumerate(cases(tables[0][1])):
        cells = []
        for _, summary in tables:
            figures = next(iter(cases(summary)[i]["algorithms"].values()))
            cells.append(text(figures.get(metric)))
        row([label(case) or "-", *cells])


def main(arguments):
    if len(arguments) >= 3 and arguments[0] == "--across":
        across(arguments[1], arguments[2:])
    elif len(arguments) >= 2 and not arguments[0].startswith("-"):
        per_algorithm(arguments[0].split(","), arguments[1:])
    else:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
