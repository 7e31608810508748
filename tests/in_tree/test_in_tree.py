# SPDX-License-Identifier: Apache-2.0
"""The modules inside Debian's kernel tree: built with W=1 and sparse, and their KUnit suites in User-Mode Linux.

`make in-tree-test` runs this; it unpacks a kernel and builds most of one, which takes minutes.
"""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.ci

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARBALL = pathlib.Path(os.environ.get("LAB_TARBALL", "/usr/src/linux-source-6.1.tar.xz"))
JOBS = str(os.cpu_count())
# Sources that no configuration here builds.
UNUSED = [f"*/drivers/{name}/*.[chS]" for name in ("gpu", "media", "net/ethernet", "net/wireless", "scsi", "staging", "infiniband")] + [
    f"*/arch/{name}/*.[chS]" for name in ("arm*", "mips", "powerpc", "s390", "sparc")] + ["*/sound/*.[chS]", "*/tools/perf/*"]
ALGORITHMS = {file.stem[len("tcp_"):] for file in (ROOT / "kernel").glob("tcp_*.c")}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    if not TARBALL.exists():
        pytest.skip(f"{TARBALL} is not there (Debian: linux-source-6.1)")
    for program in ("sparse", "flex", "bison", "bc"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed (Debian: {program})")
    folder = tmp_path_factory.mktemp("linux")
    subprocess.run(["tar", "-xf", TARBALL, "-C", folder, "--strip-components=1", *(f"--exclude={name}" for name in UNUSED)], check=True)
    subprocess.run([ROOT / "kernel/in-tree/put.sh", folder], check=True, stdout=subprocess.DEVNULL)
    # What the kernel itself needs; the KUnit kernel compiles it.
    for patch in sorted((ROOT / "kernel/in-tree").glob("*.patch")):
        subprocess.run(["patch", "-p1", "--force", "-d", folder, "-i", patch], check=True, stdout=subprocess.DEVNULL)
    yield folder
    shutil.rmtree(folder)


def test_all_of_it_builds_with_more_warnings_and_sparse_and_there_are_none(tree, tmp_path):
    done = subprocess.run([ROOT / "kernel/in-tree/build.sh", tree, tmp_path, JOBS], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    compiled, checked = map(int, re.search(r"(\d+) files compiled with W=1, (\d+) checked by sparse, no warning", done.stdout).groups())
    sources = list((tree / "net/ipv4/delaycc").glob("*.c")) + list((tree / "net/ipv4/delaycc").glob("*/*.c"))
    assert compiled == checked == len([file for file in sources if not file.name.endswith(".mod.c")])


def test_kunit_suites_pass_in_user_mode_linux(tree, tmp_path):
    if os.uname().machine != "x86_64":
        pytest.skip("User-Mode Linux runs on x86_64")
    done = subprocess.run(["./tools/testing/kunit/kunit.py", "run", "--kunitconfig=net/ipv4/delaycc/kunit", f"--build_dir={tmp_path}",
                           f"--jobs={JOBS}", "--timeout=300", "--raw_output=all"], capture_output=True, text=True, cwd=tree)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    passed = set(re.findall(r"^ok \d+ -? ?(\S+)", done.stdout, re.MULTILINE))
    assert "not ok" not in done.stdout, done.stdout[-5000:]
    assert {f"dcc_{name}" for name in ALGORITHMS} | {"delaycc_arithmetic", "delaycc_flows"} <= passed
