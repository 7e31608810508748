# SPDX-License-Identifier: Apache-2.0
"""harness/tools/tidy.py: which sources it checks again, with real preprocessing and a program in place of clang-tidy."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Finds what says BAD, and notes what it was asked to look at.
TIDY = """#!/bin/sh
[ "$1" != --version ] || { cat "$(dirname "$0")/version"; exit; }
for last; do :; done
basename "$last" >>"$(dirname "$0")/calls"
! grep -Hn BAD "$last"
"""


class Project:
    """A copy of the tool with two sources of its own."""

    def __init__(self, folder):
        self.root, self.bin, self.cache = folder / "project", folder / "bin", folder / "cache"
        (self.root / "harness" / "tools").mkdir(parents=True)
        self.bin.mkdir()
        shutil.copy(ROOT / "harness" / "tools" / "tidy.py", self.root / "harness" / "tools")
        (self.bin / "clang-tidy").write_text(TIDY)
        (self.bin / "clang-tidy").chmod(0o755)
        (self.bin / "version").write_text("14\n")
        for name, text in ((".clang-tidy", "Checks: '*'\n"), ("a.h", "int h();\n"), ("a.cc", '#include "a.h"\nint a;\n'), ("b.cc", "int b;\n")):
            (self.root / name).write_text(text)
        self.commands()

    def commands(self):
        (self.root / "compile_commands.json").write_text(json.dumps([
            {"directory": str(self.root), "file": str(self.root / name), "command": f"c++ -MD -MF {name}.d -o {name}.o -c {self.root / name}"}
            for name in ("a.cc", "b.cc")]))

    def check(self):
        """(exit code, output, the sources that clang-tidy looked at)"""
        (self.bin / "calls").write_text("")
        environment = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(self.cache)}
        done = subprocess.run([self.root / "harness" / "tools" / "tidy.py", self.root, "a.cc", "b.cc"], capture_output=True, text=True, check=False,
                              env=environment)
        assert not done.stderr, done.stderr
        return done.returncode, done.stdout, sorted((self.bin / "calls").read_text().split())


@pytest.fixture
def project(tmp_path):
    if not shutil.which("clang++"):
        pytest.skip("clang is not installed")
    return Project(tmp_path)


def test_a_macro_with_a_comment_may_become_a_string(project):
    (project.root / "a.cc").write_text("#define S_(...) #__VA_ARGS__\n#define S(x) S_(x)\n#define NAME b.h /**/\n#include S(NAME)\n")
    (project.root / "b.h").write_text("int b;\n")
    project.check()
    assert project.check()[2] == []


def test_what_was_clean_is_not_looked_at_again(project):
    assert project.check()[::2] == (0, ["a.cc", "b.cc"])
    code, output, looked_at = project.check()
    assert (code, looked_at) == (0, []) and "2 of them as they were" in output


def test_a_finding_is_shown_each_time(project):
    (project.root / "b.cc").write_text("int BAD;\n")
    for _ in range(2):
        code, output, looked_at = project.check()
        assert code == 1 and "b.cc:1:int BAD;" in output and "b.cc" in looked_at


@pytest.mark.ci
@pytest.mark.parametrize("name, text, again", [
    ("b.cc", "int b2;\n", ["b.cc"]),
    ("a.h", "int h2();\n", ["a.cc"]),
    ("b.cc", "int b;  // NOLINT\n", ["b.cc"]),
    (".clang-tidy", "Checks: 'bugprone-*'\n", ["a.cc", "b.cc"]),
])
def test_what_has_changed_is_looked_at(project, name, text, again):
    project.check()
    (project.root / name).write_text(text)
    assert project.check()[2] == again


@pytest.mark.ci
def test_another_version_looks_at_everything(project):
    project.check()
    (project.bin / "version").write_text("15\n")
    assert project.check()[2] == ["a.cc", "b.cc"]


@pytest.mark.ci
def test_another_folder_has_the_same_cache(project):
    project.check()
    moved = project.root.with_name("clone")
    project.root.rename(moved)
    project.root = moved
    project.commands()
    assert project.check()[2] == []
