# SPDX-License-Identifier: Apache-2.0
"""What the tests of the BPF programs share, also where they run as programs: where things are, the delaycc command."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("DELAYCC_BUILD", ROOT / "build"))
DELAYCC = BUILD / "delaycc"


def delaycc(*words, fails=False):
    """What the command says: on its standard error where it is to fail."""
    done = subprocess.run([DELAYCC, *map(str, words)], capture_output=True, text=True, check=False)
    if bool(done.returncode) != fails:
        sys.exit(f"delaycc {words}: {done.returncode} {done.stdout}{done.stderr}")
    return done.stderr if fails else done.stdout
