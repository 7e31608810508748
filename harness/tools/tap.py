#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The results of a test machine (tests/vm) as TAP, the format of the kernel's own tests.

usage: tap.py [CONSOLE]      default: build/vm/console.log, which `make vm-test` writes

Reads the lines between BEGIN and END: "PASS NAME", "FAIL NAME: why", "SKIP NAME: why"; the others become diagnostics of the
result that follows them. Exit status: 0 if all passed or were skipped, 1 if not, 2 if there is nothing to read.
"""

import pathlib
import re
import sys

DEFAULT = pathlib.Path(__file__).resolve().parents[2] / "build" / "vm" / "console.log"


def convert(console):
    """(lines of TAP, whether all is well)"""
    lines, count, good, ended = ["TAP version 13"], 0, True, False
    begun = False
    for line in console.replace("\r", "").splitlines():
        if not begun:
            begun = line.startswith("BEGIN")
            continue
        if re.match(r"END\b", line):
            ended = True
            break
        result = re.match(r"(PASS|FAIL|SKIP) (\w+)(?:: (.*))?$", line)
        if not result:
            lines.append(f"# {line}")
            continue
        word, name, why = result.groups()
        count += 1
        good = good and word != "FAIL"
        skipped = f" # SKIP {why or ''}".rstrip() if word == "SKIP" else ""
        if word == "FAIL" and why:
            lines.append(f"# {why}")
        lines.append(f"{'not ok' if word == 'FAIL' else 'ok'} {count} {name}{skipped}")
    if not ended:
        lines.append("Bail out! the machine went off before its tests had ended")
    lines.append(f"1..{count}")
    return lines, good and ended and count > 0


def main():
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    try:
        console = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        print(f"tap.py: {path}: {error.strerror}; make vm-test writes the console", file=sys.stderr)
        return 2
    lines, good = convert(console)
    print("\n".join(lines))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
