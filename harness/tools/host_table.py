#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the scenarios host-* and writes their tables into docs/research/hosts.md.

usage: host_table.py [--trials N] [--jobs N] [--seed N] [--cc NAME,...] [--lab DIR] [--out DIR] [--against DIR] [--page] [SCENARIO ...]

A table per scenario and metric: a row for each case, a column for each algorithm, a cell with the mean over the trials.  With --against, the
--out of an earlier run (of another law: --lab), a cell that moved by more than a hundredth shows both, the earlier one first.  A scenario
that was run before, with the same words, is read and not run again.  --page writes into the page, else the tables go to standard output;
with --cc it writes those algorithms' columns and leaves the others, which a change of one law does not touch.
"""

import itertools
import json
import sys

import page
import sweep

PAGE = sweep.ROOT / "docs" / "research" / "hosts.md"

# scenario: (what of its sweep is measured, metrics)
CASES = {
    "host-noise": ({"noise_ns": [0, 1000, 5000, 20000], "from": ["hosts"], "base": ["automatic"]}, ["utilisation", "queue_mean_bytes"]),
    "host-tail": ({"noise_ns": [5000, 20000], "from": ["hosts", "receivers"], "base": ["automatic"]}, ["utilisation", "queue_mean_bytes"]),
    "host-bursts": (
        {"on_time_ppm": [500000, 999000], "late_ns": [5000, 20000], "from": ["hosts", "receivers"], "base": ["automatic"]},
        ["utilisation", "queue_mean_bytes"],
    ),
    "host-paths": ({"extra_ns": [600, 2400], "of": ["far"]}, ["goodput_gbps", "utilisation"]),
    "host-cold": ({"n": [8, 40, 300]}, ["jain", "queue_mean_bytes"]),
    "host-late": ({"n": [1, 4], "from": ["senders[0-3]", "senders[4-7]"]}, ["jain", "queue_mean_bytes"]),
    "host-told": ({"percent": [80, 100, 120]}, ["utilisation", "recover_us"]),
    "host-line": ({"mbps": [0, 50000, 200000], "nic": [100]}, ["utilisation", "recover_us"]),
    "host-stack": ({"mtu": [1500, 9000], "loss_ppm": [0, 1000], "reorder_ppm": [0]}, ["utilisation", "queue_mean_bytes"]),
    "host-acks": ({"quickack": ["true", "false"], "gso": ["false", "true"], "base": ["automatic"]}, ["utilisation", "queue_mean_bytes"]),
    "host-span": ({"gbps": [1, 200], "kbytes": [125, 10000], "n": [1, 8]}, ["utilisation", "queue_mean_bytes"]),
    "host-foreign": ({"foreign": ["cubic", "bbr", "dctcp", "swift"]}, ["goodput_gbps"]),
}


def arguments():
    parser = sweep.parser(__doc__, "2", "hosts")
    parser.add_argument("scenario", nargs="*", default=list(CASES))
    parser.add_argument("--page", action="store_true", help="write into docs/research/hosts.md")
    return parser.parse_args()


def settings(scenario):
    for parameter, values in CASES[scenario][0].items():
        yield f"sweep.{parameter}={json.dumps(values)}"
        yield f"{parameter}={json.dumps(values[0])}"


def number(figures):
    if not figures:
        return "-"
    mean = figures["mean"] / (1000 if figures["unit"] == "bytes" else 1)
    text = f"{mean:.0f}" if abs(mean) >= 100 else f"{mean:.1f}" if abs(mean) >= 10 else f"{mean:.3f}"
    return ("> " if figures.get("missed") else "") + text


def moved(old, new):
    return old and new and abs(old["mean"] - new["mean"]) > 0.01 * max(abs(old["mean"]), abs(new["mean"]))


def table(summary, before, scenario, metric):
    cases, old = sweep.cases(summary), sweep.cases(before) if before else {}
    swept = [name for name, values in CASES[scenario][0].items() if len(values) > 1]
    names = list(dict.fromkeys(itertools.chain.from_iterable(cases.values())))
    rows = []
    for key, algorithms in sorted(cases.items()):
        row = [str(dict(key)[name]) for name in swept]
        for name in names:
            new, was = algorithms.get(name, {}).get(metric), old.get(key, {}).get(name, {}).get(metric)
            row.append(f"{number(was)} → {number(new)}" if moved(was, new) else number(new))
        rows.append(row)
    return page.table(swept + names, rows)


def put(shown, options, scenario, metric, text):
    swept = sum(len(values) > 1 for values in CASES[scenario][0].values())
    merge = (lambda new, old: page.columns(new, old, swept)) if options.cc else None
    shown.put(f"{scenario} {metric}", "harness/tools/host_table.py", text, merge)


def main():
    options = arguments()
    shown = page.Page(PAGE) if options.page else None
    for scenario in options.scenario:
        if scenario not in CASES:
            sys.exit(f"host_table.py: {scenario}: there are {', '.join(CASES)}")
        summary = sweep.run(options, scenario, settings(scenario))
        before = sweep.earlier(options, scenario)
        for metric in CASES[scenario][1]:
            text = table(summary, before, scenario, metric)
            if shown:
                put(shown, options, scenario, metric, text)
            else:
                print(f"## {scenario} {metric}\n{text}\n", flush=True)
    if shown:
        shown.save()


if __name__ == "__main__":
    main()
