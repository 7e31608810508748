# SPDX-License-Identifier: Apache-2.0
"""The BPF programs on Debian's stock kernels: `delaycc load` of every object, a checksummed transfer, `status`, `top`, `unload` (bpf.sh).

tests/bpf does more, on the running kernel. Another kernel than 6.1: `make vm-test KERNEL=6.12`.
"""

import os
import re

import pytest

from test_vm import HERE, ROOT, Machine

BUILD = ROOT / "build"
WORK = BUILD / "vm-bpf"


@pytest.fixture(scope="module", name="lines")
def fixture_lines():
    missing = BUILD / "bpf_transfer.missing"
    if missing.exists():
        pytest.skip(f"BPF programs cannot be built here; missing: {missing.read_text().strip()}")
    WORK.mkdir(parents=True, exist_ok=True)
    booted = Machine([HERE / "run.sh", HERE / "bpf.sh"], WORK / "console.log",
                     {"DELAYCC_VM_WORK": str(WORK), "PATH": f"{BUILD}:{os.environ['PATH']}"})
    if booted.skipped:
        pytest.skip(booted.skipped)
    if booted.why:
        pytest.fail(booted.why, pytrace=False)
    return booted.console.splitlines()


def test_every_object_serves_a_transfer(lines):
    objects = {file.name.removesuffix(".bpf.o") for file in (BUILD / "bpf").glob("*.bpf.o")} - {"cgroup"}
    passed = [line for line in lines if line.startswith("PASS bpf_")]
    assert not [line for line in lines if line.startswith("FAIL")], lines
    assert len(passed) == len(objects)
    # Half of what the verifier would look at.
    assert all(0 < int(re.search(r"instructions=(\d+)", line)[1]) < 500000 for line in passed), passed


def test_a_cgroup_takes_its_programs(lines):
    assert "PASS cgroup" in lines and "PASS kernel_has_not_complained" in lines


def test_top_shows_a_modules_flow_too(lines):
    assert "PASS module" in lines
