# SPDX-License-Identifier: Apache-2.0
"""Workloads in the lab: the same flows and paths for every algorithm, completion times that are exact, paths that are all used."""

import collections
import json
import sqlite3

import pytest

import outside
import records

pytestmark = pytest.mark.ci

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
    outside.run(scenario, directory / out, "--jobs", "1", *arguments)
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
    printed = outside.delaycc("workload", tmp_path / "flows.toml", "--trial", "1").stdout
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


# ---- paths ----

FABRIC = """
name = "fabric"
cc = ["cubic"]
trials = 1
[topology]
kind = "fat-tree"
k = 4
base_rtt_ns = 20000
[link]
rate_gbps = 100
buffer_bytes = 4000000
ecn_threshold_bytes = 100000
[workload]
sizes = "alistorage"
load = 0.1
until_us = 1300
[measure]
duration_us = 1500
log = "every"
[hosts]
base_rtt = "path"
sysctl.net.ipv4.tcp_ecn = 1
"""

LEAF_SPINE = FABRIC.replace('kind = "fat-tree"\nk = 4', 'kind = "leaf-spine"\nleaves = 4\nspines = 4\nhosts = 4')


def paths(trial):
    """Ports that the data of each flow passes, and the plan's ports by id."""
    plan = json.loads((trial / "plan.json").read_text())
    ports = {end["port"]["id"]: end["port"]["name"] for link in plan["links"] for end in (link["a"], link["b"])}
    found = collections.defaultdict(set)
    for packet in records.packets(trial):
        if packet.payload_bytes:
            found[packet.sport - 10000].add(ports[packet.port_id])
    return found, ports.values(), plan


@pytest.mark.parametrize("text", [FABRIC, LEAF_SPINE], ids=["fat-tree", "leaf-spine"])
def test_a_flow_has_one_path_whatever_the_algorithm(tmp_path, text):
    algorithms = ["cubic", "dctcp", "oscar", "swift", "bbr"]
    out = run(tmp_path, text, "--cc", ",".join(algorithms), "--keep")
    first, _, plan = paths(out / "trials" / "case0-cubic-0")
    assert len(first) > 100
    hops = {flow["id"]: (plan["nodes"][flow["source"]]["name"], plan["nodes"][flow["destination"]]["name"])
            for flow in plan["flows"]}
    for flow, ports in first.items():
        # One port out of each node on the way, and no other.
        out_of = [port.split("->")[0] for port in ports]
        assert len(set(out_of)) == len(out_of) and hops[flow][0] in out_of
        assert any(port.endswith("->" + hops[flow][1]) for port in ports)
    for algorithm in algorithms[1:]:
        other, _, _ = paths(out / "trials" / f"case0-{algorithm}-0")
        assert first == other, algorithm


@pytest.mark.parametrize("text", [FABRIC, LEAF_SPINE], ids=["fat-tree", "leaf-spine"])
def test_all_equal_paths_are_used_alike(tmp_path, text):
    out = run(tmp_path, text, "--trials", "4", "--set", "measure.duration_us=4000", "--set",
              "workload.until_us=3800", "--keep")
    uses = collections.Counter()
    trials = sorted((out / "trials").iterdir())
    for trial in trials:
        found, ports, _ = paths(trial)
        uses.update(port for flow in found.values() for port in flow)
        up = {port for port in ports if "[" not in port}
        idle = [port for port in up if not any(port in flow for flow in found.values())]
        assert not idle
    # Out of one switch towards the next tier: shares of flows that chance explains.
    choices = collections.defaultdict(list)
    for port, count in uses.items():
        left, right = port.split("->")
        tier = [0 if "[" in n else 1 if "edge" in n or "leaf" in n else 2 if "agg" in n else 3 for n in (left, right)]
        if tier[1] > tier[0] > 0:
            choices[left].append(count)
    assert choices
    for left, counts in choices.items():
        mean = sum(counts) / len(counts)
        assert mean > 30
        chi2 = sum((count - mean) ** 2 / mean for count in counts)
        assert chi2 < 20, (left, counts)  # one in 10^4 at up to three degrees of freedom


def test_repeats_boots_and_order_do_not_matter(tmp_path):
    a = run(tmp_path, FABRIC, "--trials", "3", "--cc", "cubic,oscar", "--keep", out="a")
    b = run(tmp_path, FABRIC, "--first-trial", "2", "--trials", "1", "--cc", "oscar", "--keep", out="b")
    for name in ["packets.bin", "flows.json", "plan.json"]:
        one, other = (out / "trials" / "case0-oscar-2" / name for out in (a, b))
        assert one.read_bytes() == other.read_bytes(), name


def test_switches_mark_for_dctcp(tmp_path):
    out = run(tmp_path, FABRIC.replace("load = 0.1", "load = 0.8"), "--cc", "dctcp", "--keep")
    marked, worst = 0, 0
    for packet in records.packets(out / "trials" / "case0-dctcp-0"):
        if packet.flags & records.MARKED:
            assert packet.backlog_bytes >= 100000
            marked += 1
        worst = max(worst, packet.backlog_bytes)
    assert marked > 100
    assert worst < 4000000


# ---- segmentation offload ----


def pieces(trial, flow, from_us, to_us):
    """How many packets of a flow left its host at once, each time that some did."""
    plan = json.loads((trial / "plan.json").read_text())
    source = next(plan["nodes"][f["source"]]["name"] for f in plan["flows"] if f["id"] == flow)
    own = {end["port"]["id"] for link in plan["links"] for end in (link["a"], link["b"])
           if end["port"]["name"].startswith(source + "->")}
    left = collections.Counter()
    for packet in records.packets(trial):
        at_us = (packet.arrival_ns - plan["zero_ns"]) / 1000
        if packet.payload_bytes and packet.sport == 10000 + flow and packet.port_id in own and from_us <= at_us < to_us:
            left[packet.arrival_ns] += 1
    return list(left.values())


def test_pieces_are_as_short_as_the_pace_is_slow(tmp_path):
    scenario = outside.ROOT / "harness/scenarios/oscar-fig07.toml"
    for offload in "true", "false":
        outside.run(scenario, tmp_path / offload, "--jobs", "1", "--cc", "oscar", "--trials", "2", "--set",
                    f"hosts.gso={offload}", "--keep")
    with_offload, without = (json.loads((tmp_path / offload / "summary.json").read_text())["algorithms"]["oscar"]
                             for offload in ("true", "false"))
    # Longer pieces gave the law no slope to see the burst's end by: it took 450 us.
    assert with_offload["recover_us"]["max"] < without["recover_us"]["max"] + 20
    assert with_offload["utilisation"]["mean"] > without["utilisation"]["mean"] - 0.01
    trial = tmp_path / "true" / "trials" / "case0-oscar-0"
    alone, shared = pieces(trial, 0, 100, 450), pieces(trial, 0, 800, 1400)
    # A sixteenth of 12 us at 100 Gbit/s, and at a tenth of it.
    assert max(alone) == 6 and sum(alone) / len(alone) > 5
    assert len(shared) > 100 and max(shared) == 1
    alone = pieces(tmp_path / "false" / "trials" / "case0-oscar-0", 0, 100, 450)
    assert len(alone) > 1000 and max(alone) == 1


# ---- physical priorities ----

PRIORITIES = """
name = "priorities"
cc = ["cubic"]
trials = 1
[topology]
kind = "incast"
senders = 3
base_rtt_ns = 12000
[link]
rate_gbps = 100
[bottleneck]
buffer_bytes = 40000000
qdisc = "prio"
bands = 4
[hosts]
initcwnd = 3000
ack_dscp = 3
[[flows]]
name = "low"
from = "senders[0]"
to = "receivers"
size_bytes = 3000000
[[flows]]
name = "high"
from = "senders[1]"
to = "receivers"
size_bytes = 1000000
start_us = 50
dscp = 1
[[flows]]
name = "highest"
from = "senders[2]"
to = "receivers"
size_bytes = 100000
start_us = 60
dscp = 9
[measure]
duration_us = 1000
"""


def test_a_prio_port_serves_a_high_flow_as_if_it_were_alone(tmp_path):
    slow = {}
    for qdisc in ["prio", "fifo"]:
        text = PRIORITIES if qdisc == "prio" else PRIORITIES.replace('qdisc = "prio"\nbands = 4\n', "")
        out = run(tmp_path, text, "--keep", out=qdisc)
        slow[qdisc] = [f["fct_ns"] / f["ideal_ns"] for f in flows(out, "cubic")]
    low, high, highest = slow["prio"]
    # The highest waits for one packet in service; the next for the 100 KB of that one.
    assert highest < 1.02
    assert 1.05 < high < 1.15
    assert max(slow["fifo"][1:]) > 1.5
    # Work is conserved: the last byte of all comes at the same time.
    ends = [max(f["received_ns"] for f in flows(tmp_path / q, "cubic")) for q in ["prio", "fifo"]]
    assert abs(ends[0] - ends[1]) < 2000
    summary = json.loads((tmp_path / "prio" / "summary.json").read_text())
    # Acknowledgments carry the DSCP, too: at the port to a sender nothing else is told apart, but data is by its own.
    plan = json.loads((tmp_path / "prio" / "trials" / "case0-cubic-0" / "plan.json").read_text())
    assert [flow["dscp"] for flow in plan["flows"]] == [0, 1, 9] and plan["ack_dscp"] == 3
    assert summary["algorithms"]["cubic"]["drops"]["mean"] == 0


def test_priorities_of_a_workload_go_by_size(tmp_path):
    text = DUMBBELL.replace("load = 0.5", "load = 0.8\npriority_limits_bytes = [50000, 1000000]\ndscp_of_priority = true")
    results = {}
    for bands in [0, 3]:
        link = f'[link]\nqdisc = "prio"\nbands = {bands}' if bands else "[link]"
        out = run(tmp_path, text.replace("[link]", link).replace("initcwnd = 200", "initcwnd = 200\nack_dscp = 2"), "--cc", "cubic",
                  "--trials", "2", out=f"bands{bands}")
        results[bands] = json.loads((out / "summary.json").read_text())["algorithms"]["cubic"]
    assert results[3]["small.slowdown_mean"]["mean"] < results[0]["small.slowdown_mean"]["mean"]
    assert results[3]["small.slowdown_p50"]["mean"] < 1.3


def test_spread_by_packet_every_flow_uses_all_paths_evenly(tmp_path):
    """And a port with a rate of its own carries no more than that."""
    port = '[[port]]\nname = "spine1->leaf1"\nrate_gbps = 20\n'
    text = LEAF_SPINE.replace('kind = "leaf-spine"', 'kind = "leaf-spine"\nspread = "packet"') + port
    out = run(tmp_path, text, "--cc", "oscar", "--keep")
    trial = out / "trials" / "case0-oscar-0"
    plan = json.loads((trial / "plan.json").read_text())
    ports = {end["port"]["id"]: end["port"]["name"] for link in plan["links"] for end in (link["a"], link["b"])}
    up, slow = collections.defaultdict(collections.Counter), []
    for packet in records.packets(trial):
        name = ports[packet.port_id]
        if packet.payload_bytes and name.startswith("leaf") and "spine" in name:
            up[packet.sport][name] += 1
        if name == "spine1->leaf1" and not packet.flags & (records.DROP_TAIL | records.DROP_LOSS):
            slow.append((packet.depart_ns, packet.len_bytes))
    spines = len({name for counts in up.values() for name in counts if name.startswith("leaf0->")})
    assert spines == len({n["name"] for n in plan["nodes"] if n["name"].startswith("spine")})
    large = [counts for counts in up.values() if sum(counts.values()) > 200]
    assert len(large) > 3
    for counts in large:
        mean = sum(counts.values()) / spines
        assert len(counts) == spines
        assert sum((count - mean) ** 2 / mean for count in counts.values()) < 25, counts  # one in 10^5
    busiest = max(sum(length for depart, length in slow if begin <= depart < begin + 50_000)
                  for begin in range(min(slow)[0], max(slow)[0], 50_000))
    assert busiest <= 20e9 / 8 * 50e-6 + 1514


def test_loss_begins_at_time_zero_and_its_timeouts_are_as_short_as_asked(tmp_path):
    """Six hundredths of all packets are lost: no connection may lack, and lone packets wait for the timeout."""
    def worst_us(out):
        return max(f["fct_ns"] for f in flows(out, "cubic")) / 1000

    text = DUMBBELL.replace("[link]", "[link]\nloss_ppm = 10000").replace("duration_us = 5000", "duration_us = 1000000")
    text = text.replace("load = 0.5", 'load = 0.5\nsizes = "alistorage"\nuntil_us = 300')
    slow = run(tmp_path, text, "--cc", "cubic", out="slow")
    fast = run(tmp_path, text.replace("[hosts]", "[hosts]\nrto_min_ms = 1"), "--cc", "cubic", out="fast")
    assert len(flows(fast, "cubic")) == len(flows(slow, "cubic")) > 20
    assert worst_us(slow) > 200_000
    assert worst_us(fast) < 50_000
