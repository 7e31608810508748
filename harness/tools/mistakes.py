# SPDX-License-Identifier: Apache-2.0
"""The command line of the checks that read the repository."""

import pathlib
import sys


def main(mistakes):
    """Prints what mistakes(root) yields, a line each. The root is the only argument, or else this repository. Exits 1 if there is any."""
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent.parent)
    found = list(mistakes(root))
    for line in found:
        print(line)
    sys.exit(1 if found else 0)
