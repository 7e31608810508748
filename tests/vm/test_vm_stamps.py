# SPDX-License-Identifier: Apache-2.0
"""Time stamps of QEMU's network devices, and of our own, in Debian's stock kernel: what `delaycc calibrate` finds out (stamps.sh)."""

import os
import re
import subprocess

import pytest

from test_vm import HERE, ROOT, Machine

pytestmark = pytest.mark.ci

BUILD = ROOT / "build"
WORK = BUILD / "vm-stamps"
NAMES = re.findall(r"^test_([a-z0-9_]+)\(\)$", (HERE / "stamps.sh").read_text(encoding="utf-8"), re.MULTILINE)
SUITE = os.environ.get("DELAYCC_VM_QEMU")


def has_igb():
    """QEMU 8 and newer have it."""
    qemu = subprocess.run([HERE / "qemu.sh", SUITE], capture_output=True, text=True, check=True).stdout.strip() if SUITE else "qemu-system-x86_64"
    version = re.search(r"version (\d+)", subprocess.run([qemu, "--version"], capture_output=True, text=True, check=True).stdout)
    return int(version[1]) >= 8


def pair(kind, hub, ports=""):
    """Two devices on a hub of QEMU's; ports: they are behind root ports of their own."""
    for number in range(2):
        name = f"{kind}{number}"
        if ports:
            yield f"-device pcie-root-port,id=port{name},chassis={number + 1},slot={number + 1}"
        yield f"-netdev hubport,id={name},hubid={hub} -device {kind},netdev={name},romfile=" + (f",bus=port{name}" if ports else "")


@pytest.fixture(scope="module", name="machine")
def fixture_machine():
    WORK.mkdir(parents=True, exist_ok=True)
    igb = has_igb()
    devices = [*pair("e1000e", 1), *(pair("igb", 2, "ports") if igb else ())]
    booted = Machine([HERE / "run.sh", HERE / "stamps.sh"], WORK / "console.log",
                     {"DELAYCC_VM_WORK": str(WORK), "PATH": f"{BUILD}:{os.environ['PATH']}", "DELAYCC_VM_MACHINE": "q35",
                      "DELAYCC_VM_DEVICES": " ".join(devices), "DELAYCC_VM_WORDS": "with_igb" if igb else ""}).ended()
    return booted, igb


@pytest.mark.parametrize("name", [*NAMES, "kernel_has_not_complained"])
def test_the_stamps_of(machine, name):
    booted, igb = machine
    if name.endswith("igb") and not igb:
        pytest.skip("this QEMU has no igb: QEMU=trixie takes a newer one")
    assert f"PASS {name}" in booted.console.splitlines(), re.findall(rf"^FAIL {name}\b.*$", booted.console, re.MULTILINE)
