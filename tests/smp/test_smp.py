# SPDX-License-Identifier: Apache-2.0
"""The modules on four processors, in debug kernels of our own: no report of the kernel, no wrong byte.

Two machines: kasan (wrong memory, locks, RCU, sleeping in atomic context, object life times, leaks) and kcsan (data races).
Each boots once; guest/main.cc says what its init does.  The short form makes trouble for 30 s of the machine's clock,
DELAYCC_SMP_SECONDS says how long else; from 300 s on each kind of trouble must have been made, and the machines are also
given a faulty module, to see that they report it.  build/smp/FLAVOUR has console.log, table.txt and races.txt.
"""

import os
import pathlib
import re
import subprocess

import pytest

import owned
import qemu

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SECONDS = int(os.environ.get("DELAYCC_SMP_SECONDS", "30"))
LONG = SECONDS >= 300
# The machines' clock is this machine's.
pytestmark = [pytest.mark.alone, pytest.mark.ci]

FLAVOURS = ("kasan", "kcsan")

# A report of the kernel begins so.  Stalls and hung tasks cannot be among them: run.sh says why.
REPORT = re.compile(
    r"BUG: |WARNING: |kernel BUG|INFO: (?:possible|trying|HARDIRQ)|ODEBUG: |unreferenced object|general protection|Oops: |"
    r"Kernel panic|refcount_t: |DEBUG_LOCKS_WARN|[Bb]ad unlock|list_(?:add|del) corruption|double fault|"
    r"unregister_netdevice: waiting|Unable to handle|scheduling while atomic"
)
RACE = re.compile(r"BUG: KCSAN: [a-z-]+ in (.*)")
OURS = re.compile(r"\[(?:delaycc\w*|tcp_\w+|smp_faulty)\]")
LINES = 60  # of a report that are shown
# A kernel that boots on a busy host may take its timer for broken (guest/main.cc).
COARSE_BOOTS = 8


def reports(console):
    """(those that count, the kernel's own races): a race is ours if one of the two functions is in a module of ours."""
    lines = console.splitlines()
    ours, others = [], []
    for i, line in enumerate(lines):
        if not REPORT.search(line):
            continue
        race = RACE.search(line)
        if race and not OURS.search(race[1]):
            others.append(race[1])
        else:
            ours.append("\n".join(lines[i:i + LINES]))
    return ours, others


class Run:
    """One machine's life: its console, and why it ended before it should; None where it did not."""

    def __init__(self, flavour, *words, limit_s, name="", folder=None, program=HERE / "run.sh"):
        folder = folder or ROOT / "build" / "smp" / (flavour + name)
        folder.mkdir(parents=True, exist_ok=True)
        self.program = program
        self.log = folder / "console.log"
        crashes = coarse = 0
        while crashes < 2 and coarse < COARSE_BOOTS:
            self.boot(flavour, words, limit_s, folder)
            crashes += self.qemu_ended_by is not None
            coarse += self.coarse
            if not self.coarse and not self.qemu_ended_by:
                break
        self.wrong = re.findall(r"^WRONG (.*)$", self.console, re.MULTILINE)
        last = self.console.rsplit("\nCALM\n", 1)[-1]
        self.counts = {what: int(n) for n, what in re.findall(r"^COUNT (\d+) (.*)$", last, re.MULTILINE)}
        self.reports, self.others = reports(self.console)
        (folder / "races.txt").write_text("".join(f"{race}\n" for race in sorted(set(self.others))), encoding="utf-8")

    def boot(self, flavour, words, limit_s, folder):
        self.why = self.qemu_ended_by = None
        self.coarse = False
        try:
            done = owned.run([self.program, flavour, *words], limit_s=limit_s, silent_s=limit_s, stalled_s=1800,
                             env={**os.environ, "DELAYCC_SMP_WORK": str(folder)})
            self.console = done.stdout.replace("\r", "")
            errors = done.stderr
            self.coarse = "\nCOARSE\n" in self.console
            self.qemu_ended_by = qemu.ended_by(done.returncode, errors)
            if self.qemu_ended_by:
                self.why = f"QEMU itself ended by {self.qemu_ended_by}, twice: no fault of the kernel in it"
            elif done.returncode:
                self.why = f"run.sh ended with {done.returncode}: {errors.strip().splitlines()[-1:]}"
            elif self.coarse:
                self.why = f"the kernel took the machine's timer for broken at each of {COARSE_BOOTS} boots: the host is too busy"
            elif "\nEND\n" not in self.console:
                self.why = "the kernel has reset the machine before the end"
        except owned.GivenUp as error:
            self.console, errors = error.shown.replace("\r", ""), str(error)
            self.why = errors.splitlines()[0]
        self.log.write_text(self.console + errors, encoding="utf-8")

    def table(self):
        return "".join(f"{n:>12}  {what}\n" for what, n in self.counts.items()) + (
            f"{len(self.reports):>12}  reports of the kernel\n{len(set(self.others)):>12}  races of the kernel's own (races.txt)\n")


def need_kernel(flavour):
    found = subprocess.run([HERE / "kernel" / "build.sh", "--cached", flavour], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip(found.stderr.strip())


@pytest.fixture(scope="session", params=FLAVOURS, name="stressed")
def fixture_stressed(request):
    flavour = request.param
    need_kernel(flavour)
    # Processor time: an emulated machine of four uses all that there is.
    run = Run(flavour, f"smp_seconds={SECONDS}", f"smp_seed={os.environ.get('DELAYCC_SMP_SEED', '1')}",
              limit_s=2400 + 8 * SECONDS)
    (run.log.parent / "table.txt").write_text(f"{flavour}, {SECONDS} s of trouble\n{run.table()}", encoding="utf-8")
    return run


def test_the_machine_comes_to_its_end(stressed):
    if stressed.why:
        pytest.fail(f"{stressed.why}; see {stressed.log}\n{stressed.console[-3000:]}", pytrace=False)


def test_the_kernel_reports_nothing(stressed):
    if stressed.reports:
        pytest.fail(f"{len(stressed.reports)} reports; see {stressed.log}\n" + "\n\n".join(stressed.reports[:5]), pytrace=False)


def test_no_byte_is_wrong_no_transfer_hangs_and_all_modules_go(stressed):
    assert not stressed.wrong, stressed.wrong[:20]


def test_each_kind_of_trouble_was_made(stressed):
    if stressed.why:
        pytest.skip("test_the_machine_comes_to_its_end says why")
    least = stressed.counts if LONG else [
        "transfers completed", "TCP_CONGESTION switches of live sockets", "legal values written to parameters", "sockets dumped"]
    # No trouble, but what may come of it.
    outcomes = ("things that went wrong", "namespaces that an allocation kept from being made")
    never = [what for what in least if not stressed.counts[what] and what not in outcomes]
    assert not never, never


FAULTS = {
    "kasan": {
        "rcu": r"WARNING: suspicious RCU usage",
        "lock_order": r"WARNING: possible circular locking dependency detected",
        "sleep": r"BUG: sleeping function called from invalid context at .*smp_faulty\.c",
        "timer": r"ODEBUG: free active .* hint: faulty_expired",
        # KASAN's first report ends lockdep's work: it comes last.
        "use_after_free": r"BUG: KASAN: use-after-free in faulty_use_after_free",
        "leak": r"unreferenced object .* \(size 2048\)",
    },
    "kcsan": {"race": r"BUG: KCSAN: data-race in faulty_race(?:r)? \[smp_faulty\]"},
}


@pytest.mark.skipif(not LONG, reason="a part of `make smp-test`: it boots both machines once more")
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_faulty_module_is_reported(flavour):
    need_kernel(flavour)
    run = Run(flavour, "smp_fault=" + ",".join(FAULTS[flavour]), limit_s=1200, name="-faulty")
    assert run.why is None, run.why
    missing = [fault for fault, report in FAULTS[flavour].items() if not any(re.search(report, text) for text in run.reports)]
    assert not missing, f"{missing}: see {run.log}"


@pytest.mark.skipif(not LONG, reason="a part of `make smp-test`: it boots a machine once more")
def test_a_wrong_byte_is_reported():
    need_kernel("kcsan")
    run = Run("kcsan", "smp_corrupt=1", "smp_seconds=20", limit_s=2400, name="-corrupt")
    assert "bytes" in run.wrong, (run.why, run.wrong)


CONSOLE = """BEGIN 6.1
BUG: KCSAN: data-race in tcp_sendmsg / tcp_poll
delaycc: ccc: no memory for a socket's state, it uses reno instead
{}
END
"""


@pytest.mark.parametrize("line", [
    "BUG: KASAN: use-after-free in oscar_release+0x10/0x20 [tcp_oscar]",
    "BUG: KCSAN: data-race in delaycc_apply [delaycc] / tcp_get_info",
    "BUG: KCSAN: data-race in tcp_get_info / delaycc_apply [delaycc]",
    "WARNING: possible circular locking dependency detected",
    "WARNING: suspicious RCU usage",
    "unreferenced object 0xffff888006328000 (size 2048):",
    "ODEBUG: free active (active state 0) object type: timer_list",
    "BUG: sleeping function called from invalid context at net/core/sock.c:3000",
])
def test_a_report_is_found_among_other_lines(line):
    ours, others = reports(CONSOLE.format(line))
    assert [report.splitlines()[0] for report in ours] == [line]
    assert others == ["tcp_sendmsg / tcp_poll"]


def test_a_quiet_console_has_no_report():
    assert reports(CONSOLE.format("random: crng init done")) == ([], ["tcp_sendmsg / tcp_poll"])


def test_a_crash_of_qemu_is_told_from_one_of_the_kernel():
    assert qemu.ended_by(-11, "") == "signal 11" and qemu.ended_by(139, "") == "signal 11"
    assert qemu.ended_by(1, "**\nERROR:../tcg/tcg.c:1: assertion failed\n")
    assert qemu.ended_by(0, "") is None and qemu.ended_by(1, "tests/smp/run.sh: no kernel") is None
    assert qemu.ended_by(1, "tests/smp/run.sh: qemu-system-x86_64 is missing: run make setup\n") is None


def run_of(tmp_path, first, then):
    """Of a machine whose first boot does another thing than the later ones."""
    program = tmp_path / "run.sh"
    program.write_text(f"#!/bin/sh\necho boot >>{tmp_path}/boots\nif mkdir {tmp_path}/been; then {first}; else {then}; fi\n")
    program.chmod(0o755)
    run = Run("kasan", limit_s=60, folder=tmp_path, program=program)
    return run, (tmp_path / "boots").read_text().count("boot")


COARSE, GOOD = "echo BEGIN; echo COARSE", "echo BEGIN; echo CALM; echo COUNT 3 doors; echo END"


@pytest.mark.parametrize("first, then, why, boots", [
    (GOOD, "exit 1", None, 1),
    (COARSE, GOOD, None, 2),
    ("kill -SEGV $$", GOOD, None, 2),
    (COARSE, COARSE, f"the kernel took the machine's timer for broken at each of {COARSE_BOOTS} boots: the host is too busy", COARSE_BOOTS),
    ("kill -SEGV $$", "kill -SEGV $$", "QEMU itself ended by signal 11, twice: no fault of the kernel in it", 2),
    ("echo BEGIN; echo CALM", GOOD, "the kernel has reset the machine before the end", 1),
])
def test_a_machine_is_booted_again_for_what_is_no_fault_of_its_kernel(tmp_path, first, then, why, boots):
    run, booted = run_of(tmp_path, first, then)
    assert (run.why, booted) == (why, boots)
    assert run.counts == ({} if why else {"doors": 3})
