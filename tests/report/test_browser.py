# SPDX-License-Identifier: Apache-2.0
"""The browser of the tests ends with its session."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest

import owned

pytestmark = pytest.mark.ci

SESSION = """
import sys, time
sys.path.insert(0, sys.argv[1])
import browser
running = browser.Browser()
print(running.driver.service.process.pid, flush=True)
time.sleep(10**6)
"""


def test_no_browser_outlives_its_session(browser, tmp_path_factory):
    # `browser`: where that starts, a second one does.
    here = pathlib.Path(__file__).parent
    with subprocess.Popen(owned.owned(sys.executable, "-c", SESSION, here), stdout=subprocess.PIPE, text=True,
                          # A short path: Chromium binds a socket in it, and 107 bytes is all that a socket's path may have.
                          env={**os.environ, "TMPDIR": str(tmp_path_factory.mktemp("b"))}) as process:
        line = process.stdout.readline()
        if not line:
            pytest.fail("the second browser does not start")
        started = owned.family(int(line))
        assert len(started) > 2
        process.send_signal(signal.SIGKILL)
    owned.wait_for(lambda: not any(map(owned.alive, started)), lambda: f"live on: {[pid for pid in started if owned.alive(pid)]}")
