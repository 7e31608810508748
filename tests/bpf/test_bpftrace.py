#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The bpftrace one-liners of docs/operate/bpf.md, each beside a transfer that loses packets.

Run as a program, this is what happens in namespaces of its own, and what bpftrace runs there: `test_bpftrace.py PROGRAM...`, `test_bpftrace.py`.
"""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading

import pytest

from programs import BUILD, ROOT
from test_load import loaded

pytestmark = pytest.mark.ci

PAGE = ROOT / "docs" / "operate" / "bpf.md"
PORT, BYTES = 5001, 2_000_000


SENDER = f"""
import socket
client = socket.socket()
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"bpf_oscar")
client.connect(("10.9.0.1", {PORT}))
client.sendall(bytes({BYTES}))
client.shutdown(socket.SHUT_WR)
assert client.recv(1) == b"x"
"""


def transfer():
    """Over a port that has room for three packets."""
    listener = socket.create_server(("10.9.0.1", PORT))

    def serve():
        sock = listener.accept()[0]
        while sock.recv(1 << 20):
            pass
        sock.send(b"x")

    threading.Thread(target=serve, daemon=True).start()
    sys.exit(subprocess.run(["ip", "netns", "exec", "sender", sys.executable, "-c", SENDER], check=False).returncode)


def inside(programs):
    for kind, where in (("tmpfs", "/run"), ("tracefs", "/sys/kernel/tracing"), ("debugfs", "/sys/kernel/debug")):
        subprocess.run(["mount", "-t", kind, kind, where], check=True)
    subprocess.run("ip netns add sender && ip link add va type veth peer vb netns sender && ip addr add 10.9.0.1/24 dev va && ip link set va up"
                   " && ip -n sender addr add 10.9.0.2/24 dev vb && ip -n sender link set vb up"
                   " && tc -n sender qdisc add dev vb root tbf rate 200mbit burst 5kb limit 5kb", shell=True, check=True)
    subprocess.run(["ip", "netns", "exec", "sender", "ethtool", "-K", "vb", "tso", "off", "gso", "off"], check=True)
    seen = []
    with loaded("oscar", "--set", "line_rate_mbps=10000", "--set", "base_rtt_ns=10000000"):
        for program in programs:
            done = subprocess.run(["bpftrace", "-e", program, "-c", f"{sys.executable} {os.path.abspath(__file__)}"],
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{program}: {done.returncode} {done.stdout}{done.stderr}")
            seen.append(done.stdout)
    print(json.dumps(seen))


@pytest.mark.alone
def test_the_one_liners_of_the_page_show_what_they_say():
    import owned  # not where this runs as a program

    programs = re.findall(r"^bpftrace -e '(tracepoint:tcp:.*)'$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(programs) == 3
    if not (BUILD / "bpf" / "oscar.bpf.o").exists():
        pytest.skip("the BPF programs are not built")
    if os.geteuid() or not shutil.which("bpftrace"):
        pytest.skip("needs root" if os.geteuid() else "bpftrace is not installed")
    if not pathlib.Path("/sys/kernel/tracing").is_dir():
        pytest.skip("this kernel has no tracepoints")
    done = owned.run([*owned.with_own_mounts("--net"), sys.executable, __file__, *programs])
    assert done.returncode == 0, done.stdout + done.stderr
    windows, states, again = json.loads(done.stdout)
    assert "@packets:" in windows and "@srtt_us:" in windows and "|@" in windows
    assert re.search(rf"^@states\[{PORT}, 3\]: [1-9]", states, re.MULTILINE), states
    assert re.search(rf"^@retransmitted\[10\.9\.0\.1, {PORT}\]: [1-9]", again, re.MULTILINE), again


if __name__ == "__main__":
    if len(sys.argv) > 1:
        inside(sys.argv[1:])
    else:
        transfer()
