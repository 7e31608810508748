# SPDX-License-Identifier: Apache-2.0
"""The modules in a stock Debian kernel: one test per line that the guest prints.

DELAYCC_VM_KERNEL chooses its series: 6.1, which is the default, or 6.12.  A machine is booted once per session (run.sh); its console is kept in
build/vm/console.log.
"""

import os
import pathlib
import re
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
GUEST = (HERE / "guest.sh").read_text(encoding="utf-8")
SERIES = os.environ.get("DELAYCC_VM_KERNEL", "6.1")
NAMES = re.findall(r"^test_([a-z0-9_]+)\(\)$", GUEST, re.MULTILINE)


@pytest.fixture(scope="session", name="console")
def fixture_console():
    """What the machine printed, from BEGIN on."""
    done = subprocess.run(
        [HERE / "run.sh"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=900
    )
    text = done.stdout.decode("utf-8", "replace").replace("\r", "")
    log = ROOT / "build" / "vm" / "console.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(text + done.stderr.decode("utf-8", "replace"), encoding="utf-8")
    if done.returncode != 0:
        pytest.fail(f"run.sh ended with {done.returncode}:\n{done.stderr.decode()}\n{text[-2000:]}")
    return text


def test_guest_ran_to_its_end(console):
    assert f"BEGIN {SERIES}." in console, console[-2000:]
    assert "\nEND" in console, console[-2000:]


@pytest.mark.parametrize("name", NAMES)
def test_guest(console, name):
    verdict = re.search(rf"^(PASS|FAIL) {name}\b(.*)$", console, re.MULTILINE)
    assert verdict, f"the guest never came to {name}; see build/vm/console.log"
    assert verdict[1] == "PASS", verdict[2].lstrip(": ")
