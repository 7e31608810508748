# SPDX-License-Identifier: Apache-2.0
"""harness/tools/rooms.py: the arrows between the rooms of harness/."""

import pathlib
import shutil
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(name="harness")
def fixture_harness(tmp_path):
    """A copy of harness/ with its check."""
    return pathlib.Path(shutil.copytree(TOP / "harness", tmp_path / "harness", ignore=shutil.ignore_patterns("node_modules")))


def check(harness, *arguments):
    return subprocess.run([harness / "tools/rooms.py", *arguments], capture_output=True, text=True, check=False)


def replace(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_the_rooms_keep_to_their_readmes(harness):
    done = check(harness, "--draw")
    assert done.returncode == 0, done.stdout
    assert any(line.split() == ["base", "->", "nothing"] for line in done.stdout.splitlines())


def test_an_arrow_that_runs_back_is_named_with_its_line(harness):
    replace(harness / "plan/plan.cc", '#include "plan/plan.h"', '#include "plan/plan.h"\n#include "run/store.h"')
    line = (harness / "plan/plan.cc").read_text().splitlines().index('#include "run/store.h"') + 1
    done = check(harness)
    assert done.returncode == 1
    assert f"harness/plan/plan.cc:{line}: plan may not include run (harness/plan/README.md)" in done.stdout


def test_a_readme_may_not_allow_a_cycle(harness):
    replace(harness / "base/README.md", "May include: nothing.", "May include: spec.")
    done = check(harness)
    assert done.returncode == 1
    assert "the READMEs allow a cycle: " in done.stdout
    assert "harness/base/README.md: base never includes spec" in done.stdout


def test_code_outside_every_room_and_rooms_without_rules_are_found(harness):
    (harness / "attic").mkdir()
    (harness / "attic/old.cc").write_text('#include "base/nothing.h"\n')
    replace(harness / "trace/README.md", "May include: ", "Includes ")
    done = check(harness)
    assert done.returncode == 1
    assert "harness/attic/old.cc: in no room" in done.stdout
    assert 'harness/trace/README.md: no line "May include: ROOM, ROOM."' in done.stdout
