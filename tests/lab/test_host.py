# SPDX-License-Identifier: Apache-2.0
"""The backend `host`: the lab's own kernel, in virtual time, is the running kernel; its figures against those of the lab's ports."""

import json
import pathlib
import subprocess
import time

import pytest

from outside import BOTTLENECK, BUILD, LAB, delaycc, run

pytestmark = pytest.mark.ci

# A flow at the bottleneck's rate, and three that join it for a while: queue, losses and recovery.
INCAST = """
name = "shared"
trials = {trials}
cc = ["oscar", "cubic", "dctcp"]""" + BOTTLENECK + """
ecn_threshold_bytes = {ecn_bytes}
[[flows]]
name = "long"
from = "senders[0]"
to = "receivers"
[[flows]]
name = "others"
count = 3
from = "senders[1-3]"
to = "receivers"
start_us = {join_us}
start_jitter_us = {jitter_us}
size_bytes = {size_bytes}
[measure]
duration_us = {duration_us}
from_us = {from_us}
"""
FAST = dict(trials=1, senders=4, rtt_ns=12000, host_gbps=200, gbps=100, buffer_bytes=400000, ecn_bytes=75000, join_us=500, jitter_us=0,
            size_bytes=500000, duration_us=2000, from_us=200)
SLOW = dict(trials=1, senders=4, rtt_ns=1000000, host_gbps=1, gbps=0.1, buffer_bytes=60000, ecn_bytes=20000, join_us=50000, jitter_us=0,
            size_bytes=100000, duration_us=300000, from_us=30000)


def inside(scenarios, modules, command):
    """In the lab: COMMAND on each scenario; what it says, and its summary."""
    results = []
    for number, scenario in enumerate(scenarios):
        folder = pathlib.Path(f"/tmp/run{number}")
        folder.mkdir()
        (folder / "case.toml").write_text(scenario)
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "DELAYCC_MODULES": modules}
        done = subprocess.run([*command, "--backend", "host", "--out", "out", "--quiet", "case.toml"], cwd=folder, env=environment,
                              capture_output=True, text=True, check=False)
        summary = folder / "out/summary.json"
        results.append({"code": done.returncode, "error": done.stderr,
                        "summary": json.loads(summary.read_text()) if summary.exists() else None})
    return results


def sockets_after(scenario, modules, command):
    """The kernel's sockets of TCP before a run and a second after it."""
    def sockets():
        return [line for line in pathlib.Path("/proc/net/sockstat").read_text().splitlines() if line.startswith("TCP:")][0]

    seen = [sockets()]
    result, = inside([scenario], modules, command)
    time.sleep(1)
    return [*seen, sockets()], result["code"]


def host_in_lab(lab, *scenarios, options=()):
    return lab("inside", scenarios, str(LAB), [str(BUILD / "delaycc"), "run", *options])


def both(lab, tmp_path, scenario):
    (tmp_path / "case.toml").write_text(scenario)
    run(tmp_path / "case.toml", tmp_path / "out")
    by_lab = json.loads((tmp_path / "out/summary.json").read_text())
    by_host, = host_in_lab(lab, scenario)
    assert by_host["code"] == 0, by_host["error"]
    return by_lab, by_host["summary"]


def figure(summary, algorithm, metric):
    return summary["algorithms"][algorithm][metric]["mean"]


# What may differ: fq serves a host's flows in turn where the lab's port is a FIFO, tbf counts whole nanoseconds for a packet, and a loss
# falls on another packet when one comes 100 ns later. So flows that lose a packet end at other times; what the link carries stays. One
# phase of the joining flows says little (oscar's utilisation at 100 Gbit/s: .94 to .99); the means are of phases over one RTT.
@pytest.mark.parametrize("numbers", (FAST, SLOW), ids=("100gbit-12us", "100mbit-1ms"))
def test_the_kernel_s_own_qdiscs_give_the_lab_s_figures(lab, tmp_path, numbers):
    by_lab, by_host = both(lab, tmp_path, INCAST.format(**dict(numbers, trials=6, jitter_us=numbers["rtt_ns"] / 1000)))
    for algorithm in ("oscar", "cubic", "dctcp"):
        pairs = {metric: (figure(by_lab, algorithm, metric), figure(by_host, algorithm, metric))
                 for metric in ("utilisation", "goodput_gbps", "rtt_p50_us")}
        assert pairs["utilisation"][1] == pytest.approx(pairs["utilisation"][0], abs=0.03), algorithm
        assert pairs["goodput_gbps"][1] == pytest.approx(pairs["goodput_gbps"][0], rel=0.05), algorithm
        assert pairs["rtt_p50_us"][1] == pytest.approx(pairs["rtt_p50_us"][0], rel=0.2), algorithm
        assert figure(by_host, algorithm, "noise_p99_us") < 0.2
        # What the taps take for dropped, and what the qdiscs themselves say. Nothing else drops here.
        assert figure(by_host, algorithm, "qdisc_drops") == figure(by_host, algorithm, "drops"), algorithm
    assert figure(by_host, "cubic", "qdisc_drops") > 0


def test_an_idle_path_has_the_plan_s_base_rtt(lab, tmp_path):
    """One flow of one packet at a time: every wire, and every packet's serialisation, is in its RTT."""
    numbers = dict(FAST, join_us=1000, size_bytes=1448)
    scenario = INCAST.format(**numbers).replace('name = "long"', 'name = "long"\nsize_bytes = 1448').replace(
        'cc = ["oscar", "cubic", "dctcp"]', 'cc = ["cubic"]').replace("[measure]", "[measure]\nrtt_us = [[0, 900]]")
    by_lab, by_host = both(lab, tmp_path, scenario)
    ideal, found = figure(by_lab, "cubic", "rtt_p50_us"), figure(by_host, "cubic", "rtt_p50_us")
    assert ideal == pytest.approx(12, abs=0.1)
    assert found == pytest.approx(ideal, abs=0.4), "an ACK that shares a port with data counts as a full packet"


ONE_FLOW = """
name = "one"
trials = 1
cc = ["bbr"]""" + BOTTLENECK + """
[[flows]]
name = "one"
from = "senders"
to = "receivers"
size_bytes = {size_bytes}
[measure]
duration_us = 500000
from_us = {from_us}
"""


# Tbf lets a packet go when its serialisation begins; that of a full one is part of the wire.
def test_a_short_packet_takes_as_long_as_a_full_one(lab, tmp_path):
    numbers = dict(senders=1, rtt_ns=1000000, host_gbps=0.2, gbps=0.1, buffer_bytes=100000, from_us=0)
    by_lab, by_host = both(lab, tmp_path, ONE_FLOW.format(**numbers, size_bytes=100))
    shorter_us = (1448 - 100) * 8 * (1 / 100 + 2 / 200)
    assert figure(by_lab, "bbr", "rtt_p50_us") == pytest.approx(1000 - shorter_us, abs=1)
    assert figure(by_host, "bbr", "rtt_p50_us") == pytest.approx(1000, abs=1)


def test_bbr_takes_the_longer_handshake_for_the_path_s_rtt(lab, tmp_path):
    numbers = dict(senders=1, rtt_ns=1000000, host_gbps=0.2, gbps=0.1, buffer_bytes=100000, from_us=200000)
    by_lab, by_host = both(lab, tmp_path, ONE_FLOW.format(**numbers, size_bytes=100_000_000))
    # A SYN is 230 us shorter. BBR's window is twice what the path holds, and even.
    packet_us = 1514 * 8 / 100
    longer_us = figure(by_host, "bbr", "rtt_p50_us") - figure(by_lab, "bbr", "rtt_p50_us")
    assert packet_us < longer_us < 4 * packet_us


def test_nothing_of_a_trial_is_left_in_the_kernel(lab):
    """Flows whose send buffers are full at the end."""
    numbers = dict(SLOW, size_bytes=100_000_000)
    (before, after), code = lab("sockets_after", INCAST.format(**numbers), str(LAB), [str(BUILD / "delaycc"), "run"])
    assert code == 0 and before == "TCP: inuse 0 orphan 0 tw 0 alloc 0 mem 0"
    # Each processor keeps 1 MB for the next socket.
    words = after.split()
    assert words[:-1] == before.split()[:-1] and int(words[-1]) <= 256, after


REFUSED = {"[link]\njitter_ns = 1000": "netem's jitter puts packets out of order",
           '[[host]]\nhosts = "receivers"\ninterrupt_gap_ns = 9000\n[link]': "interrupt_gap_ns: a veth has no interrupts",
           "[link]\nextra_delay_steps = [[5, 1000]]": "extra_delay_steps: netem's delay changes when a process gets to it",
           "[hosts]\ngso = true\n[link]": "hosts.gso = true",
           "[link]\nloss_ppm = 100": "a host's own port has no netem"}


def test_what_qdiscs_cannot_do_is_refused_by_name(lab):
    results = host_in_lab(lab, *(INCAST.format(**FAST).replace("[link]", change) for change in REFUSED))
    for result, why in zip(results, REFUSED.values()):
        assert result["code"] == 1 and why in result["error"] and result["summary"] is None


def test_trials_in_wall_time_do_not_run_side_by_side(lab):
    done, = host_in_lab(lab, INCAST.format(**FAST), options=["--jobs", "2"])
    assert done["code"] == 2 and "--jobs 2: trials of the backend host share this machine" in done["error"]


def test_a_kernel_without_netem_is_refused_with_what_is_missing(tmp_path):
    (tmp_path / "case.toml").write_text(INCAST.format(**FAST))
    done = delaycc("run", "--backend", "host", "--out", tmp_path / "out", tmp_path / "case.toml")
    if done.returncode == 0:
        pytest.skip("this machine's kernel can")
    assert done.returncode == 1 and ("lacks " in done.stderr or "for root" in done.stderr), done.stderr
    assert not (tmp_path / "out/summary.json").exists()
