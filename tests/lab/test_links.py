# SPDX-License-Identifier: Apache-2.0
"""Topologies and options of links in whole experiments: what a scenario says of a link happens on that link."""

import collections
import json

import pytest

import records
from outside import run
from records import DROP_LOSS, DROP_TAIL, MARKED, REORDERED

DATA_BYTES = 1000

SCENARIO = """
name = "links"
cc = ["cubic"]
trials = 1
[topology]
{topology}
base_rtt_ns = 20000
[link]
rate_gbps = 100
{link}
[hosts]
sysctl.net.ipv4.tcp_ecn = 1
{flows}
[measure]
duration_us = 4000
log = "{log}"
"""
BOTTLENECK = "[bottleneck]\nrate_gbps = 40\nbuffer_bytes = 400000\n"
FLOW = '[[flows]]\nname = "{0}"\nfrom = "{1}"\nto = "{2}"\n'
DUMBBELL = 'kind = "dumbbell"\nsenders = 2\nreceivers = 2'
PAIR = FLOW.format("pair", "senders", "receivers") + "count = 2\n"


def kept(tmp_path, topology, flows, link=BOTTLENECK, cc="cubic", log="all"):
    """(metrics, [(port's name, packet)], zero_ns)"""
    scenario = tmp_path / "links.toml"
    scenario.write_text(SCENARIO.format(topology=topology, flows=flows, link=link, log=log))
    out = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
    run(scenario, out, "--cc", cc, "--keep")
    trial = out / "trials" / f"case0-{cc}-0"
    plan = json.loads((trial / "plan.json").read_text())
    names = {end["port"]["id"]: end["port"]["name"] for link in plan["links"] for end in (link["a"], link["b"])}
    metrics = json.loads((out / "summary.json").read_text())["algorithms"][cc]
    return metrics, [(names[packet.port_id], packet) for packet in records.packets(trial)], plan["zero_ns"]


def seen(tmp_path, *what, **more):
    """(metrics, flags of the data packets by port's name)"""
    metrics, packets, _ = kept(tmp_path, *what, **more)
    flags = collections.defaultdict(collections.Counter)
    for port, packet in packets:
        if packet.payload_bytes >= DATA_BYTES:
            flags[port][packet.flags] += 1
    return metrics, {port: {bit: sum(n for flag, n in counts.items() if flag & bit) for bit in (DROP_TAIL, DROP_LOSS, MARKED, REORDERED)}
                     | {0: sum(counts.values())} for port, counts in flags.items()}


@pytest.mark.parametrize("topology, flows, least, most", [
    (DUMBBELL, PAIR, 5, 5),
    ('kind = "incast"\nsenders = 4', FLOW.format("all", "senders", "receivers") + "count = 4\n", 5, 5),
    # One flow over all three bottlenecks, one over the first alone.
    ('kind = "parking-lot"\nbottlenecks = 3\nhosts = 2',
     FLOW.format("through", "switch0[0]", "switch3[0]") + FLOW.format("one", "switch0[1]", "switch1[1]"), 7, 7),
    # Two flows of neighbours: their paths may part and meet again.
    ('kind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts = 2', FLOW.format("over", "leaf0", "leaf1") + "count = 2\n", 6, 8),
    ('kind = "fat-tree"\nk = 4', FLOW.format("over", "pod0[0-1]", "pod1") + "count = 2\n", 8, 12),
], ids=["dumbbell", "incast", "parking-lot", "leaf-spine", "fat-tree"])
def test_flows_of_every_topology_take_its_ports(tmp_path, topology, flows, least, most):
    metrics, ports = seen(tmp_path, topology, flows, link="", log="every")
    assert least <= len(ports) <= most, sorted(ports)
    # Two that take one path halve the port that is measured.
    assert metrics["utilisation"]["mean"] > (0.45 if "leaf" in topology or "tree" in topology else 0.8)
    # None is shorter than the longest idle path, but the parking lot's one flow.
    assert metrics["rtt_p50_us"]["mean"] >= 20 * (0.4 if "parking" in topology else 1)


def test_loss_is_random_loss_of_that_share(tmp_path):
    metrics, ports = seen(tmp_path, DUMBBELL, PAIR, BOTTLENECK + "loss_ppm = 10000")
    (lossy, counts), = [(port, c) for port, c in ports.items() if c[DROP_LOSS]]
    assert lossy == "left->right"
    assert 0.006 < counts[DROP_LOSS] / counts[0] < 0.015
    assert metrics["drops"]["mean"] >= counts[DROP_LOSS] and metrics["retransmits"]["mean"] >= counts[DROP_LOSS]


def test_reordering_makes_that_share_late(tmp_path):
    metrics, ports = seen(tmp_path, DUMBBELL, PAIR, BOTTLENECK + "reorder_ppm = 20000\nreorder_delay_ns = 3000")
    (late, counts), = [(port, c) for port, c in ports.items() if c[REORDERED]]
    assert late == "left->right"
    assert 0.015 < counts[REORDERED] / counts[0] < 0.025
    assert counts[DROP_LOSS] == 0 and metrics["goodput_gbps"]["mean"] > 20


def test_marks_keep_dctcp_at_the_threshold(tmp_path):
    metrics, ports = seen(tmp_path, DUMBBELL, PAIR, BOTTLENECK + "ecn_threshold_bytes = 100000", cc="dctcp")
    assert [port for port, c in ports.items() if c[MARKED]] == ["left->right"]
    assert 30_000 < metrics["queue_mean_bytes"]["mean"] < 200_000
    assert metrics["drops"]["mean"] == 0
    unmarked, _ = seen(tmp_path, DUMBBELL, PAIR, cc="dctcp")
    assert unmarked["queue_max_bytes"]["mean"] > 300_000


def test_a_receiver_whose_interrupts_are_apart_acknowledges_in_batches(tmp_path):
    gap_ns = 33_000
    host = '[[host]]\nhosts = "receivers[0]"\ninterrupt_gap_ns = 33000\n'
    _, packets, _ = kept(tmp_path, DUMBBELL, PAIR, BOTTLENECK + host, log="every")
    times, size = {}, {}
    for i in (0, 1):
        acks = [p.arrival_ns for port, p in packets if port == f"receivers[{i}]->right" and p.payload_bytes == 0]
        # What one interrupt brings is acknowledged within the time that a clock is read in.
        times[i] = [t for before, t in zip([0, *acks], acks) if t - before > 100]
        size[i] = len(acks) / len(times[i])
    gaps = [b - a for a, b in zip(times[0], times[0][1:])]
    assert min(gaps) > gap_ns - 100 and len(gaps) > 50 and size[0] > 5
    assert min(b - a for a, b in zip(times[1], times[1][1:])) < 1000 and size[1] < 2


def test_a_path_becomes_longer_and_shorter_at_exact_times(tmp_path):
    steps_ns = {0: 0, 1_000_000: 7000, 2_500_000: -1700}
    link = BOTTLENECK + "extra_delay_steps = [[1000, 7000], [2500, -1700]]\n"
    metrics, packets, zero_ns = kept(tmp_path, DUMBBELL, PAIR, link, log="every")
    left = {(p.sport, p.seq, p.arrival_ns): p for port, p in packets if port == "left->right" and p.depart_ns and not p.flags & DROP_TAIL}
    came = [p.arrival_ns for port, p in packets if port.startswith("right->receivers") and p.arrival_ns >= zero_ns]
    departs = [p.depart_ns for p in left.values() if p.depart_ns >= zero_ns]
    # Nothing is lost behind the bottleneck, and what is on the wire at time 0 or the end is not in both.
    wire_ns = came[0] - departs[0]
    expected, last = [], 0
    for depart in departs:
        step = max(at for at in steps_ns if zero_ns + at <= depart)
        last = max(last, depart + wire_ns + steps_ns[step])
        expected.append(last)
    assert len(came) > 5000 and came == expected[: len(came)]
    again, same, _ = kept(tmp_path, DUMBBELL, PAIR, link, log="every")
    assert (again, same) == (metrics, packets)


def test_the_way_back_of_acks_becomes_longer(tmp_path):
    flows = FLOW.format("one", "senders[0]", "receivers[0]") + "pacing_gbps = 1\n"
    longer = '[[host]]\nhosts = "receivers"\nextra_delay_steps = [[0, 4000]]\n[[port]]\nname = "left->senders[0]"\nextra_delay_steps = [[0, 9]]\n'
    before, _, _ = kept(tmp_path, DUMBBELL, flows)
    after, _, _ = kept(tmp_path, DUMBBELL, flows, BOTTLENECK + longer)
    assert after["rtt_p50_us"]["mean"] - before["rtt_p50_us"]["mean"] == pytest.approx(4.009, abs=1e-6)
