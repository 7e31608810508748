# SPDX-License-Identifier: Apache-2.0
"""What `make deb` tells the build; the packages themselves are tried by `make deb-test`."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = re.findall(r'set\((DELAYCC_\w+) "\$\{PROJECT_', (ROOT / "user/CMakeLists.txt").read_text())


@pytest.mark.parametrize("name", FOLDERS)
def test_the_packages_command_does_not_know_the_tree_of_its_build(name):
    assert f"-D{name}=/usr/" in (ROOT / "packaging/debian/rules").read_text()
