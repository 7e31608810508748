# SPDX-License-Identifier: Apache-2.0
"""BPF programs as algorithms of the backend `hosts`, on the running kernel: two servers are namespaces with sshd (tests/lab/servers.py)."""

import json
import pathlib
import subprocess
import sys

import pytest

from programs import DELAYCC, ROOT, delaycc

sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/lab")]
import servers  # noqa: E402

pytestmark = [pytest.mark.alone, pytest.mark.ci]
SCENARIO = """
name = "program"
trials = 1
cc = ["bpf_oscar", "cubic"]
[topology]
kind = "dumbbell"
senders = 1
receivers = 1
base_rtt_ns = 1000000
[[flows]]
name = "paced"
from = "senders"
to = "receivers"
pacing_gbps = 0.1
[measure]
duration_us = 50000
"""


def acks():
    algorithm, = json.loads(delaycc("status", "--json"))["algorithms"]
    return algorithm["counters"]["acks"]


def test_a_program_is_an_algorithm_of_real_hosts_and_is_measured_anew_each_time(tmp_path):
    with servers.bed(tmp_path) as bed:
        (bed.folder / "case.toml").write_text(SCENARIO, encoding="utf-8")
        refused = bed.run("--out", "out", "case.toml")
        assert refused.returncode == 2 and '"bpf_oscar" is no algorithm that is there, allowed is one of ' in refused.stderr
        delaycc("load", "oscar", "--set", "line_rate_mbps=1000")
        try:
            first = bed.run("--keep", "--out", "out", "case.toml")
            assert first.returncode == 0, first.stderr
            flow, = json.loads(pathlib.Path(bed.folder, "out/trials/case0-bpf_oscar-0/flows.json").read_text(encoding="utf-8"))["flows"]
            before = acks()
            assert flow["cc"] == "bpf_oscar" and before > 0
            # Its settings may be others by now: nothing but cubic's trial is taken from the store.
            again = bed.run("--out", "out", "case.toml")
            assert "1 trials run, 1 taken from" in again.stdout, again.stderr
            assert acks() > before
        finally:
            subprocess.run([DELAYCC, "unload", "oscar"], capture_output=True, check=False)
