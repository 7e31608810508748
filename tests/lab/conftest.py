# SPDX-License-Identifier: Apache-2.0
"""Boots the lab for a test and hands back what its function inside returned."""

import json
import os
import pathlib
import subprocess
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# The folder with the lab's kernel and its modules.
LAB = pathlib.Path(os.environ.get("DELAYCC_LAB") or
                   pathlib.Path(os.environ.get("DELAYCC_BUILD", ROOT / "build"), "lab")).absolute()


class LabFailed(Exception):
    pass


def boot(function, *args, seed=1, seconds=120, mem="1G", script=None, options=()):
    """Run `function` of `script` inside the lab, as its init; returns (result, console text)."""
    kernel, module = LAB / "linux", LAB / "sch_dccport.ko"
    for file in (kernel, module):
        if not file.exists():
            pytest.fail(f"{file} is missing: run `make lab`")
    command = ["timeout", "-k", "2", str(seconds), "setarch", "-R", str(kernel), f"mem={mem}",
               "time-travel=inf-cpu", f"dcc_seed={seed}", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro",
               "quiet", "panic=-1", f"init={HERE / 'inlab.py'}", f"LAB_TEST={script}:{function}",
               f"LAB_PORT_MODULE={module}", "PYTHONHASHSEED=0", "PYTHONDONTWRITEBYTECODE=1", *options]
    if args:
        command.append("LAB_ARGS=" + json.dumps(args, separators=(",", ":")))
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([*command, f"LAB_OUT={out}"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        result = pathlib.Path(out, "result.json")
        if not result.exists():
            raise LabFailed(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        outcome = json.loads(result.read_text())
    if "error" in outcome:
        raise LabFailed(outcome["error"])
    if outcome["reports"]:
        raise LabFailed("the kernel complained:\n" + outcome["reports"])
    return outcome["result"], done.stdout


@pytest.fixture
def lab(request):
    """lab("function", args..., seed=N): run a function of the test's own file inside the lab."""
    def run(function, *args, **options):
        return boot(function, *args, script=request.path, **options)[0]
    return run
