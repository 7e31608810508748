# SPDX-License-Identifier: Apache-2.0
"""The BPF programs on the running kernel: load, register, carry a transfer, unload.

bpf_transfer does the work and is built with the rest (DELAYCC_BUILD says where,
build/ by default).  What this machine lacks is a skip with the reason.
"""

import re
import subprocess

import pytest

import owned
from programs import BUILD

SKIPPED = 77
pytestmark = pytest.mark.alone
# Where the scheduler's delays would be taken for a queue, a target far above them.
OSCAR = ("--algorithm", "oscar", "--set", "target_delay_ns=5000000")
LEDBAT = ("--algorithm", "ledbat", "--set", "target_ns=5000000")
# Channels far above them likewise.
PRIOPLUS = ("--algorithm", "prioplus", "--set", "channel_a_ns=10000000")
SWIFT = ("--algorithm", "swift", "--set", "base_target_ns=5000000")


def transfer(*options, line_rate_mbps=10000):
    """What bpf_transfer counted."""
    missing = BUILD / "bpf_transfer.missing"
    if missing.exists():
        pytest.skip(f"BPF programs cannot be built here; missing: {missing.read_text().strip()}")
    program = BUILD / "bpf_transfer"
    if not program.exists():
        pytest.fail(f"{program} is not built: run make")
    if line_rate_mbps:
        options = ("--line-rate-mbps", str(line_rate_mbps), *options)
    # What it has registered outlives it, but it takes that back when it is told to end.
    done = owned.run([program, *options], end="TERM")
    if done.returncode == SKIPPED:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: int(value) for name, value in re.findall(r"(\w+) (\d+)", done.stdout)}


@pytest.mark.parametrize("paper", [0, 1])
def test_oscar_and_oscar_paper_carry_a_checksummed_transfer(paper):
    assert transfer(*OSCAR, "--set", f"paper={paper}")["decisions"] > 0


@pytest.mark.parametrize("paper", [0, 1])
def test_ccc_and_ccc_paper_carry_a_checksummed_transfer(paper):
    counted = transfer("--algorithm", "ccc", "--set", "q_b_ns=5000000", "--set", f"paper={paper}")
    assert counted["decisions"] > 0
    assert counted["ns_rtt"] >= 0.9 * counted["acks"]


def test_ledbat_carries_a_checksummed_transfer():
    assert transfer(*LEDBAT)["decisions"] > 0


@pytest.mark.parametrize("paper", [0, 1])
def test_prioplus_and_prioplus_paper_carry_a_checksummed_transfer_after_a_first_probe(paper):
    assert transfer(*PRIOPLUS, "--set", f"paper={paper}")["decisions"] > 0


def test_swift_carries_a_checksummed_transfer():
    assert transfer(*SWIFT)["decisions"] > 0


def test_thetapowertcp_carries_a_checksummed_transfer():
    assert transfer("--algorithm", "thetapowertcp", "--base-rtt-ns", "5000000")["decisions"] > 0


@pytest.mark.parametrize("patched", [0, 1])
def test_timely_and_its_patch_carry_a_checksummed_transfer(patched):
    options = ("--algorithm", "timely", "--set", f"patched={patched}")
    thresholds = ("--set", "t_low_ns=1000000", "--set", "t_high_ns=10000000")
    assert transfer(*options, *thresholds)["decisions"] > 0


@pytest.mark.parametrize("paper", [0, 1])
def test_sqcc_and_sqcc_paper_carry_a_checksummed_transfer(paper):
    options = ("--algorithm", "sqcc", "--set", f"paper={paper}")
    thresholds = ("--set", "t_low_ns=1000000", "--set", "t_high_ns=10000000")
    assert transfer(*options, *thresholds)["decisions"] > 0


@pytest.mark.parametrize("algorithm", ["oscar", "prioplus"])
def test_without_a_line_rate_a_device_that_nothing_is_known_of_is_served(algorithm):
    counted = transfer("--algorithm", algorithm, line_rate_mbps=None)
    assert counted["refused"] == 0 and counted["sockets"] == 1 and counted["decisions"] > 0


def test_ipv6_is_served_alike():
    assert transfer(*OSCAR, "--ipv6")["decisions"] > 0


def test_round_trips_are_in_nanoseconds():
    counted = transfer(*OSCAR)
    assert counted["ns_rtt"] >= 0.9 * counted["acks"]


def test_an_unknown_parameter_is_named():
    done = subprocess.run(
        [BUILD / "bpf_transfer", "--set", "colour=1"], capture_output=True, text=True, check=False
    ) if (BUILD / "bpf_transfer").exists() else pytest.skip("bpf_transfer is not built")
    if done.returncode == SKIPPED:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 1
    assert "colour" in done.stderr
