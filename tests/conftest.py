# SPDX-License-Identifier: Apache-2.0
import ctypes
import json
import os
import pathlib
import resource
import signal
import tempfile
import time

import pytest

PR_SET_PDEATHSIG = 1


def pytest_configure(config):
    # A worker of pytest-xdist whose session was killed would go on with its test for a while.
    if hasattr(config, "workerinput"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() == 1:
            os._exit(1)


@pytest.fixture(scope="session", autouse=True)
def temporary_files_go_with_the_session(tmp_path_factory):
    """Even where it is killed: pytest keeps the folders of three sessions, and removes older ones."""
    tempfile.tempdir = str(tmp_path_factory.mktemp("tmp"))
    yield
    tempfile.tempdir = None


def processor_s():
    """Of this process and of its children that have ended, in seconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Each test's time goes to build/durations.jsonl, from which harness/tools/durations.py makes the table of docs/develop/tests.md."""
    wall, used = time.monotonic(), processor_s()
    yield
    if not os.environ.get("DELAYCC_BUILD"):
        return
    line = {"test": item.nodeid, "wall_s": round(time.monotonic() - wall, 2), "cpu_s": round(processor_s() - used, 2)}
    # One write of a line: the processes of pytest-xdist share the file.
    with open(pathlib.Path(os.environ["DELAYCC_BUILD"], "durations.jsonl"), "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
