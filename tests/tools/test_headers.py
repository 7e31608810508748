# SPDX-License-Identifier: Apache-2.0
"""What the head of kernel/core/dcc_tcp.h lists: every function that its callers use, and no other."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUNCTION = re.compile(r"\b(dcc_tcp_\w+)\(")


def test_the_head_of_dcc_tcp_lists_what_module_and_program_call():
    text = (ROOT / "kernel/core/dcc_tcp.h").read_text()
    head = text[:text.index("#ifndef")]
    callers = [*(ROOT / "kernel/glue").glob("*.[ch]"), *(ROOT / "bpf").glob("*.bpf.h")]
    called = {name for file in callers for name in FUNCTION.findall(file.read_text())}
    listed = set(FUNCTION.findall(head))
    assert called <= listed, f"not in the head: {sorted(called - listed)}"
    assert listed <= set(FUNCTION.findall(text[len(head):])), "no such function"
