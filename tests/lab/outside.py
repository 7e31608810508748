# SPDX-License-Identifier: Apache-2.0
"""What the tests share outside the lab: where things are, booting the lab, modules of a test's own, the delaycc command."""

import json
import os
import pathlib
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import owned  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("DELAYCC_BUILD", ROOT / "build")).resolve()
# The folder with the lab's kernel and its modules.
LAB = pathlib.Path(os.environ.get("DELAYCC_LAB") or BUILD / "lab").absolute()
DELAYCC = BUILD / "delaycc"

# A long flow and a short one over one link, about 0.3 s a trial: to be followed by keys of the short flow, [measure] and more.
LONG_AND_SHORT = """
name = "small"
cc = ["oscar", "cubic"]
[topology]
kind = "dumbbell"
senders = 2
base_rtt_ns = 12000
[[flows]]
name = "long"
from = "senders[0]"
to = "receivers"
[[flows]]
name = "short"
from = "senders[1]"
to = "receivers"
"""
# Hosts of one rate before a bottleneck of another; keys of the bottleneck may follow.
BOTTLENECK = """
[topology]
kind = "dumbbell"
senders = {senders}
receivers = 1
base_rtt_ns = {rtt_ns}
[link]
rate_gbps = {host_gbps}
[bottleneck]
rate_gbps = {gbps}
buffer_bytes = {buffer_bytes}
"""
OSCAR_TOLD = """
[algorithms.oscar.sysctl]
net.ipv4.delaycc.line_rate_mbps = 100000
net.ipv4.delaycc.base_rtt_ns = 12000
"""


class LabFailed(Exception):
    pass


def boot(function, *args, seed=1, seconds=300, mem="1G", script=None, options=()):
    """Run `function` of `script` inside the lab, as its init, for so many seconds of processor time; returns (result, console text)."""
    kernel, module = LAB / "linux", LAB / "sch_dccport.ko"
    for file in (kernel, module):
        if not file.exists():
            pytest.fail(f"{file} is missing: run `make lab`")
    command = ["setarch", "-R", str(kernel), f"mem={mem}",
               "time-travel=inf-cpu", f"dcc_seed={seed}", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro",
               "quiet", "panic=-1", f'init="{HERE}/inlab.py"', f'LAB_TEST="{script}:{function}"',
               f"LAB_PORT_MODULE={module}", "PYTHONHASHSEED=0", "PYTHONDONTWRITEBYTECODE=1", *options]
    if args:
        command.append("LAB_ARGS=" + json.dumps(args, separators=(",", ":")))
    with tempfile.TemporaryDirectory() as out:
        try:
            done = owned.run([*command, f"LAB_OUT={out}"], limit_s=seconds)
        except owned.GivenUp as error:
            raise LabFailed(f"{' '.join(command)}\n{error}") from None
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
    for file in sources.iterdir():
        link = folder / file.name
        link.unlink(missing_ok=True)
        link.symlink_to(file)
    built = modules / LAB.name
    kernel = LAB.parent / (LAB.name + "-kernel")
    done = owned.run(["make", "-s", "-C", kernel, "ARCH=um", f"M={folder}", f"DELAYCC_MODULES={built}",
                      f"KBUILD_EXTRA_SYMBOLS={built}/Module.symvers", "modules"])
    if done.returncode:
        pytest.fail(f"{name}.ko does not build:\n{done.stdout}{done.stderr}")
    return folder / (name + ".ko")


def delaycc(*arguments, **options):
    return owned.run([DELAYCC, *map(str, arguments)], **options)


def run(scenario, out, *arguments, **options):
    """delaycc run, which has to succeed."""
    done = delaycc("run", scenario, "--quiet", "--out", out, *arguments, **options)
    assert done.returncode == 0, done.stderr
    return done
