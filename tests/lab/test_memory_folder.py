# SPDX-License-Identifier: Apache-2.0
"""Where the lab keeps its memory: the first of TMPDIR, /dev/shm and /tmp that maps executable memory and has room, as in a container."""

import os
import subprocess

import pytest

import owned
from outside import DELAYCC, LONG_AND_SHORT, ROOT

# Mounts over folders of its own namespace: SHM: options of its tmpfs; SLASH_TMP: "noexec" or "".
MOUNTS = """
mount -t tmpfs -o "size=$SHM" none /dev/shm
if [ -n "$OWN" ]; then mount -t tmpfs -o "size=$OWN" none "$TMPDIR"; fi
if [ "$SLASH_TMP" = noexec ]; then mount --bind /tmp /tmp && mount -o remount,bind,noexec /tmp; fi
exec "$@"
"""


def may_mount():
    return subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/dev/shm"], capture_output=True, check=False).returncode == 0


pytestmark = [pytest.mark.skipif(not may_mount(), reason="needs a mount namespace (unshare -m)"),
              pytest.mark.skipif(ROOT.is_relative_to("/tmp"), reason="the clone lies below /tmp, which is mounted without exec here")]


@pytest.fixture(name="small")
def fixture_small(tmp_path):
    (tmp_path / "small.toml").write_text(LONG_AND_SHORT + "[measure]\nduration_us = 200\n")
    (tmp_path / "own").mkdir()
    return tmp_path


def delaycc(folder, *words, shm, tmp="", own="", code=0):
    """The command in a mount namespace; own: size of a TMPDIR of its own."""
    env = {**os.environ, "SHM": shm, "SLASH_TMP": tmp, "OWN": own}
    env.pop("TMPDIR", None)
    if own:
        env["TMPDIR"] = str(folder / "own")
    done = owned.run(["unshare", "-m", "sh", "-e", "-c", MOUNTS, "sh", DELAYCC, *words], env=env)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def run(folder, **where):
    return delaycc(folder, "run", folder / "small.toml", "--quiet", "--cc", "cubic", "--trials", "2", "--jobs", "2", "--out", folder / "out", **where)


@pytest.mark.parametrize("shm", ("64m,noexec", "64m", "8m"))
def test_a_container_s_shm_is_passed_over_for_tmp(small, shm):
    assert "lab memory             in /tmp" in delaycc(small, "doctor", shm=shm).stdout
    run(small, shm=shm)


def test_tmpdir_is_the_first(small):
    assert f"lab memory             in {small}/own" in delaycc(small, "doctor", shm="2g", own="2g").stdout
    assert "lab memory             in /dev/shm" in delaycc(small, "doctor", shm="2g", own="2g,noexec").stdout
    assert "lab memory             in /dev/shm" in delaycc(small, "doctor", shm="2g", own="64m").stdout


@pytest.mark.parametrize("name", ("missing", "a space"))
def test_a_trial_s_own_files_pass_over_a_tmpdir_that_will_not_do(small, name):
    (small / "a space").mkdir()
    done = owned.run(["env", f"TMPDIR={small / name}", DELAYCC, "run", small / "small.toml", "--quiet", "--cc", "cubic", "--trials", "1",
                      "--out", small / "out"])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("shm,why", (("64m,noexec", "noexec"), ("64m", "64 MB free"), ("8m", "8 MB free")))
def test_without_any_one_line_names_folders_sizes_and_the_remedy(small, shm, why):
    line = run(small, shm=shm, tmp="noexec", code=1).stderr.splitlines()[-1]
    assert f"/dev/shm: {why}" in line and "/tmp: noexec" in line and "name one in TMPDIR, or enlarge /dev/shm" in line
    doctor = delaycc(small, "doctor", shm=shm, tmp="noexec", code=1).stdout
    assert "missing  lab memory             no folder for the lab's memory" in doctor and f"/dev/shm: {why}" in doctor


def test_trials_at_once_wait_where_there_is_room_for_one(small):
    run(small, shm="300m", tmp="noexec")
