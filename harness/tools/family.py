#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a family of scenarios, harness/scenarios/FAMILY, and prints its tables and which of its goals are reached.

usage: family.py held-out|path [--trials N] [--jobs N] [--seed N] [--cc NAME,...] [--lab DIR] [--out DIR] [--against DIR] [--page] [SCENARIO ...]

A table per metric: a row for each case, a column for each algorithm, a cell with the mean over the trials.  With --against, the --out of an
earlier run (of another law: --lab) with the same --seed, a cell has that mean, this one, and in brackets the mean difference of the same trials
with its 95 % interval; * marks one that does not reach 0.  > is a lower bound: something has not recovered before the end.  The goals are the
scenarios' expectations.  A scenario that was run before, with the same words, is read and not run again.

held-out: no rule and no constant is to be chosen by these figures (docs/research/held-out.md).
path: what the path model's rules are tried on; --page writes one table of it into docs/design/path-model.md: utilisation, Jain's index and mean
queue in KB.
"""

import statistics
import sys

import page
import sweep

FAMILIES = ["held-out", "path"]
PAGE = sweep.ROOT / "docs" / "design" / "path-model.md"
METRICS = ["utilisation", "jain", "queue_mean_bytes", "recover_us"]


def scenarios(family):
    return sorted(file.stem for file in (sweep.ROOT / "harness" / "scenarios" / family).glob("*.toml"))


def digits(value, unit):
    value /= 1000 if unit == "bytes" else 1
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def difference(old, new):
    """Mean difference of the trials that both have, and the half-width of its 95 % interval; None: of fewer than two there is none."""
    both = sorted(old.keys() & new.keys())
    if not both:
        return None
    differences = [new[number] - old[number] for number in both]
    if len(differences) < 2:
        return differences[0], None
    return statistics.mean(differences), sweep.half_width(differences)


def cell(figures, was=None, old=None, new=None):
    """One of a table: figures and was are of the summaries, old and new the values by trial."""
    def mean(of):
        return ("> " if of.get("missed") else "") + digits(of["mean"], of["unit"]) if of else "-"

    if was is None or not figures:
        return mean(figures)
    found = difference(old or {}, new or {})
    if not found:
        return f"{mean(was)} → {mean(figures)}"
    by, half = found
    sign = "+" if by >= 0 else "-"
    text = sign + digits(abs(by), figures["unit"])
    if half is not None:
        text += f" ± {digits(half, figures['unit'])}" + ("*" if abs(by) > half else "")
    return f"{mean(was)} → {mean(figures)} ({text})"


def of_these_trials(values, summary, name):
    """The values by trial, which have to be the ones that the summary was made of."""
    for case, algorithms in sweep.cases(summary).items():
        for algorithm, metrics in algorithms.items():
            for metric in METRICS:
                by_trial = values.get((sweep.in_store(case), algorithm, metric), {}).values()
                figures = metrics.get(metric)
                # A run with more trials before leaves more of them in the store.  Of an algorithm that a parameter does not concern the trials
                # are there once, under one of its values.
                if not figures or not by_trial or len(by_trial) > figures["n"]:
                    continue
                if len(by_trial) < figures["n"] or abs(statistics.mean(by_trial) - figures["mean"]) > 1e-9 * abs(figures["mean"]):
                    sys.exit(f"family.py: {name}: the store has trials of several laws: give each an --out of its own")
    return values


def label(scenario, case):
    return " ".join([scenario, *(f"{key}={value}" for key, value in case)])


def read(options, scenario, summary):
    """[(case's label, {algorithm: {metric: cell}})] of a scenario that was run."""
    before = sweep.earlier(options, scenario)
    new = old = {}
    if before:
        if before["seed"] != summary["seed"]:
            sys.exit(f"family.py: {scenario}: --against has seed {before['seed']}, allowed is that of --seed, {summary['seed']}")
        new = of_these_trials(sweep.trials(options.out, scenario, options.seed), summary, f"{options.out}/{scenario}")
        old = of_these_trials(sweep.trials(options.against, scenario, options.seed), before, f"{options.against}/{scenario}")
    was = sweep.cases(before) if before else {}
    rows = []
    for case, algorithms in sorted(sweep.cases(summary).items()):
        cells = {}
        for name, metrics in algorithms.items():
            key = [(sweep.in_store(case), name, metric) for metric in METRICS]
            cells[name] = {metric: cell(metrics.get(metric), was.get(case, {}).get(name, {}).get(metric), old.get(at), new.get(at))
                           for metric, at in zip(METRICS, key)}
        rows.append((label(scenario, case), cells))
    return rows


def goals(scenario, summary):
    """[(text, is it reached?)]; what was not tested is not there."""
    found = []
    for goal in summary["expectations"]:
        value = "not measured" if goal["value"] is None else digits(goal["value"], goal["unit"])
        if goal.get("ci95"):
            value += f" ± {digits(goal['ci95'], goal['unit'])}"
        case = "".join(f" {key}={value}" for key, value in sorted(goal.get("case", {}).items()))
        found.append((f"{scenario}{case}: {goal['algorithm']} {goal['metric']} {goal['text']}: {value}", goal["met"]))
    return found


def tables(rows):
    """A Markdown table for each metric."""
    names = list(dict.fromkeys(name for _, cells in rows for name in cells))
    for metric in METRICS:
        unit = " (KB)" if metric.endswith("_bytes") else ""
        body = [[case, *(cells.get(name, {}).get(metric, "-") for name in names)] for case, cells in rows]
        yield f"## {metric}{unit}\n" + page.table(["case", *names], body)


def short(cell):
    """A cell as a page has it: .94 for 0.940, 67 for 66.6."""
    if cell == "-":
        return cell
    number = float(cell)
    return f"{number:.2f}".removeprefix("0").replace("1.00", "1") if number <= 1 else f"{number:.0f}"


def page_table(rows):
    """One table of what a page shows: in each cell utilisation, Jain's index, mean queue."""
    names = list(dict.fromkeys(name for _, cells in rows for name in cells))
    body = [[case, *(" ".join(short(cells.get(name, {}).get(metric, "-")) for metric in METRICS[:3]) for name in names)] for case, cells in rows]
    return page.table(["case", *names], body)


def main():
    parser = sweep.parser(__doc__, "4", "FAMILY")
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("scenario", nargs="*", help="names without FAMILY/ (default: all)")
    parser.add_argument("--page", action="store_true", help="of path, all scenarios: write the page's table")
    parser.set_defaults(out=None)
    options = parser.parse_intermixed_args()
    known = scenarios(options.family)
    for scenario in options.scenario:
        if scenario not in known:
            sys.exit(f"family.py: {scenario}: there are {', '.join(known)}")
    if options.page and (options.family != "path" or options.scenario or options.against):
        sys.exit("family.py: --page is for all scenarios of path, without --against")
    options.out = options.out or sweep.ROOT / "build" / options.family
    rows, reached = [], []
    for scenario in options.scenario or known:
        summary = sweep.run(options, f"{options.family}/{scenario}")
        rows += read(options, scenario, summary)
        reached += goals(scenario, summary)
    for table in tables(rows):
        print(f"{table}\n")
    missed = [text for text, met in reached if not met]
    if reached:
        print(f"## Goals: {len(reached) - len(missed)} of {len(reached)} reached")
    for text in missed:
        print(f"- NOT REACHED: {text}")
    if options.page:
        shown = page.Page(PAGE)
        shown.put("family", "harness/tools/family.py path --page", page_table(rows))
        shown.save()


if __name__ == "__main__":
    main()
