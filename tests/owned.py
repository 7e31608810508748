# SPDX-License-Identifier: Apache-2.0
"""Processes that end with the test that started them, and that are given up by what they do, not by the wall clock.

How long something takes says how busy the machine is. Processor time does not: whoever uses more than it ever needs, or
none for a long while, hangs.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

TICKS = os.sysconf("SC_CLK_TCK")
# By their paths: the environment of the command may have none.
ENV = shutil.which("env") or "env"
SETPRIV = shutil.which("setpriv") or "setpriv"
# Seconds of wall time. A process that can run gets a turn in less on any machine.
STALLED_S = 180
# What is waited for that ought to come at once: an end after a signal, a daemon's start.
HANGS_S = 600


class GivenUp(Exception):
    """The process was ended: it used more than it may, or did nothing.  shown: its output until then."""

    def __init__(self, why, shown):
        super().__init__(why)
        self.shown = shown


def with_own_mounts(*options):
    """unshare with these options and mounts of its own; a test that needs it is skipped where / is no mount point (a chroot)."""
    command = ["unshare", "--mount", *options]
    tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no mounts of one's own can be had here: {tried.stderr.strip()}")
    return command


def owned(*command, end="KILL"):
    """The command, which gets this signal when the thread that starts it ends, even by SIGKILL."""
    # A session under nohup ignores SIGHUP, one in the background of a shell without job control SIGINT, and what they start would too.
    return [ENV, "--default-signal=HUP,INT", SETPRIV, "--pdeathsig", end, *map(str, command)]


def family(pid):
    """The process and all below it."""
    found = [pid]
    for one in found:
        # Each step fails if what it looks at has just ended.
        try:
            for children in pathlib.Path("/proc", str(one), "task").glob("*/children"):
                found += map(int, children.read_text().split())
        except OSError:
            pass
    return found


def alive(pid):
    try:
        return pathlib.Path("/proc", str(pid), "stat").read_text().rsplit(")", 1)[1].split()[0] not in "XZ"
    except OSError:
        return False


def wait_for(condition, what):
    """For what nothing can be waited on: a process that is not this one's child."""
    end = time.monotonic() + HANGS_S
    while not condition():
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(0.05)


def processor_s(pid):
    """What they have used, with those of their children that have ended."""
    ticks = 0
    for one in family(pid):
        try:
            ticks += sum(map(int, pathlib.Path("/proc", str(one), "stat").read_text().rsplit(")", 1)[1].split()[11:15]))
        except OSError:
            pass
    return ticks / TICKS


def run(command, *, limit_s=900, silent_s=None, stalled_s=STALLED_S, end="KILL", text=True, **options):
    """subprocess.run() with the output captured, but for a limit of wall time.

    Raises GivenUp when the command and its children use more than limit_s of processor time, more than silent_s of it
    without a byte of output, or none for stalled_s seconds.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with subprocess.Popen(owned(*command, end=end), stdin=subprocess.DEVNULL, stdout=out, stderr=err, **options) as process:
            why = watch(process, out, err, limit_s, silent_s, stalled_s)
        out.seek(0)
        err.seek(0)
        shown, errors = out.read(), err.read()
        if text:
            shown, errors = (data.decode(errors="replace") for data in (shown, errors))
        if why:
            last = (errors or shown)[-2000:]
            raise GivenUp(f"{command[0]} {why}; the end of what it said:\n{last if text else last.decode(errors='replace')}", shown)
        return subprocess.CompletedProcess(command, process.returncode, shown, errors)


def watch(process, out, err, limit_s, silent_s, stalled_s):
    """Waits; returns why the process was ended, or None."""
    used = spoke_at = 0.0
    said = 0
    moved = time.monotonic()
    try:
        while True:
            try:
                process.wait(0.5)
                return None
            except subprocess.TimeoutExpired:
                pass
            before, used = used, processor_s(process.pid)
            size = os.fstat(out.fileno()).st_size + os.fstat(err.fileno()).st_size
            if size != said:
                said, spoke_at = size, used
            if used != before:
                moved = time.monotonic()
            if used > limit_s:
                return f"used {used:.0f} s of processor time, {limit_s} are allowed"
            if silent_s and used - spoke_at > silent_s:
                return f"said nothing for {used - spoke_at:.0f} s of processor time, {silent_s} are allowed"
            if time.monotonic() - moved > stalled_s:
                return f"used no processor time for {stalled_s} s"
    finally:
        for one in reversed(family(process.pid) if process.returncode is None else []):
            try:
                os.kill(one, signal.SIGKILL)
            except ProcessLookupError:
                pass
