# SPDX-License-Identifier: Apache-2.0
"""The bpftrace one-liner of docs/operate/bpf.md on the modules' own tracepoint, on Debian's kernel (bpftrace.sh).

tests/bpf/test_bpftrace.py has those on TCP's tracepoints, on the running kernel.
"""

import re
import shutil

import pytest

from test_vm import HERE, ROOT, Machine

pytestmark = pytest.mark.ci

WORK = ROOT / "build" / "vm-bpftrace"
PAGE = ROOT / "docs" / "operate" / "bpf.md"


def test_the_one_liner_shows_each_decision_of_a_module():
    if not shutil.which("bpftrace"):
        pytest.skip("bpftrace is not installed")
    programs = re.findall(r"^bpftrace -e '(tracepoint:delaycc:.*)'$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert programs
    WORK.mkdir(parents=True, exist_ok=True)
    (WORK / "programs").write_text("\n".join(programs) + "\n", encoding="utf-8")
    machine = Machine([HERE / "run.sh", HERE / "bpftrace.sh"], WORK / "console.log", {"DELAYCC_VM_WORK": str(WORK)}).ended()
    shown = re.findall(r"^BEGIN_OUTPUT$(.*?)^END_OUTPUT 0$", machine.console, re.MULTILINE | re.DOTALL)
    assert len(shown) == len(programs), machine.console
    assert re.search(r"^@delay_us\[oscar, 5001\]: *$", shown[0], re.MULTILINE) and "|@" in shown[0], shown
    assert re.search(r"^@branch\[oscar, \d+\]: [1-9]", shown[0], re.MULTILINE), shown
