# SPDX-License-Identifier: Apache-2.0
"""Swift, theta-PowerTCP and LEDBAT in the lab: the link is full, shares are equal, the queue stands where the papers' formulas say."""

import json
import math

import pytest

import outside

pytestmark = pytest.mark.ci

ALGORITHMS = ("swift", "thetapowertcp")
EVERY = (*ALGORITHMS, "ledbat")
FLOWS = (1, 2, 4, 16)
BASE_NS = 12000
PACKET_NS = 120  # 1500 bytes on the wire at 100 Gbit/s
BYTES_PER_NS = 12.5
BDP_PACKETS = BASE_NS / PACKET_NS

SYSCTLS = "".join(
    f"""
[algorithms.{name}.sysctl]
net.ipv4.delaycc.line_rate_mbps = 100000
net.ipv4.delaycc.base_rtt_ns = {BASE_NS}
"""
    for name in EVERY
)

STEADY = """
name = "steady"
cc = ["swift", "thetapowertcp", "ledbat"]
trials = 1
[sweep]
main = { n = 1 }
n = [1, 2, 4, 16]
[topology]
kind = "dumbbell"
senders = "${n}"
base_rtt_ns = 12000
[host_link]
rate_gbps = 400
[hosts]
mtu = 1486
[[flows]]
name = "long"
count = "${n}"
from = "senders"
to = "receivers"
start_jitter_us = 20
[measure]
duration_us = 4000
from_us = 2000
jain_window_us = 500
""" + SYSCTLS

# All but one of four leave.
RELEASE = """
name = "release"
cc = ["swift", "thetapowertcp"]
trials = 2
[topology]
kind = "dumbbell"
senders = 4
base_rtt_ns = 12000
[host_link]
rate_gbps = 400
[[flows]]
name = "long"
from = "senders[0]"
to = "receivers"
[[flows]]
name = "others"
count = 3
from = "senders[1-3]"
to = "receivers"
stop_us = 1500
stop_phase_us = 12
[event]
stop_of = "others"
recovers = "long"
recover_window_ns = 12000
[measure]
duration_us = 3500
""" + SYSCTLS

# Windows of a BDP from a hundred flows into a fifth of the room that they need.
OVERFLOW = """
name = "overflow"
cc = ["swift", "thetapowertcp"]
trials = 1
[topology]
kind = "incast"
senders = 100
base_rtt_ns = 12000
[bottleneck]
buffer_bytes = 3000000
[[flows]]
name = "all"
count = 100
from = "senders"
to = "receivers"
start_jitter_us = 6
[measure]
duration_us = 12000
from_us = 6000
jain_window_us = 3000
""" + SYSCTLS


def run(tmp_path_factory, name, text, *arguments):
    folder = tmp_path_factory.mktemp(name)
    (folder / "scenario.toml").write_text(text)
    outside.run(folder / "scenario.toml", folder / "out", *arguments)
    return json.loads((folder / "out" / "summary.json").read_text())


@pytest.fixture(scope="module")
def steady(tmp_path_factory):
    """algorithm, flows -> metrics"""
    summary = run(tmp_path_factory, "steady", STEADY, "--sweep")
    return {
        (name, case["parameters"]["n"]): metrics
        for case in summary["cases"]
        for name, metrics in case["algorithms"].items()
    }


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return run(tmp_path_factory, "release", RELEASE)["algorithms"]


@pytest.fixture(scope="module")
def overflow(tmp_path_factory):
    return run(tmp_path_factory, "overflow", OVERFLOW)["algorithms"]


def swift_queue_bytes(flows):
    """The window at which n of them fill the link up to their own target: base, and flow scaling from 0.1 to 100 packets."""
    base, reach = 1.25 * BASE_NS, 2 * BASE_NS
    alpha = reach / (1 / math.sqrt(0.1) - 1 / math.sqrt(100))

    def target(cwnd):
        return base + max(0, min(alpha / math.sqrt(cwnd) - alpha / math.sqrt(100), reach))

    low, high = 0.01, 10 * BDP_PACKETS
    for _ in range(60):
        cwnd = (low + high) / 2
        if flows * cwnd * PACKET_NS < target(cwnd):
            low = cwnd
        else:
            high = cwnd
    return (target(low) - BASE_NS) * BYTES_PER_NS


@pytest.mark.parametrize("flows", FLOWS)
@pytest.mark.parametrize("name", EVERY)
def test_the_link_is_full(steady, name, flows):
    assert steady[name, flows]["utilisation"]["mean"] > 0.995
    assert steady[name, flows]["retransmits"]["mean"] == 0


@pytest.mark.parametrize("flows", [n for n in FLOWS if n > 1])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_shares_are_equal(steady, name, flows):
    assert steady[name, flows]["jain"]["mean"] > 0.99


@pytest.mark.parametrize("flows", FLOWS)
def test_swift_s_queue_stands_at_the_target(steady, flows):
    # n flows overshoot by up to n packets in an RTT.
    expected = swift_queue_bytes(flows)
    assert abs(steady["swift", flows]["queue_mean_bytes"]["mean"] - expected) < 0.02 * expected + flows * 750 + 1500


@pytest.mark.parametrize("flows", FLOWS)
def test_ledbat_s_queue_stands_at_its_target(steady, flows):
    expected = BASE_NS / 4 * BYTES_PER_NS
    assert abs(steady["ledbat", flows]["queue_mean_bytes"]["mean"] - expected) < 0.05 * expected + flows * 750


@pytest.mark.parametrize("flows", [n for n in FLOWS if n > 1])
def test_thetapowertcp_s_queue_is_the_sum_of_the_betas(steady, flows):
    expected = flows * BDP_PACKETS / 64 * 1500
    assert abs(steady["thetapowertcp", flows]["queue_mean_bytes"]["mean"] - expected) < 0.1 * expected + 1500


def test_a_lone_thetapowertcp_flow_makes_no_queue_of_its_own(steady):
    assert steady["thetapowertcp", 1]["queue_mean_bytes"]["mean"] < 3 * 1500


def hyperactive_rtts(window, goal):
    """Of Swift: a packet in each of three RTTs, then twice as much in each further one, up to an eighth of the window."""
    rtts = 0
    while window < goal:
        window += 1 if rtts < 3 else min(2 ** (rtts - 2), window / 8)
        rtts += 1
    return rtts


@pytest.mark.parametrize("name", ALGORITHMS)
def test_freed_bandwidth_is_found_as_the_law_says(release, name):
    # From a quarter of the link to 95 %: 70 packets.  theta-PowerTCP adds 0.9 * 100 / 64 in an RTT.
    steps = hyperactive_rtts(25, 95) if name == "swift" else 70 / (0.9 * 100 / 64)
    assert 0.8 < release[name]["recover_us"]["mean"] / (steps * BASE_NS / 1000) < 1.5
    assert release[name]["recover_us"].get("missed", 0) == 0


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_hundred_flows_recover_from_an_overflow(overflow, name):
    assert overflow[name]["drops"]["mean"] > 0, "the scenario is too mild"
    assert overflow[name]["utilisation"]["mean"] > 0.98
    assert overflow[name]["jain"]["mean"] > 0.9
    assert overflow[name]["queue_p99_bytes"]["mean"] < 1000000
