# SPDX-License-Identifier: Apache-2.0
"""Where a clone builds: make and the kernel's build take no folder with a space, people do."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = "harness/tools/build_folder.sh"


@pytest.fixture
def clone(tmp_path):
    """A function: a folder of that name with Makefile and tool, and what a command in it does, with a cache beside it."""
    def make(name, *command, cache="cache"):
        folder = tmp_path / name
        (folder / TOOL).parent.mkdir(parents=True, exist_ok=True)
        for file in (TOOL, "Makefile"):
            shutil.copy(ROOT / file, folder / file)
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / cache)}
        return folder, subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return make


def test_a_plain_name_builds_in_build(clone):
    folder, done = clone("clone-1.0+x", TOOL)
    assert (done.returncode, done.stdout) == (0, f"{folder}/build\n")
    assert not (folder / "build").exists()


@pytest.mark.parametrize("name", ("a clone", "clone:1", "it's", "a$(b)"))
def test_another_name_gets_a_link(clone, tmp_path, name):
    folder, done = clone(name, TOOL)
    built = pathlib.Path(done.stdout.strip())
    assert built.parent == tmp_path / "cache/delaycc" and built.is_dir(), done.stderr
    assert (folder / "build").is_symlink() and (folder / "build").resolve() == built
    assert clone(name, TOOL)[1].stdout == done.stdout
    # A link that leads nowhere, as after a purge of the cache.
    built.rmdir()
    assert clone(name, TOOL)[1].stdout == done.stdout and built.is_dir()
    # A second clone has a folder of its own.
    assert clone("two " + name, TOOL)[1].stdout != done.stdout


def test_make_clean_removes_link_and_folder(clone, tmp_path):
    folder, done = clone("a clone", "make", "help")
    assert done.returncode == 0 and (folder / "build").is_symlink(), done.stderr
    assert clone("a clone", "make", "clean")[1].returncode == 0
    assert not (folder / "build").is_symlink() and not list((tmp_path / "cache/delaycc").iterdir())


def test_what_cannot_be_had_is_named(clone):
    folder, done = clone("a clone", TOOL, cache="a cache")
    assert done.returncode == 2 and f"'{folder}'" in done.stderr and "set XDG_CACHE_HOME" in done.stderr
    assert not (folder / "build").exists()
    (folder / "build").mkdir()
    done = clone("a clone", "make", "help")[1]
    assert done.returncode == 2 and f"'{folder}/build'" in done.stderr and "remove that folder" in done.stderr


def test_a_folder_to_install_into_has_no_space(clone, tmp_path):
    _, done = clone("a clone", "make", "-n", "uninstall", f"DESTDIR={tmp_path}/pack age")
    assert done.returncode == 2 and f'DESTDIR="{tmp_path}/pack age"' in done.stderr
    # What is relative is in the clone.
    folder, done = clone("clone", "make", "-n", "uninstall", "DESTDIR=package")
    assert done.returncode == 0 and f"DESTDIR={folder}/package " in done.stdout, done.stderr
