# SPDX-License-Identifier: Apache-2.0
"""What the tests share outside the lab: where things are, booting the lab, modules of a test's own, the delaycc command."""

import json
import os
import pathlib
import subprocess
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("DELAYCC_BUILD", ROOT / "build")).absolute()
# The folder with the lab's kernel and its modules.
LAB = pathlib.Path(os.environ.get("DELAYCC_LAB") or BUILD / "lab").absolute()
DELAYCC = BUILD / "delaycc"


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


def build_module(name, sources):
    """Builds NAME.ko of a test for the lab's kernel, beside build/modules/lab, and returns its path."""
    modules = LAB.parent / "modules"
    folder = modules / f"{sources.name}-{LAB.name}"
    folder.mkdir(parents=True, exist_ok=True)
    for file in ("Kbuild", name + ".c"):
        link = folder / file
        link.unlink(missing_ok=True)
        link.symlink_to(sources / file)
    built = modules / LAB.name
    kernel = LAB.parent / (LAB.name + "-kernel")
    done = subprocess.run(["make", "-s", "-C", kernel, "ARCH=um", f"M={folder}", f"DELAYCC_MODULES={built}",
                           f"KBUILD_EXTRA_SYMBOLS={built}/Module.symvers", "modules"], capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"{name}.ko does not build:\n{done.stdout}{done.stderr}")
    return folder / (name + ".ko")


def delaycc(*arguments, **options):
    return subprocess.run([DELAYCC, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options)


def run(scenario, out, *arguments):
    """delaycc run, which has to succeed."""
    done = delaycc("run", scenario, "--quiet", "--out", out, *arguments)
    assert done.returncode == 0, done.stderr
    return done
