# SPDX-License-Identifier: Apache-2.0
"""The BPF programs on Debian's stock kernels: `delaycc load` of every object, a checksummed transfer, `status`, `top`, `unload` (bpf.sh), and
what the stamps of a device (tests/lab/stamped) change.

tests/bpf does more, on the running kernel. Another kernel than 6.1: `make vm-test KERNEL=6.12`.
"""

import json
import os
import re

import pytest

from test_vm import HERE, ROOT, Machine

pytestmark = pytest.mark.ci

BUILD = ROOT / "build"
WORK = BUILD / "vm-bpf"


@pytest.fixture(scope="module", name="lines")
def fixture_lines():
    missing = BUILD / "bpf_transfer.missing"
    if missing.exists():
        pytest.skip(f"BPF programs cannot be built here; missing: {missing.read_text().strip()}")
    WORK.mkdir(parents=True, exist_ok=True)
    booted = Machine([HERE / "run.sh", HERE / "bpf.sh"], WORK / "console.log",
                     {"DELAYCC_VM_WORK": str(WORK), "PATH": f"{BUILD}:{os.environ['PATH']}"}).ended()
    return booted.console.splitlines()


def test_every_object_serves_a_transfer(lines):
    objects = {file.name.removesuffix(".bpf.o") for file in (BUILD / "bpf").glob("*.bpf.o")} - {"cgroup", "count", "stamps"}
    passed = [line for line in lines if line.startswith("PASS bpf_")]
    assert not [line for line in lines if line.startswith("FAIL")], lines
    assert len(passed) == len(objects)
    # Half of what the verifier would look at.
    assert all(0 < int(re.search(r"instructions=(\d+)", line)[1]) < 500000 for line in passed), passed


def test_the_verifier_is_done_within_seconds(lines):
    """Of a machine whose every instruction takes 8 ns: about three times today's most."""
    times = [int(found[1]) for found in (re.search(r"^PASS bpf_.* load_ms=(\d+)$", line) for line in lines) if found]
    assert times and max(times) < 25000, times


def test_an_acknowledgment_costs_a_bounded_number_of_instructions(lines):
    """About twice today's most; docs/operate/bpf.md has the table."""
    costs = {line.split()[1]: dict(re.findall(r"(\w+)=(\d+)", line)) for line in lines if line.startswith("PASS cost_")}
    bbr, cubic = costs.pop("cost_bbr"), costs.pop("cost_cubic")
    assert 0 < int(cubic["module"]) < int(bbr["module"]) < 1000, (bbr, cubic)
    assert len(costs) == len([line for line in lines if line.startswith("PASS bpf_")])
    for cost in costs.values():
        assert 0 < int(cost["module"]) < 2000 and 0 < int(cost["bpf"]) < 3000, cost
        assert 0 < int(cost["bpf_send"]) < 700, cost


def test_a_cgroup_takes_its_programs(lines):
    assert "PASS cgroup" in lines and "PASS kernel_has_not_complained" in lines


def test_the_count_of_flows_goes_between_program_and_module(lines):
    assert {"PASS count_read_by_program", "PASS count_written_by_program"} <= set(lines), [line for line in lines if "count_" in line]


def test_top_shows_a_modules_flow_too(lines):
    assert "PASS module" in lines


def test_stamps_of_the_device_take_the_hosts_noise_out_of_the_rtt(lines):
    """Of 3 MB at 100 Mbit/s and 2 ms, where the host takes up to 3 ms from device to TCP; by stamps four times."""
    found = [line for line in lines if "stamps " in line]
    assert found and found[0].startswith("PASS stamps"), found
    measured = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", found[0])}
    assert measured["tcp_ms"] > 3 * measured["quiet_ms"] and measured["stamps_ms"] < 2 * measured["quiet_ms"], measured
    # Not all segments acknowledge new data.
    assert measured["hit"] > 0.7 * measured["stamped"] > 4 * 200, measured


def test_the_backend_host_runs_a_program_as_it_runs_the_module(lines):
    line, = [line for line in lines if line.startswith("PASS backend_host ")]
    algorithms = json.loads(line.split(" ", 2)[2])["algorithms"]
    program, module = algorithms["bpf_oscar"], algorithms["oscar"]
    for metric in ("utilisation", "rtt_p50_us"):
        assert program[metric]["mean"] == pytest.approx(module[metric]["mean"], rel=0.1), metric
    # Of the decisions that each of them tells.
    assert program["gradient_mse"]["mean"] == pytest.approx(module["gradient_mse"]["mean"], rel=0.2)
    assert program["utilisation"]["mean"] > 0.9 and 10_000 < program["rtt_p50_us"]["mean"] < 20_000
