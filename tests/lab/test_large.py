# SPDX-License-Identifier: Apache-2.0
"""The largest network that a scenario may have, in the memory that its plan gives the lab."""

import json

import pytest

from outside import run

SCENARIO = """
name = "large"
cc = ["reno"]
[topology]
kind = "fat-tree"
k = 16
base_rtt_ns = 30000
[link]
rate_gbps = 10
[hosts]
warm_bytes = 0
[[flows]]
from = "pod0[0]"
to = "pod15[63]"
size_bytes = 100000
[measure]
duration_us = 1000
log = "none"
"""


@pytest.mark.ci
def test_a_fat_tree_of_16_completes_a_flow(tmp_path):
    scenario = tmp_path / "large.toml"
    scenario.write_text(SCENARIO)
    run(scenario, tmp_path / "out", "--trials", "1", "--timeout", "3000")
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["algorithms"]["reno"]["unfinished"]["mean"] == 0
