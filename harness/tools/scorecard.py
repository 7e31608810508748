#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs scenarios with one algorithm and prints, for every case, the metrics that the scenario has expectations of.

usage: scorecard.py [options] SCENARIO [SCENARIO ...]

For a change of a law: all that it may touch, in one table, beside the same before the change.  Choose a rule on some
seeds and show it on others.

A SCENARIO with a sweep runs all of its cases; NAME@ runs the main one alone, NAME@KEY=VALUE,... another one.
A cell is the mean, the half-width of its 95 % interval, and the least and the greatest value of the trials.  The
expectations follow; those that are not met begin with NOT MET.
"""

import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", nargs="+")
    parser.add_argument("--cc", default="oscar", help="the algorithm (default oscar)")
    parser.add_argument("--seed", default="1", help="of all random times (default 1)")
    parser.add_argument("--trials", default="12", help="per case (default 12)")
    parser.add_argument("--jobs", default="1", help="trials at a time (default 1)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as for `delaycc run`; may be repeated")
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "scorecard"), help="folder (default build/scorecard)")
    parser.add_argument("--against", metavar="DIR", help="--out of an earlier call; shown beside")
    return parser.parse_args()


def folder(parent, scenario):
    return os.path.join(parent, scenario.replace("/", "_"))


def run(options, scenario):
    name, one_case, settings = scenario.partition("@")
    out = folder(options.out, scenario)
    command = [os.path.join(ROOT, "build", "delaycc"), "run", name, "--cc", options.cc, "--seed", options.seed,
               "--trials", options.trials, "--jobs", options.jobs, "--quiet", "--out", out]
    command += [] if one_case else ["--sweep"]
    for setting in options.set + [s for s in settings.split(",") if s]:
        command += ["--set", setting]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"scorecard.py: {' '.join(command)}: exit code {done.returncode}\n" + "\n".join(done.stdout.splitlines()[:5]))
    return read(options.out, scenario)


def read(parent, scenario):
    path = os.path.join(folder(parent, scenario), "summary.json")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def cases(summary, algorithm):
    """{label: {metric: its figures}}, the cases in order of their parameters."""
    if summary is None:
        return {}
    found = {}
    for case in sorted(summary.get("cases") or [summary], key=lambda case: sorted(case.get("parameters", {}).items())):
        label = " ".join(f"{key}={value}" for key, value in sorted(case.get("parameters", {}).items()))
        found[label] = case["algorithms"].get(algorithm, {})
    return found


def number(value, unit):
    if unit == "bytes":
        value /= 1000
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def cell(figures):
    if not figures:
        return "-"
    unit = figures["unit"]
    mean, half = number(figures["mean"], unit), number(figures["ci95"] or 0, unit)
    return (("> " if figures.get("missed") else "") + f"{mean} +- {half}, {number(figures['min'], unit)} .. "
            f"{number(figures['max'], unit)}")


def show(options, scenario):
    before = cases(read(options.against, scenario), options.cc) if options.against else {}
    summary = run(options, scenario)
    wanted = [e for e in summary["expectations"] if e["algorithm"] == options.cc]
    for label, figures in cases(summary, options.cc).items():
        for metric in dict.fromkeys(e["metric"] for e in wanted):
            unit = figures.get(metric, {}).get("unit", "")
            name = f"{scenario} {label}".strip() + f" {metric}" + {"bytes": " KB", "us": " us"}.get(unit, "")
            old = cell(before.get(label, {}).get(metric)) if options.against else ""
            print(f"{name:58}  {cell(figures.get(metric)):32}  {old}".rstrip(), flush=True)
    for expectation in wanted:
        if not expectation["met"]:
            print(f"NOT MET {scenario} {expectation['metric']} {expectation['text']}: {expectation['value']:.6g}")


if __name__ == "__main__":
    OPTIONS = arguments()
    for item in OPTIONS.scenario:
        show(OPTIONS, item)
