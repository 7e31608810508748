# SPDX-License-Identifier: Apache-2.0
"""What network devices do while our modules are there, or come and go, in Debian's stock kernel (devices.sh)."""

import re

import pytest

from test_vm import HERE, ROOT, Machine

pytestmark = pytest.mark.ci

WORK = ROOT / "build" / "vm-devices"
NAMES = re.findall(r"^test_([a-z0-9_]+)\(\)$", (HERE / "devices.sh").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="module", name="console")
def fixture_console():
    return Machine([HERE / "run.sh", HERE / "devices.sh"], WORK / "console.log", {"DELAYCC_VM_WORK": str(WORK)}).ended().console


@pytest.mark.parametrize("name", [*NAMES, "kernel_has_not_complained"])
def test_devices(console, name):
    assert f"PASS {name}" in console.splitlines(), re.findall(rf"^FAIL {name}\b.*$", console, re.MULTILINE)
