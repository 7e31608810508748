# SPDX-License-Identifier: Apache-2.0
"""What tests start: ended for what it does, not for how long it takes, and never left behind."""

import pathlib
import signal
import subprocess
import sys

import pytest

import owned

pytestmark = pytest.mark.ci

BURN = "while :; do :; done"


def test_a_process_that_is_kept_from_running_is_not_given_up():
    # Three seconds of wall time, hardly any of its own: on a busy machine any process looks like this.
    done = owned.run(["sh", "-c", "for i in 1 2 3; do sleep 1; done; echo done"], limit_s=1, silent_s=1)
    assert done.stdout == "done\n"


def test_too_much_processor_time_ends_it_with_all_below_it():
    with pytest.raises(owned.GivenUp, match="used . s of processor time, 1 are allowed") as caught:
        owned.run(["sh", "-c", f"sh -c '{BURN}' & echo $!; wait"], limit_s=1)
    child = int(caught.value.shown)
    owned.wait_for(lambda: not owned.alive(child), "its child lives on")


def test_processor_time_without_a_word_ends_it():
    with pytest.raises(owned.GivenUp, match="said nothing for . s of processor time, 1 are allowed"):
        owned.run(["sh", "-c", f"echo begin; {BURN}"], silent_s=1)


def test_a_process_that_does_nothing_is_given_up():
    with pytest.raises(owned.GivenUp, match="used no processor time for 1 s"):
        owned.run(["sleep", "1000"], stalled_s=1)


def test_output_of_any_size_and_the_exit_code_come_back():
    done = owned.run(["sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x; echo error >&2; exit 3"])
    assert (len(done.stdout), done.stderr, done.returncode) == (1000000, "error\n", 3)


@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT", "SIGKILL"])
def test_what_a_script_becomes_ends_with_the_session(tmp_path, how):
    # As run.sh becomes QEMU.
    session = "import owned; owned.run(['sh', '-c', 'echo $$; echo $$ >pid.new; mv pid.new pid; exec sleep 1000'])"
    folder = pathlib.Path(owned.__file__).parent
    with subprocess.Popen(owned.owned(sys.executable, "-c", session), cwd=tmp_path, env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin"},
                          stderr=subprocess.DEVNULL) as process:
        owned.wait_for((tmp_path / "pid").exists, "it did not start")
        process.send_signal(signal.Signals[how])
    pid = int((tmp_path / "pid").read_text())
    owned.wait_for(lambda: not owned.alive(pid), "it lives on")
