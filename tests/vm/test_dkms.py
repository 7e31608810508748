# SPDX-License-Identifier: Apache-2.0
"""The modules by DKMS, as docs/operate/install.md has an operator install them, for Debian's stock kernel."""

import os
import pathlib
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.ci

HERE = pathlib.Path(__file__).resolve().parent
KERNEL = HERE.parent.parent / "kernel"
VERSION = (HERE.parent.parent / "VERSION").read_text().strip()
SERIES = os.environ.get("DELAYCC_VM_KERNEL", "6.1")
# kernel.sh: there is no such kernel here.
SKIPPED = 77


def test_dkms_builds_every_module(tmp_path):
    if not shutil.which("dkms", path=os.environ["PATH"] + ":/usr/sbin"):
        pytest.skip("dkms is not installed (Debian: dkms)")
    if os.geteuid():
        pytest.skip("dkms signs modules with a key of root's: needs root")
    done = subprocess.run([HERE / "kernel.sh", SERIES], capture_output=True, text=True)
    if done.returncode == SKIPPED:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stderr
    folder = pathlib.Path(done.stdout.strip())
    if not (folder / "build").exists():
        pytest.skip(f"the modules for {SERIES} need Debian 13's compiler (build.sh)")
    release = (folder / "release").read_text().strip()
    # What `cp -rL kernel /usr/src/delaycc-VERSION && dkms install` does, in folders of its own and without installing.
    source, tree = tmp_path / "src" / f"delaycc-{VERSION}", tmp_path / "tree"
    shutil.copytree(KERNEL, source)
    tree.mkdir()
    for command in (["add", f"delaycc/{VERSION}"], ["build", f"delaycc/{VERSION}", "-k", release, "--kernelsourcedir", folder / "build"]):
        done = subprocess.run(["dkms", "--sourcetree", source.parent, "--dkmstree", tree, *command], capture_output=True, text=True,
                              env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin"})
        logs = "".join(log.read_text(errors="replace")[-3000:] for log in tree.rglob("make.log"))
        assert done.returncode == 0, done.stdout + done.stderr + logs
    listed = subprocess.run(["dkms", "--dkmstree", tree, "status"], capture_output=True, text=True, check=True).stdout
    assert f"delaycc/{VERSION}, {release}" in listed
    built = {file.name.split(".ko")[0] for file in tree.rglob("*.ko*")}
    assert built == {"delaycc", "delaycc_count"} | {file.stem for file in KERNEL.glob("tcp_*.c")}
