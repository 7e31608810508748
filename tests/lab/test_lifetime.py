# SPDX-License-Identifier: Apache-2.0
"""Nothing that a run or a test session starts outlives it, however it ends."""

import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

import owned
from outside import DELAYCC, HERE, LAB
from owned import wait_for

pytestmark = pytest.mark.ci

# A trial that would go on for hours.
LONG = """
name = "long"
cc = ["cubic"]
trials = 4
[topology]
kind = "dumbbell"
base_rtt_ns = 12000
[[flows]]
from = "senders"
to = "receivers"
[measure]
duration_us = 900000000
log = "none"
"""


@pytest.fixture
def mine(tmp_path):
    """A lab with a kernel of its own file, so that its processes are known from all others: (environment, those there are)."""
    lab = tmp_path / "lab"
    lab.mkdir()
    for file in LAB.iterdir():
        if file.name == "linux":
            shutil.copy(file, lab / "linux")
        else:
            (lab / file.name).symlink_to(file.resolve())

    def processes():
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.readlink(entry / "exe").startswith(str(lab)):
                    found.append(int(entry.name))
            except OSError:
                pass
        return found

    temporary = tmp_path / "temporary"
    temporary.mkdir()
    yield {**os.environ, "DELAYCC_LAB": str(lab), "TMPDIR": str(temporary)}, processes, temporary
    for pid in processes():
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("command", ["run", "eval"])
@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL", "timeout -k 1", "timeout -s KILL"])
def test_no_lab_outlives_its_command(tmp_path, mine, command, how):
    env, processes, temporary = mine
    scenario = tmp_path / "long.toml"
    scenario.write_text(LONG)
    wanted = ["--metric", "goodput_gbps"] if command == "eval" else []
    arguments = [DELAYCC, command, scenario, "--quiet", "--jobs", "2", "--out", tmp_path / "out", *wanted]
    # timeout's own alarm: its time is over.
    with subprocess.Popen(owned.owned(*(how.split() + ["9999"] if "timeout" in how else []), *arguments), env=env,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: len(processes()) >= 2, "no lab came up")
        process.send_signal(signal.SIGALRM if "timeout" in how else signal.Signals[how])
        if command == "eval" and how in ("SIGTERM", "SIGINT"):
            # The first lets the trials under way end.
            wait_for(lambda: process.poll() is not None or process.send_signal(signal.SIGTERM), "it goes on")
    wait_for(lambda: not processes(), lambda: f"processes of the lab live on: {processes()}")
    # What a killed one left goes with the next one.
    subprocess.run(owned.owned(DELAYCC, "doctor"), env=env, stdout=subprocess.DEVNULL, check=False)
    assert [entry.name for entry in temporary.iterdir()] == []


# Of <linux/ptrace.h>.
PTRACE_TRACEME, PTRACE_CONT, PTRACE_DETACH, PTRACE_SETOPTIONS, PTRACE_GETEVENTMSG = 0, 7, 17, 0x4200, 0x4201
PTRACE_O_TRACEFORK, PTRACE_O_EXITKILL, PTRACE_EVENT_FORK = 1 << 1, 1 << 20, 1
WALL = 0x40000000


def ptrace(request, pid=0, data=0):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    if libc.ptrace(request, pid, 0, data) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def kill_lab_at_fork(number, folder):
    """Boots a lab and kills its kernel when that has just forked for this time. Returns the pid of the new process, which has
    not run yet, or None if the kernel forks less often."""
    kernel = os.fork()
    if kernel == 0:
        try:
            ptrace(PTRACE_TRACEME)
            out = os.open(folder / "console", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(out, 1)
            os.dup2(out, 2)
            os.execv(LAB / "linux", ["linux", "time-travel=inf-cpu", "mem=64M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/",
                                     "ro", "quiet", "con=null", "con0=null,fd:1", f"uml_dir={folder}/", "umid=lab", "init=/bin/true"])
        finally:
            os._exit(127)
    os.waitpid(kernel, 0)
    ptrace(PTRACE_SETOPTIONS, kernel, PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL)
    forwarded = forks = 0
    while True:
        ptrace(PTRACE_CONT, kernel, forwarded)
        _, status = os.waitpid(kernel, 0)
        if not os.WIFSTOPPED(status):
            return None
        forwarded = os.WSTOPSIG(status)
        if status >> 8 != signal.SIGTRAP | PTRACE_EVENT_FORK << 8:
            continue
        forwarded = 0
        child = ctypes.c_ulong()
        ptrace(PTRACE_GETEVENTMSG, kernel, ctypes.addressof(child))
        os.waitpid(child.value, WALL)
        forks += 1
        if forks == number:
            os.kill(kernel, signal.SIGKILL)
            os.waitpid(kernel, 0)
            ptrace(PTRACE_DETACH, child.value)
            return child.value
        ptrace(PTRACE_DETACH, child.value)


def test_a_process_that_a_killed_lab_did_not_trace_yet_goes_too(tmp_path):
    """It would ask whoever adopts it to trace it, and stop for good."""
    number = 1
    while child := kill_lab_at_fork(number, tmp_path):
        try:
            wait_for(lambda pid=child: not owned.alive(pid), f"process {number} of the lab lives on")
        finally:
            if owned.alive(child):
                os.kill(child, signal.SIGKILL)
        number += 1
    # Those that try ptrace out at boot, and one for init.
    assert number > 3, (tmp_path / "console").read_text()


def test_the_folders_of_a_run_that_lives_stay(tmp_path, mine):
    env, processes, temporary = mine
    scenario = tmp_path / "long.toml"
    scenario.write_text(LONG)
    with subprocess.Popen(owned.owned(DELAYCC, "run", scenario, "--quiet", "--jobs", "1", "--out", tmp_path / "out"), env=env,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for(processes, "no lab came up")
        before = list(temporary.iterdir())
        subprocess.run(owned.owned(DELAYCC, "doctor"), env=env, stdout=subprocess.DEVNULL, check=False)
        assert list(temporary.iterdir()) == before != []
        process.terminate()


SESSION = """
import os, sys, time
sys.path.insert(0, {here!r})
import inlab

def in_lab_for_ever():
    time.sleep(10**9)

def test_lab(lab):
    lab("in_lab_for_ever")
"""


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "xdist"])
@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT", "SIGKILL"])
def test_no_lab_outlives_its_test_session(tmp_path, mine, workers, how):
    env, processes, _ = mine
    if workers:
        pytest.importorskip("xdist")
    # The project's own conftest files, a test of another folder.
    tests = tmp_path / "tests"
    (tests / "lab").mkdir(parents=True)
    for file in (HERE.parent / "conftest.py", HERE.parent / "owned.py", HERE / "conftest.py", HERE / "outside.py", HERE / "inlab.py"):
        (tests / file.relative_to(HERE.parent)).symlink_to(file)
    (tests / "lab" / "test_session.py").write_text(SESSION.format(here=str(HERE)))
    with subprocess.Popen(owned.owned(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *workers, tests),
                          env=env, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: processes() or process.poll() is not None, "no lab came up")
        assert processes(), f"the session ended with {process.poll()}"
        process.send_signal(signal.Signals[how])
    wait_for(lambda: not processes(), lambda: f"processes of the lab live on: {processes()}")
