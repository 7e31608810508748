# SPDX-License-Identifier: Apache-2.0
"""The modules in a stock Debian kernel: one test per line that the guest prints.

DELAYCC_VM_KERNEL chooses its series (make vm-test KERNEL=...): 6.1, which is the default, 6.12, 7.2 or 7.3.  A machine is booted once per
session (run.sh); its console is kept in build/vm/console.log.
"""

import os
import pathlib
import re
import warnings

import pytest

import owned
import qemu

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
# run.sh: there is no such kernel or QEMU here.
SKIPPED = 77


PANIC = re.compile(r"Kernel panic.*|Oops:.*|BUG: .*|double fault.*")
# The processor's flags: bits that are always 0, and the one that is always 1. No program can set them otherwise, also not by IRET or POPF.
FLAGS = re.compile(r"EFLAGS: ([0-9a-f]{8})")
FLAGS_0, FLAGS_1 = 0xffc08028, 0x2
NO_FLAGS = "flags that no processor has"


def blame(status, console, errors):
    """Who ended the machine before its time: ("QEMU" or "kernel", the words that say so), or None if neither is to blame.

    status is run.sh's, and QEMU's from when that runs.  A kernel that fails before BEGIN, where our init has
    not yet loaded a module, has met what QEMU emulates wrongly: Debian 12's QEMU 7.2 does so to 6.12 now and then. So has one that fails
    with flags that no processor has: QEMU 7.2 took an address for them, behind the kernel's cmpxchg16b.
    """
    crash = qemu.ended_by(status, errors)
    if crash:
        return "QEMU", crash
    panic = PANIC.search(console)
    if "\nEND" in console or not panic:
        return None
    flags = FLAGS.search(console, panic.start())
    if flags and (int(flags[1], 16) & (FLAGS_0 | FLAGS_1)) != FLAGS_1:
        return "QEMU", f"{NO_FLAGS}, {flags[1]}: {panic[0]}"
    return ("kernel", panic[0]) if re.search(r"BEGIN \S+", console) else ("QEMU", f"the kernel failed before a module of ours was loaded: {panic[0]}")


class Machine:
    """What the machine printed, from BEGIN on, and why there is no more; None where it came to its end.

    qemu_failed: how QEMU itself ended it, each time; such a machine is booted once more.
    skipped: why there is no such machine here.
    """

    def __init__(self, command=(HERE / "run.sh",), log=ROOT / "build" / "vm" / "console.log", environment=None):
        self.qemu_failed, self.skipped = [], None
        self.boot(command, environment)
        if self.qemu_failed:
            # Time counts instructions: the same QEMU would take the same wrong flags.
            newer = {"DELAYCC_VM_QEMU": "trixie"} if NO_FLAGS in self.qemu_failed[0] else {}
            self.boot(command, {**(environment or {}), **newer})
            # Without the newer one the failure stays.
            self.skipped = None
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("".join(f"QEMU ended the machine: {how}\n" for how in self.qemu_failed) + self.console + self.errors, encoding="utf-8")
        if self.why:
            self.why += f"; see {log}"

    def ended(self):
        """Itself, come to its end: else the test is skipped or fails with the reason."""
        if self.skipped:
            pytest.skip(self.skipped)
        if self.why:
            pytest.fail(self.why, pytrace=False)
        return self

    def boot(self, command, environment):
        self.why = None
        try:
            done = owned.run(command, limit_s=LIMIT_S, silent_s=SILENT_S, stalled_s=STALLED_S,
                             env={**os.environ, **(environment or {})})
            self.console, self.errors = done.stdout.replace("\r", ""), done.stderr
            last = (self.errors or self.console).strip().splitlines()[-1:] or ["it said nothing"]
            if done.returncode == SKIPPED:
                self.skipped = last[0]
            whose = blame(done.returncode, self.console, self.errors)
            if whose and whose[0] == "QEMU":
                self.qemu_failed.append(whose[1])
                self.why = f"QEMU itself ended the machine, {len(self.qemu_failed)} times: {whose[1]}; QEMU=trixie takes a newer one"
            elif whose:
                self.why = f"the kernel failed: {whose[1]}"
            elif done.returncode:
                self.why = f"run.sh ended with {done.returncode}: {last[0]}"
            elif "\nEND" not in self.console:
                self.why = "the machine went off before its tests had ended"
        except owned.GivenUp as error:
            self.console, self.errors = error.shown.replace("\r", ""), str(error)
            self.why = self.errors.splitlines()[0]


@pytest.fixture(scope="session", name="machine")
def fixture_machine():
    # The command is one of the guest's programs.
    machine = Machine(environment={"PATH": f"{ROOT / 'build'}:{os.environ['PATH']}"})
    if machine.skipped:
        pytest.skip(machine.skipped)
    for how in machine.qemu_failed:
        warnings.warn(f"QEMU itself ended the machine, which was booted once more: {how}")
    return machine


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


def test_the_page_has_what_the_state_of_a_socket_takes(machine, told):
    """guest.sh prints "MEMORY NAME STATE TAKEN", in bytes, as columns of the page's table for 6.1. Others differ by less than a cache line."""
    verdict(machine, told, "every_algorithm_has_a_cache_of_its_own_for_states")
    measured = sorted(re.findall(r"^MEMORY (\w+) (\d+) (\d+)$", machine.console, re.MULTILINE))
    page = (ROOT / "docs" / "operate" / "security.md").read_text(encoding="utf-8")
    table = page.partition("## Memory per socket\n")[2].partition("\n## ")[0]
    of_page = sorted(re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \|", table, re.MULTILINE))
    if SERIES == "6.1":
        assert measured == of_page
    assert [name for name, *_ in measured] == [name for name, *_ in of_page]
    assert all(abs(int(state) - int(paged)) < 64 for (_, state, _), (_, paged, _) in zip(measured, of_page)), measured


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


QEMU_SAID = "qemu-system-x86_64: ../accel/tcg/cpu-exec.c:400: assertion failed\n"


@pytest.mark.parametrize("status, console, errors, whose", [
    (-11, "BEGIN 6.12.1\nPASS first\n", "", ("QEMU", "signal 11")),
    (139, "BEGIN 6.12.1\nPASS first\n", "", ("QEMU", "signal 11")),
    (-6, "BEGIN 6.12.1\n", QEMU_SAID, ("QEMU", "signal 6: " + QEMU_SAID.strip())),
    (1, "", "**\nERROR:../tcg/tcg.c:1: assertion failed\n", ("QEMU", "ERROR:../tcg/tcg.c:1: assertion failed")),
    (1, "", "qemu-system-x86_64: could not load kernel\n", ("QEMU", "qemu-system-x86_64: could not load kernel")),
    (0, "[ 0.1] BUG: unable to handle page fault\n", "",
     ("QEMU", "the kernel failed before a module of ours was loaded: BUG: unable to handle page fault")),
    (0, "BEGIN 6.12.1\n[ 5.1] Kernel panic - not syncing: Fatal exception\n", "", ("kernel", "Kernel panic - not syncing: Fatal exception")),
    (0, "BEGIN 6.1.0\ndouble fault: 0000\nRSP: 0018:ff EFLAGS: 1feb5242\n", "",
     ("QEMU", "flags that no processor has, 1feb5242: double fault: 0000")),
    (0, "BEGIN 6.1.0\ndouble fault: 0000\nRSP: 0018:ff EFLAGS: 00010246\n", "", ("kernel", "double fault: 0000")),
    (0, "BEGIN 6.12.1\n", "", None),
    (1, "", "run.sh: the modules do not build\n", None),
    (1, "", "run.sh: qemu-system-x86_64 is missing: run make setup\n", None),
    (0, "BEGIN 6.12.1\nEND\n", "qemu-system-x86_64: warning: no such feature\n", None),
    (0, "BEGIN 6.12.1\nFAIL kernel_has_not_complained: BUG: x\nEND\n", "", None),
])
def test_a_crash_of_qemu_is_told_from_one_of_the_kernel(status, console, errors, whose):
    assert blame(status, console, errors) == whose


def program_that_crashes_once(tmp_path, crash, then):
    program = tmp_path / "run.sh"
    program.write_text(f"#!/bin/sh\nif mkdir {tmp_path}/been; then {crash}; fi\n{then}\n")
    program.chmod(0o755)
    return Machine([program], tmp_path / "log")


def test_a_machine_that_qemu_ended_is_booted_once_more_and_named(tmp_path):
    machine = program_that_crashes_once(tmp_path, "kill -SEGV $$", "echo 'BEGIN 6.1.0'; echo PASS first; echo END")
    assert machine.why is None and machine.qemu_failed == ["signal 11"]
    assert (tmp_path / "log").read_text().startswith("QEMU ended the machine: signal 11\nBEGIN")


def test_a_machine_that_qemu_ends_twice_is_a_failure_that_names_it(tmp_path):
    machine = program_that_crashes_once(tmp_path, "kill -ABRT $$", "kill -SEGV $$")
    assert machine.qemu_failed == ["signal 6", "signal 11"] and machine.why.startswith("QEMU itself ended the machine, 2 times: signal 11")


def test_flags_that_no_processor_has_are_tried_by_a_newer_qemu(tmp_path):
    wrong = "echo 'BEGIN 6.1.0'; echo 'double fault: 0000'; echo 'EFLAGS: 1feb5242'; exit 0"
    machine = program_that_crashes_once(tmp_path, wrong, "[ $DELAYCC_VM_QEMU = trixie ] && echo BEGIN 6.1.0 && echo END")
    assert machine.why is None and machine.qemu_failed == ["flags that no processor has, 1feb5242: double fault: 0000"]


def test_without_a_newer_qemu_they_are_a_failure(tmp_path):
    wrong = "echo 'BEGIN 6.1.0'; echo 'double fault: 0000'; echo 'EFLAGS: 1feb5242'; exit 0"
    machine = program_that_crashes_once(tmp_path, wrong, f"echo no such QEMU >&2; exit {SKIPPED}")
    assert machine.skipped is None and "no such QEMU" in machine.why


def test_a_kernel_that_panics_under_our_modules_is_not_booted_again(tmp_path):
    machine = program_that_crashes_once(tmp_path, "echo 'BEGIN 6.1.0'; echo 'Kernel panic - not syncing: x'; exit 0", "echo 'BEGIN 6.1.0'; echo END")
    assert machine.qemu_failed == [] and machine.why.startswith("the kernel failed: Kernel panic - not syncing: x")
