# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import signal
import tempfile

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
