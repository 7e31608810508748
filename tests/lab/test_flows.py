# SPDX-License-Identifier: Apache-2.0
"""Workloads in the lab: the same flows and paths for every algorithm, completion times that are exact, paths that are all used."""

import collections
import json
import os
import pathlib
import sqlite3
import struct
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("DELAYCC_BUILD", ROOT / "build"))
DELAYCC = BUILD / "delaycc"

DUMBBELL = """
name = "flows"
cc = ["cubic", "oscar"]
trials = 1
[topology]
kind = "dumbbell"
senders = 4
receivers = 4
base_rtt_ns = 12000
[link]
rate_gbps = 100
buffer_bytes = 4000000
ecn_threshold_bytes = 100000
[workload]
load = 0.5
[measure]
duration_us = 5000
[hosts]
initcwnd = 200
sysctl.net.ipv4.tcp_ecn = 1
[algorithms.oscar.sysctl]
net.ipv4.delaycc.line_rate_mbps = 100000
net.ipv4.delaycc.base_rtt_ns = 12000
"""


def run(directory, text, *arguments, out="out"):
    scenario = directory / "flows.toml"
    scenario.write_text(text)
    command = [DELAYCC, "run", scenario, "--quiet", "--jobs", "1", "--out", directory / out, *arguments]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return directory / out


def flows(out, algorithm):
    database = sqlite3.connect(out / "results.sqlite")
    database.row_factory = sqlite3.Row
    return list(database.execute(
        "SELECT t.number, f.flow, f.start_ns, f.received_ns, s.size_bytes, s.fct_ns, s.ideal_ns, s.size_class, s.uniform, "
        "s.log_weight FROM flows f JOIN trials t ON f.trial = t.id JOIN samples s ON s.trial = t.id AND s.flow = f.flow "
        "WHERE t.algorithm = ? ORDER BY t.number, f.flow", [algorithm]))


@pytest.mark.parametrize("algorithm", ["cubic", "oscar"])
@pytest.mark.parametrize("size", [1, 1448, 14000, 100000, 1000000])
def test_a_lone_flow_has_slowdown_one(tmp_path, size, algorithm):
    (tmp_path / "sizes.txt").write_text(f"{size} 1\n")
    # A thousandth of the link: few flows meet another one.
    text = DUMBBELL.replace("load = 0.5", "sizes = \"sizes.txt\"\nload = 0.001")
    text = text.replace("initcwnd = 200", "initcwnd = 1000")
    duration_us = max(500, size * 8 // 100)
    out = run(tmp_path, text, "--cc", algorithm, "--set", f"measure.duration_us={duration_us * 20}")
    lone, busy_until = [], 0
    for flow in flows(out, algorithm):
        if flow["received_ns"] is None:
            continue
        if flow["start_ns"] >= busy_until:
            lone.append(flow)
        busy_until = max(busy_until, flow["received_ns"] + 20000)
    # One that the next one met is slower.
    slowdowns = sorted(f["fct_ns"] / f["ideal_ns"] for f in lone)
    assert len(slowdowns) >= 3
    assert slowdowns[0] >= 1
    assert slowdowns[len(slowdowns) // 2] < 1.002, slowdowns


def test_all_algorithms_and_runs_meet_the_same_flows(tmp_path):
    out = run(tmp_path, DUMBBELL, "--trials", "2")
    assert len(flows(out, "cubic")) > 10
    for a, b in zip(flows(out, "cubic"), flows(out, "oscar"), strict=True):
        for column in ["number", "flow", "size_bytes", "ideal_ns", "size_class", "uniform", "log_weight"]:
            assert a[column] == b[column]
        assert abs(a["start_ns"] - b["start_ns"]) < 1000
    # The list that the command prints is that of the trial.
    command = [DELAYCC, "workload", tmp_path / "flows.toml", "--trial", "1"]
    printed = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout
    listed = [line.split() for line in printed.splitlines() if not line.startswith("#")]
    again = run(tmp_path, DUMBBELL, "--first-trial", "1", "--trials", "1", "--cc", "cubic", out="alone")
    alone = flows(again, "cubic")
    assert [f["size_bytes"] for f in alone] == [int(line[4]) for line in listed]
    assert alone and [tuple(f) for f in alone] == [tuple(f) for f in flows(out, "cubic")][-len(alone):]


def test_summary_counts_flows_by_class(tmp_path):
    out = run(tmp_path, DUMBBELL + "[[expect]]\nalgorithm = \"cubic\"\nmetric = \"small.slowdown_p50\"\nmin = 1\n")
    summary = json.loads((out / "summary.json").read_text())
    metrics = summary["algorithms"]["cubic"]
    classes = sum(metrics[f"{name}.flows"]["mean"] for name in ["small", "medium", "large"])
    assert metrics["flows"]["mean"] == classes == len(flows(out, "cubic"))
    assert metrics["small.slowdown_p50"]["mean"] >= 1
    assert summary["expectations"][0]["met"]
    assert "rtt_p50_us" not in metrics and "utilisation" in metrics
