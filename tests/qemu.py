# SPDX-License-Identifier: Apache-2.0
"""Tells a crash of QEMU from one of the kernel inside it."""

import re

# A shell gives 128 and the signal's number where a program ended by a signal.
SIGNALS = range(129, 129 + 64)
# What QEMU and its C library say begins a line: a script that cannot find QEMU names it, too.
SAID = re.compile(r"^(?:qemu: |qemu-system-\S+: (?!warning: )|ERROR:.*assertion).*$", re.MULTILINE)


def ended_by(status, errors):
    """What ended QEMU, if it was a fault of its own: the signal, its words, or both; else None.

    status is that of QEMU or of a script that ends with it: negative or above 128 for a signal.  errors is what it wrote to its
    standard error.  The kernel inside cannot end QEMU so.
    """
    said = SAID.search(errors)
    signal = -status if status < 0 else status - 128 if status in SIGNALS else 0
    if signal:
        return f"signal {signal}" + (f": {said[0]}" if said else "")
    return said[0] if status and said else None
