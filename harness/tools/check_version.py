#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what names a version against the file VERSION, which alone decides.

usage: check_version.py [ROOT]      prints one line per mistake; exits 1 if there is any

VERSION is MAJOR.MINOR.PATCH, or the same with "-dev" before that release is made. CITATION.cff has the same version,
kernel/dkms.conf reads it, and CHANGELOG.md begins with that release, or with "Unreleased" before it is made.
"""

import re
import subprocess

from mistakes import main


def first(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else None


def mistakes(root):
    version = (root / "VERSION").read_text().strip()
    if not re.fullmatch(r"\d+\.\d+\.\d+(-dev)?", version):
        yield f'VERSION: "{version}", allowed is MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-dev'
        return
    cited = first(r"^version: (.*)$", (root / "CITATION.cff").read_text())
    if cited != version:
        yield f"CITATION.cff: version {cited}, VERSION has {version}"
    packaged = subprocess.run(["bash", "-c", '. "$1" && echo "$PACKAGE_VERSION"', "bash", root / "kernel" / "dkms.conf"],
                              capture_output=True, text=True).stdout.strip()
    if packaged != version:
        yield f"kernel/dkms.conf: PACKAGE_VERSION {packaged}, VERSION has {version}"
    newest = first(r"^## (.*)$", (root / "CHANGELOG.md").read_text())
    expected = "Unreleased" if version.endswith("-dev") else version
    if newest != expected:
        yield f'CHANGELOG.md: begins with "{newest}", VERSION {version} wants "{expected}"'


if __name__ == "__main__":
    main(mistakes)
