# SPDX-License-Identifier: Apache-2.0
"""What the tools have in common that run scenarios with all of their cases: options, `delaycc run`, and its results."""

import argparse
import json
import os
import pathlib
import sqlite3
import statistics
import subprocess
import sys

# Student's t, 97.5 %, for 1 to 30 degrees of freedom.
T975 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110,
        2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042]

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def half_width(values):
    """Of the 95 % interval of the mean of two values or more."""
    return T975[min(len(values) - 2, len(T975) - 1)] * statistics.stdev(values) / len(values) ** 0.5


def parser(doc, trials, out):
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--trials", default=trials, help=f"per case (default {trials})")
    made.add_argument("--jobs", default="1", help="trials at a time (default 1)")
    made.add_argument("--seed", default="1", help="of all random times (default 1)")
    made.add_argument("--cc", help="algorithms (default: each scenario's)")
    made.add_argument("--lab", help="a lab of other modules (DELAYCC_LAB)")
    made.add_argument("--out", default=ROOT / "build" / out, type=pathlib.Path, help=f"folder (default build/{out})")
    made.add_argument("--against", type=pathlib.Path, help="--out of an earlier run")
    return made


def folder(parent, scenario):
    return parent / pathlib.PurePath(scenario).name


def run(options, scenario, settings=()):
    """summary.json of a scenario.  `delaycc run` takes the trials of this build that are there."""
    out = folder(options.out, scenario)
    command = [ROOT / "build" / "delaycc", "run", scenario, "--sweep", "--quiet", "--trials", options.trials, "--jobs", options.jobs,
               "--seed", options.seed, "--out", out]
    for setting in settings:
        command += ["--set", setting]
    command += ["--cc", options.cc] if options.cc else []
    environment = {**os.environ, **({"DELAYCC_LAB": options.lab} if options.lab else {})}
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=environment)
    if ended.returncode:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {scenario}: exit code {ended.returncode}\n{ended.stdout[:2000]}")
    return json.loads((out / "summary.json").read_text(encoding="utf-8"))


def earlier(options, scenario):
    """summary.json of the run that --against names; None: it has not this scenario."""
    file = folder(options.against, scenario) / "summary.json" if options.against else None
    return json.loads(file.read_text(encoding="utf-8")) if file and file.exists() else None


def cases(summary):
    """{(parameters): {algorithm: metrics}}"""
    return {tuple(sorted(case.get("parameters", {}).items())): case["algorithms"] for case in summary.get("cases") or [summary]}


def in_store(case):
    """A store has the text of numbers that a summary has."""
    return tuple((name, str(value)) for name, value in case)


def trials(parent, scenario, seed):
    """{(in_store(parameters), algorithm, metric): {trial's number: value}} of a store: of each trial the last that was run."""
    values = {}
    with sqlite3.connect(f"file:{folder(parent, scenario) / 'results.sqlite'}?mode=ro", uri=True) as store:
        for parameters, algorithm, number, metric, value in store.execute(
                "select parameters, algorithm, number, name, value from trials, metrics where trial = id and seed = ? order by id", (int(seed),)):
            values.setdefault((tuple(sorted(json.loads(parameters).items())), algorithm, metric), {})[number] = value
    return values
