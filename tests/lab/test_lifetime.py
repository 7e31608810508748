# SPDX-License-Identifier: Apache-2.0
"""Nothing that a run or a test session starts outlives it, however it ends."""

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


# A surrogate of the lab kernel. Its child asks to be traced only once its parent has been killed, as a process of the lab's
# may, and stops.
STOPS = """#!/usr/bin/python3
import ctypes, os, signal, time
parent = os.getpid()
if os.fork() == 0:
    open("@/child", "w").write(str(os.getpid()))
    while os.getppid() == parent:
        time.sleep(0.01)
    ctypes.CDLL(None).ptrace(0, 0, 0, 0)
    os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(9999)
"""


@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM"])
def test_a_process_of_the_lab_that_stops_after_its_end_goes_too(tmp_path, how):
    lab = tmp_path / "lab"
    lab.mkdir()
    for file in LAB.iterdir():
        if file.name != "linux":
            (lab / file.name).symlink_to(file.resolve())
    (lab / "linux").write_text(STOPS.replace("@", str(tmp_path)))
    (lab / "linux").chmod(0o755)
    scenario = tmp_path / "long.toml"
    scenario.write_text(LONG)
    with subprocess.Popen(owned.owned(DELAYCC, "run", scenario, "--quiet", "--jobs", "1", "--out", tmp_path / "out"),
                          env={**os.environ, "DELAYCC_LAB": str(lab)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text(), "the lab did not start")
        child = int((tmp_path / "child").read_text())
        process.send_signal(signal.Signals[how])
    try:
        wait_for(lambda: not owned.alive(child), "a stopped process of the lab lives on")
    finally:
        if owned.alive(child):
            os.kill(child, signal.SIGKILL)


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
