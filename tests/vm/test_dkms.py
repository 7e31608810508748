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


@pytest.fixture(scope="module")
def headers():
    """(release, folder): what DKMS builds for."""
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
    return (folder / "release").read_text().strip(), folder


@pytest.mark.ci
def test_dkms_builds_every_module(headers, tmp_path):
    release, folder = headers
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


# The host's DKMS, sources and modules are hidden by empty folders.
HIDDEN = """
mount --make-rprivate /
for folder in /lib/modules /usr/src /var/lib/dkms; do mount -t tmpfs tmpfs $folder; done
mkdir /lib/modules/$RELEASE
ln -s "$HEADERS/build" /lib/modules/$RELEASE/build
touch /lib/modules/$RELEASE/modules.order /lib/modules/$RELEASE/modules.builtin /lib/modules/$RELEASE/modules.builtin.modinfo
export PATH=$PATH:/usr/sbin:/sbin KERNEL=$RELEASE
shown() { echo "$1: $? $(dkms status | cut -d, -f1 | tr '\\n' ' ')$(modinfo -k $RELEASE -F version tcp_oscar 2>/dev/null)"; }
"$1/packaging/dkms.sh" install >&2; shown first
"$2/packaging/dkms.sh" install >&2; shown second
# What an earlier dkms.sh, or an operator, may leave: another version, known to DKMS only.
cp -r "/usr/src/delaycc-$OLDER" /usr/src/delaycc-3.0.0
echo 3.0.0 >/usr/src/delaycc-3.0.0/VERSION
dkms add delaycc/3.0.0 >&2
"$2/packaging/dkms.sh" remove >&2; shown removed
find /lib/modules -name '*.ko*'; ls /usr/src
"""


@pytest.mark.ci
def test_another_version_by_make_dkms_is_installed_and_all_are_removed(headers, tmp_path):
    release, folder = headers
    trees = []
    for version in ("1.0.0", "0.9.0-dev"):
        tree = tmp_path / version
        # One algorithm is enough, and faster.
        shutil.copytree(KERNEL, tree / "kernel", ignore=lambda _, names: {name for name in names if name.startswith("tcp_")} - {"tcp_oscar.c"})
        (tree / "kernel/VERSION").write_text(version + "\n")
        (tree / "VERSION").write_text(version + "\n")
        shutil.copytree(KERNEL.parent / "packaging", tree / "packaging")
        trees.append(tree)
    done = subprocess.run(["unshare", "--mount", "bash", "-c", HIDDEN, "dkms", *trees], capture_output=True, text=True,
                          env={**os.environ, "RELEASE": release, "HEADERS": str(folder), "OLDER": "0.9.0-dev"})
    assert done.stdout.splitlines() == ["first: 0 delaycc/1.0.0 1.0.0", "second: 0 delaycc/0.9.0-dev 0.9.0-dev", "removed: 0 "], done.stderr[-3000:]
