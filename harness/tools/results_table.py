#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints summaries of `delaycc run` as Markdown tables.

usage: results_table.py METRIC[,METRIC...] SUMMARY.json [SUMMARY.json ...]
       results_table.py --across METRIC LABEL=SUMMARY.json [LABEL=SUMMARY.json ...]
       results_table.py --headline SUMMARY.json [ROOT]

First form: one table per summary and case, a row per algorithm, a column per metric.
Second form: a row per case (of the first summary), a column per summary, for its first algorithm.
Third form (make headline-table): from one run of oscar-fig07 the table of README.md, which is of the main case, and in
docs/research/results.md the cells of Figure 7's table, so that the two agree.  What was not run stays.
A cell is the mean and the half-width of its 95 % interval; "-" where the metric does not apply.
"""

import json
import math
import pathlib
import sys

import page

SCALES = {"bytes": (1000.0, "KB"), "us": (1.0, "µs")}
# README's columns.
HEADLINE = {"recover_us": "time to recover", "utilisation": "utilisation", "rtt_p50_us": "median RTT", "rtt_p99_us": "p99 RTT",
            "queue_mean_bytes": "mean queue"}
# Those whose slowest trial is shown beside the mean.
WITH_WORST = ("oscar", "oscar_paper")


def unit(cell):
    return SCALES.get(cell["unit"], (1.0, cell["unit"]))[1]


def scaled(cell, key):
    return (cell[key] or 0) / SCALES.get(cell["unit"], (1.0, ""))[0]


def digits_of(mean):
    return 0 if abs(mean) >= 1000 else 1 if abs(mean) >= 10 else 3


def number(mean, half):
    """One digit of the half-width, three decimals at most; without it where that is 0."""
    digits = min(3, max(0, -math.floor(math.log10(half)))) if half > 0 else 0
    if half < 0.5 * 10**-digits:
        return f"{mean:.{digits_of(mean)}f}"
    return f"{mean:.{digits}f} ± {half:.{digits}f}"


def text(cell):
    if cell is None:
        return "-"
    return ("> " if cell.get("missed") else "") + number(scaled(cell, "mean"), scaled(cell, "ci95"))


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


def with_worst(cell):
    worst = scaled(cell, "max")
    return f"{text(cell)}, {worst:.{digits_of(worst)}f}"


def headline(file, root):
    """Writes both pages, or neither."""
    summary = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
    if summary["scenario"] != "oscar-fig07":
        raise SystemExit(f"results_table.py: {file}: not of oscar-fig07")
    main_case = summary["algorithms"]
    names = list(main_case)
    missing = [name for name in WITH_WORST if name not in names]
    if missing:
        raise SystemExit(f"results_table.py: {file}: without {', '.join(missing)}")
    order = [*WITH_WORST, *(name for name in names if name not in WITH_WORST)]
    k, gbps = summary["parameters"]["k"], summary["parameters"]["gbps"]
    units = {metric: unit(main_case["oscar"][metric]) for metric in HEADLINE}
    titles = [f"{title} ({units[metric]})" if units[metric] else title for metric, title in HEADLINE.items()]
    readme, results = page.Page(root / "README.md"), page.Page(root / "docs" / "research" / "results.md")
    readme.put("oscar-fig07", "make headline-table",
               page.table([f"k = {k}, {gbps} Gbit/s", *titles], [[name, *(text(main_case[name].get(m)) for m in HEADLINE)] for name in order]),
               page.cells_by_name)
    rows = []
    for case in sorted(cases(summary), key=lambda c: (-c["parameters"]["gbps"], c["parameters"]["k"])):
        figures = [case["algorithms"][name]["recover_us"] for name in order]
        rows.append([f"{case['parameters']['gbps']} Gbit/s, k = {case['parameters']['k']}",
                     *(with_worst(f) if name in WITH_WORST else text(f) for name, f in zip(order, figures))])
    results.put("oscar-fig07", "make headline-table",
                page.table(["`recover_us` (µs)", *(f"{n}: mean, worst phase" if n in WITH_WORST else n for n in order)], rows), page.cells_by_name)
    readme.save()
    results.save()


def main(arguments):
    if len(arguments) >= 3 and arguments[0] == "--across":
        across(arguments[1], arguments[2:])
    elif 2 <= len(arguments) <= 3 and arguments[0] == "--headline":
        headline(arguments[1], pathlib.Path(arguments[2]) if arguments[2:] else pathlib.Path(__file__).resolve().parents[2])
    elif len(arguments) >= 2 and not arguments[0].startswith("-"):
        per_algorithm(arguments[0].split(","), arguments[1:])
    else:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
