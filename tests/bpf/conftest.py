# SPDX-License-Identifier: Apache-2.0
import contextlib
import fcntl
import json
import os
import pathlib
import subprocess

import pytest

from programs import DELAYCC

HELD = pathlib.Path("/run/delaycc-tests-bpf")


def registered():
    done = subprocess.run([DELAYCC, "status", "--json"], capture_output=True, text=True, check=False)
    return [one["name"] for one in json.loads(done.stdout)["algorithms"]] if done.returncode == 0 else []


@contextlib.contextmanager
def kernel_held(file=HELD):
    """The kernel's names of algorithms, for one session at a time; what a session that was killed had registered is unloaded first.

    file: what was registered when its session began; empty where none runs or was killed.
    """
    with open(file, "a+", encoding="utf-8") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        held.seek(0)
        before = held.read()
        if before:
            for name in set(registered()) - set(json.loads(before)):
                subprocess.run([DELAYCC, "unload", name], capture_output=True, check=False)
        held.truncate(0)
        held.write(json.dumps(registered()))
        held.flush()
        try:
            yield
        finally:
            held.truncate(0)


@pytest.fixture(scope="session", autouse=True)
def kernel_of_one_session():
    """A registered algorithm outlives the process that registered it, SIGKILL of the whole session too."""
    if os.geteuid() or not DELAYCC.exists():
        yield
        return
    with kernel_held():
        yield
