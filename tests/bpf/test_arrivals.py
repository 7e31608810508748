#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`delaycc stamps` where a device has none: refused, and nothing has changed.  tests/vm/test_vm_bpf.py has devices that stamp.

Run as a program, this is what happens in a network namespace of its own.
"""

import json
import os
import socket
import subprocess
import sys

import pytest

from programs import BUILD, delaycc
from test_load import loaded

pytestmark = pytest.mark.ci


def inside():
    subprocess.run(["ip", "link", "add", "va", "type", "veth", "peer", "vb"], check=True)
    with loaded("oscar", "--set", "line_rate_mbps=10000"):
        seen = {"veth": delaycc("stamps", "va", fails=True), "qdiscs": subprocess.check_output(["tc", "qdisc", "show", "dev", "va"], text=True),
                "unknown": delaycc("stamps", "vx", fails=True), "off": delaycc("stamps", "va", "--off", fails=True),
                "status": delaycc("status"), "json": json.loads(delaycc("status", "--json"))}
        # As calibrate holds it.
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as lock:
            lock.bind("\0delaycc-stamps-va")
            seen["meanwhile"] = [delaycc("stamps", "va", *words, fails=True) for words in ([], ["--off"])]
    print(json.dumps(seen))


@pytest.mark.alone
def test_a_device_without_stamps_is_refused_and_left_as_it_was():
    import owned  # not where this runs as a program

    if not (BUILD / "bpf" / "stamps.bpf.o").exists():
        pytest.skip("the BPF programs are not built")
    if os.geteuid():
        pytest.skip("needs root")
    done = owned.run(["unshare", "--net", sys.executable, __file__])
    assert done.returncode == 0, done.stdout + done.stderr
    seen = json.loads(done.stdout)
    assert seen["veth"] == "delaycc: va: does not stamp all packets that it receives (Operation not supported): RTTs stay by TCP's clock\n"
    assert "clsact" not in seen["qdiscs"]
    assert seen["unknown"] == "stamps: vx: there is no such network device in this namespace\n"
    assert seen["off"] == "stamps: va: its stamps are not used\n"
    assert seen["meanwhile"] == ["delaycc: va: another delaycc uses its time stamps\n"] * 2
    assert "by TCP's clock; no stamps of devices (delaycc stamps DEV)" in seen["status"]
    assert seen["json"]["stamps"] == {} and seen["json"]["algorithms"][0]["arrivals"] == "tcp"


if __name__ == "__main__":
    inside()
