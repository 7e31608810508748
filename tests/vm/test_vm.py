# SPDX-License-Identifier: Apache-2.0
"""The modules in a stock Debian kernel: one test per line that the guest prints.

DELAYCC_VM_KERNEL chooses its series: 6.1, which is the default, or 6.12.  A machine is booted once per session (run.sh); its console is kept in
build/vm/console.log.
"""

import os
import pathlib
import re

import pytest

import owned

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
GUEST = (HERE / "guest.sh").read_text(encoding="utf-8")
SERIES = os.environ.get("DELAYCC_VM_KERNEL", "6.1")
# The last one is common.sh's.
NAMES = re.findall(r"^test_([a-z0-9_]+)\(\)$", GUEST, re.MULTILINE) + ["kernel_has_not_complained"]
# Seconds of processor time, of which the whole takes about 60 with building: the guest's clock counts instructions, so a
# busy machine changes nothing in it.  A guest that hangs goes on counting.
LIMIT_S, SILENT_S = 1800, 300
# Seconds of wall time in which it does nothing: it may wait for another one's download of the kernel.
STALLED_S = 1800


class Machine:
    """What the machine printed, from BEGIN on, and why there is no more; None where it came to its end."""

    def __init__(self, command=(HERE / "run.sh",), log=ROOT / "build" / "vm" / "console.log", environment=None):
        self.why = None
        try:
            done = owned.run(command, limit_s=LIMIT_S, silent_s=SILENT_S, stalled_s=STALLED_S,
                             env={**os.environ, **(environment or {})})
            self.console, errors = done.stdout.replace("\r", ""), done.stderr
            if done.returncode:
                last = (errors or self.console).strip().splitlines()[-1:] or ["it said nothing"]
                self.why = f"run.sh ended with {done.returncode}: {last[0]}"
            elif "\nEND" not in self.console:
                self.why = "the machine went off before its tests had ended"
        except owned.GivenUp as error:
            self.console, errors = error.shown.replace("\r", ""), str(error)
            self.why = errors.splitlines()[0]
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(self.console + errors, encoding="utf-8")
        if self.why:
            self.why += f"; see {log}"


@pytest.fixture(scope="session", name="machine")
def fixture_machine():
    return Machine()


def verdict(machine, told, name):
    """The guest's word on a test.  Of a machine that did not come so far, the first test says why, and the others say nothing."""
    found = re.search(rf"^(PASS|FAIL) {name}\b(.*)$", machine.console, re.MULTILINE)
    if found:
        return found[1], found[2].lstrip(": ")
    if machine.why is None:
        return "FAIL", "the guest never came to it; see build/vm/console.log"
    if told:
        pytest.skip(f"the machine did not come to it: {told[0]} says why")
    told.append(name)
    return "FAIL", machine.why


@pytest.fixture(scope="session", name="told")
def fixture_told():
    return []


def test_guest_ran_to_its_end(machine, told):
    if machine.why:
        told.append("test_guest_ran_to_its_end")
        pytest.fail(machine.why, pytrace=False)
    assert f"BEGIN {SERIES}." in machine.console, machine.console[-2000:]


@pytest.mark.parametrize("name", NAMES)
def test_guest(machine, told, name):
    word, why = verdict(machine, told, name)
    if word != "PASS":
        pytest.fail(why, pytrace=False)


def test_a_machine_that_does_not_come_up_is_one_failure_that_says_why(tmp_path):
    program = tmp_path / "run.sh"
    program.write_text("#!/bin/sh\necho BEGIN\necho PASS first\necho 'run.sh: no such kernel' >&2\nexit 1\n")
    program.chmod(0o755)
    machine = Machine([program], tmp_path / "log")
    told = []
    assert verdict(machine, told, "first") == ("PASS", "")
    assert verdict(machine, told, "second") == ("FAIL", f"run.sh ended with 1: run.sh: no such kernel; see {tmp_path}/log")
    with pytest.raises(pytest.skip.Exception, match="second says why"):
        verdict(machine, told, "third")
