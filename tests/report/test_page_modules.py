# SPDX-License-Identifier: Apache-2.0
"""The modules that the report page's script is made of."""

import pathlib
import re
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
REPORT = HERE.parent.parent / "harness" / "report"
DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)
IMPORTED = re.compile(r"^import \{.*\} from '\./(\w+)\.js';$", re.MULTILINE)


def modules():
    """Names in the order of CMakeLists.txt, in which they are put together."""
    listed = re.search(r"^set\(modules (.*?)\)", (REPORT / "CMakeLists.txt").read_text(), re.DOTALL | re.MULTILINE)
    return listed[1].split()


def source(name):
    return (REPORT / "page" / f"{name}.js").read_text()


def test_every_module_is_put_into_the_page():
    assert sorted(modules()) == sorted(path.stem for path in (REPORT / "page").glob("*.js"))


def test_a_module_imports_only_from_those_before_it():
    for index, name in enumerate(modules()):
        assert set(IMPORTED.findall(source(name))) <= set(modules()[:index]), name


def test_no_two_modules_name_a_thing_alike():
    owner = {}
    for name in modules():
        for declared in DECLARED.findall(source(name)):
            assert owner.setdefault(declared, name) == name, f"{declared} is in {owner[declared]}.js and {name}.js"


def test_functions_that_need_no_page():
    node = shutil.which("node")
    if not node:
        pytest.skip("node is not installed (Debian: nodejs)")
    done = subprocess.run([node, "--test", HERE / "page_modules.mjs"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
