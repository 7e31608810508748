# SPDX-License-Identifier: Apache-2.0
"""One version: the file VERSION says it, the command and the modules show it, and the rest is held against it."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("DELAYCC_BUILD", ROOT / "build")).resolve()
CHECK = ROOT / "harness" / "tools" / "check_version.py"
VERSION = (ROOT / "VERSION").read_text().strip()


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_command_says_version_and_commit():
    if not (BUILD / "delaycc").exists():
        pytest.skip("build/delaycc is not built: run make")
    said = output_of(BUILD / "delaycc", "--version")
    assert re.fullmatch(rf"delaycc {re.escape(VERSION)}( \(commit [0-9a-f]{{12}}( and changes)?\))?\n", said), said


def git(folder, *arguments):
    output_of("git", "-C", folder, "-c", "user.name=n", "-c", "user.email=e", *arguments)


def test_the_commit_is_that_of_the_sources_or_none(tmp_path):
    script = ROOT / "user" / "build_commit.cmake"

    def text(source):
        out = tmp_path / "version.cc"
        output_of("cmake", f"-DSOURCE={source}", "-DVERSION=1.2.3", f"-DOUT={out}", "-P", script)
        return re.search(r'version_text = "(.*)";', out.read_text())[1]

    tree = tmp_path / "tree"
    inner = tree / "inner"
    inner.mkdir(parents=True)
    assert text(tree) == "delaycc 1.2.3"
    git(tree, "init", "-q")
    assert text(tree) == "delaycc 1.2.3"
    (tree / "file").write_text("a")
    git(tree, "add", "file")
    git(tree, "commit", "-q", "-m", "one")
    git(tree, "tag", "-a", "v1", "-m", "one")
    commit = output_of("git", "-C", tree, "rev-parse", "HEAD")[:12]
    assert text(tree) == f"delaycc 1.2.3 (commit {commit})"
    (tree / "file").write_text("b")
    assert text(tree) == f"delaycc 1.2.3 (commit {commit} and changes)"
    # Unpacked below the tree of somebody else, whose commit says nothing of it.
    assert text(inner) == "delaycc 1.2.3"


def test_every_module_says_the_version():
    built = BUILD / "modules" / "lab"
    modinfo = shutil.which("modinfo", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not modinfo or not (built / "delaycc.ko").exists():
        pytest.skip("modinfo (Debian: kmod) or the lab's modules (run make lab) are missing")
    modules = sorted(built.glob("*.ko"))
    assert len(modules) == 2 + len(list((ROOT / "kernel").glob("tcp_*.c")))
    assert {file.name: output_of(modinfo, "-F", "version", file) for file in modules} == {file.name: VERSION + "\n" for file in modules}


@pytest.fixture
def tree(tmp_path):
    """A function that runs the check on a copy of the files that it reads, some of them changed."""
    def check(**changes):
        for name in ("VERSION", "CITATION.cff", "CHANGELOG.md", "kernel/dkms.conf", "kernel/VERSION"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
        for name, (old, new) in changes.items():
            text = (tmp_path / name).read_text()
            assert old in text
            (tmp_path / name).write_text(text.replace(old, new, 1))
        done = subprocess.run([sys.executable, CHECK, tmp_path], capture_output=True, text=True)
        assert done.returncode == (1 if done.stdout else 0), done.stderr
        return done.stdout.splitlines()
    return check


def test_a_version_that_disagrees_is_named(tree):
    assert tree() == []
    assert tree(**{"CITATION.cff": (f"version: {VERSION}", "version: 9.9.9")}) == [f"CITATION.cff: version 9.9.9, VERSION has {VERSION}"]
    assert tree(**{"kernel/VERSION": (VERSION, "9.9.9")}) == [f"kernel/dkms.conf: PACKAGE_VERSION 9.9.9, VERSION has {VERSION}"]
    assert tree(VERSION=(VERSION, "1.x")) == ['VERSION: "1.x", allowed is MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-dev']


def test_the_changelog_begins_with_the_release_or_with_what_is_unreleased(tree):
    newest = re.search("^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
    wanted, other = ("Unreleased", "9.9.9") if VERSION.endswith("-dev") else (VERSION, "Unreleased")
    assert newest == wanted
    assert tree(**{"CHANGELOG.md": (f"## {newest}", f"## {other}")}) == \
        [f'CHANGELOG.md: begins with "{other}", VERSION {VERSION} wants "{wanted}"']
