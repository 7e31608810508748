# SPDX-License-Identifier: Apache-2.0
"""Line rate and base RTT: the bench tells its hosts what the topology says, and shows what was in force."""

import json
import re

import pytest

import records
from outside import ROOT, run

MSS = 1448

# Each flow is one full packet, alone on the network.
LONE = """
name = "lone"
cc = ["oscar"]
trials = 1
[topology]
{topology}
[hosts]
warm_bytes = 3000
{flows}
[measure]
duration_us = 2000
"""
FLOW = '[[flows]]\nfrom = "{0}"\nto = "{1}"\nsize_bytes = 1448\nstart_us = {2}\n'


def measured_ns(trial):
    """{(source's node, destination's address): RTT of its packet in the port log}"""
    plan = json.loads((trial / "plan.json").read_text())
    ports = {end["port"]["id"]: (end["port"]["name"], end["port"]["delay_ns"]) for link in plan["links"] for end in (link["a"], link["b"])}
    hosts = {node["name"] for node in plan["nodes"] if node["address"]}
    sent, result = {}, {}
    for packet in records.packets(trial):
        arrival, depart, _, _, seq, ack, payload, sport, dport, port, _ = packet
        name, delay = ports[port]
        source, destination = name.split("->")
        if payload == MSS and source in hosts and arrival >= plan["zero_ns"]:
            sent[sport] = (arrival, (seq + payload) & 0xFFFFFFFF)
        elif not payload and destination in hosts and dport in sent and sent[dport][1] == ack:
            flow = plan["flows"][dport - 10000]
            result.setdefault((flow["source"], plan["nodes"][flow["destination"]]["address"]), depart + delay - sent[dport][0])
    return result


def reported_ns(trial):
    """The same of what hosts were told."""
    plan = json.loads((trial / "plan.json").read_text())
    return {(at, address): int(ns) for at, node in enumerate(plan["nodes"])
            for address, ns in re.findall(r"([0-9.]+)/32 (\d+)", node["sysctls"].get("net.ipv4.delaycc.base_rtt_paths", ""))}


@pytest.mark.parametrize("topology, pairs", [
    ('kind = "dumbbell"\nbase_rtt_ns = 12000\n[bottleneck]\nrate_gbps = 25', [("senders", "receivers")]),
    ('kind = "incast"\nsenders = 2\n[link]\nrate_gbps = 10\ndelay_ns = 1000', [("senders[0]", "receivers"), ("senders[1]", "receivers")]),
    ('kind = "parking-lot"\nbottlenecks = 3\nbase_rtt_ns = 30000\n[host_link]\nrate_gbps = 0',
     [("switch0[0]", "switch1[0]"), ("switch0[0]", "switch3[0]"), ("switch2[0]", "switch1[0]")]),
    ('kind = "leaf-spine"\nbase_rtt_ns = 20000\n[[port]]\nname = "leaf1->leaf1[2]"\nrate_gbps = 0.1',
     [("leaf0[0]", "leaf0[1]"), ("leaf0[0]", "leaf1[2]"), ("leaf0[0]", "leaf1[1]")]),
    ('kind = "fat-tree"\nbase_rtt_ns = 12000\n[host_link]\nrate_gbps = 40',
     [("pod0[1]", "pod0[0]"), ("pod0[1]", "pod0[2]"), ("pod0[1]", "pod3[3]")]),
], ids=lambda v: v.split('"')[1] if isinstance(v, str) else "")
def test_the_base_rtt_that_hosts_are_told_is_that_of_a_lone_full_packet(tmp_path, topology, pairs):
    scenario = tmp_path / "lone.toml"
    scenario.write_text(LONE.format(topology=topology, flows="".join(FLOW.format(*pair, 300 * i) for i, pair in enumerate(pairs))))
    run(scenario, tmp_path / "out", "--keep")
    trial = tmp_path / "out" / "trials" / "case0-oscar-0"
    told, measured = reported_ns(trial), measured_ns(trial)
    assert len(told) == len(pairs)
    assert measured.keys() == told.keys()
    for path, ns in told.items():
        assert 0 <= measured[path] - ns <= 10, (path, ns, measured[path])


def settings(out):
    return {name: {s["name"]: (s.get("value"), s["source"]) for s in of}
            for name, of in json.loads((out / "summary.json").read_text())["settings"].items()}


def test_the_example_of_the_documentation_runs_at_its_links_rate(tmp_path):
    text = (ROOT / "docs" / "research" / "scenarios.md").read_text()
    scenario = tmp_path / "example.toml"
    scenario.write_text(re.search(r"## A whole file\n+```toml\n(.*?)```", text, re.DOTALL)[1])
    run(scenario, tmp_path / "out", "--cc", "oscar", "--trials", "2")
    oscar = json.loads((tmp_path / "out" / "summary.json").read_text())["algorithms"]["oscar"]
    assert oscar["recover_us"]["mean"] < 50
    assert oscar["utilisation"]["mean"] > 0.9
    assert settings(tmp_path / "out") == {"oscar": {"line_rate_mbps": ("100000", "bench"), "base_rtt_ns": ("12000", "bench")}}


def test_an_algorithm_that_the_scenario_says_nothing_of_fills_the_link(tmp_path):
    run("oscar-single", tmp_path / "out", "--cc", "oscar,ccc,swift,cubic", "--trials", "1")
    algorithms = json.loads((tmp_path / "out" / "summary.json").read_text())["algorithms"]
    assert all(algorithms[name]["utilisation"]["mean"] > 0.99 for name in ("oscar", "ccc", "swift"))
    bench = {"line_rate_mbps": ("100000", "bench"), "base_rtt_ns": ("12000", "bench")}
    scenario = {"line_rate_mbps": ("100000", "scenario"), "base_rtt_ns": ("12000", "scenario")}
    assert settings(tmp_path / "out") == {"oscar": scenario, "ccc": bench, "swift": bench}


def test_automatic_leaves_both_to_the_modules_and_says_so(tmp_path):
    run("oscar-single", tmp_path / "out", "--cc", "ccc", "--trials", "1", "--set", "hosts.line_rate=automatic",
        "--set", "hosts.base_rtt=automatic")
    assert settings(tmp_path / "out") == {"ccc": {"line_rate_mbps": (None, "automatic"), "base_rtt_ns": (None, "automatic")}}
    ccc = json.loads((tmp_path / "out" / "summary.json").read_text())["algorithms"]["ccc"]
    assert ccc["utilisation"]["mean"] > 0.95, "veth says 10 Gbit/s, and the path carries 100"
