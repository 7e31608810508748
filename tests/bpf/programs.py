# SPDX-License-Identifier: Apache-2.0
"""What the tests of the BPF programs share, also where they run as programs: where things are, the delaycc command."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("DELAYCC_BUILD", ROOT / "build")).resolve()
DELAYCC = BUILD / "delaycc"


def delaycc(*words, fails=False):
    """What the command says: on its standard error where it is to fail."""
    done = subprocess.run([DELAYCC, *map(str, words)], capture_output=True, text=True, check=False)
    if bool(done.returncode) != fails:
        sys.exit(f"delaycc {words}: {done.returncode} {done.stdout}{done.stderr}")
    return done.stderr if fails else done.stdout


def run_in_cgroup(file, needs):
    """What the program `file` prints as JSON, in network and mount namespaces of its own, with a new cgroup as its argument."""
    # Not where a test runs as a program.
    import owned
    import pytest

    if not needs.exists():
        missing = BUILD / "bpf_transfer.missing"
        pytest.skip(f"{needs} is not built; missing: {missing.read_text().strip() if missing.exists() else 'run make'}")
    if os.geteuid():
        pytest.skip("attaching a BPF program to a cgroup needs root")
    mounts = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
    cgroups = [where for _, where, kind, *_ in mounts if kind == "cgroup2"]
    if not cgroups:
        pytest.skip("no cgroup file system of version 2 is mounted")
    cgroup = tempfile.mkdtemp(prefix="delaycc-test-", dir=cgroups[0])
    try:
        done = owned.run([*owned.with_own_mounts("--net"), sys.executable, file, cgroup])
    finally:
        # Its programs go with it.
        os.rmdir(cgroup)
    assert done.returncode == 0, done.stdout + done.stderr
    return cgroup, json.loads(done.stdout)
