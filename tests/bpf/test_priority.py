#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bpf/priority.bpf.c, as docs/operate/prioplus.md has an operator attach it: the priority of a cgroup's sockets.

Run as a program, this is what happens in a mount and network namespace of its own: `test_priority.py CGROUP`.
"""

import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("DELAYCC_BUILD", ROOT / "build"))
OBJECT = BUILD / "bpf" / "priority.bpf.o"
PINS = "/sys/fs/bpf/delaycc"


def bpftool(*words):
    tool = shutil.which("bpftool", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    done = subprocess.run([tool, *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bpftool {' '.join(words)}: {done.stdout}{done.stderr}")


def set_priority(value):
    bpftool("map", "update", "pinned", PINS + "/dcc_priority", "key", "0", "0", "0", "0",
            "value", *(str(byte) for byte in struct.pack("=I", value)))


def priorities(cgroup, code):
    """Runs code, that prints JSON, as a process of the cgroup from its start."""
    join = f"open({cgroup + '/cgroup.procs'!r}, 'w').write('0')\n"
    done = subprocess.run([sys.executable, "-c", join + code], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


SOCKETS = """
import json, socket
seen = {}
for name, family, address in (("4", socket.AF_INET, "127.0.0.1"), ("6", socket.AF_INET6, "::1")):
    listener = socket.create_server((address, 0), family=family)
    client = socket.create_connection(listener.getsockname()[:2])
    server = listener.accept()[0]
    for what, sock in (("listener", listener), ("client", client), ("server", server)):
        seen[what + name] = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY)
client.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 3)
seen["own"] = client.getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY)
print(json.dumps(seen))
"""


def inside(cgroup):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["mount", "-t", "bpf", "bpf", "/sys/fs/bpf"], check=True)
    bpftool("prog", "loadall", str(OBJECT), PINS, "pinmaps", PINS)
    set_priority(5)
    seen = {"before": priorities(cgroup, SOCKETS)}
    bpftool("cgroup", "attach", cgroup, "sock_create", "pinned", PINS + "/dcc_sock_create")
    seen["created"] = priorities(cgroup, SOCKETS)
    bpftool("cgroup", "attach", cgroup, "sock_ops", "pinned", PINS + "/dcc_sock_ops")
    seen["both"] = priorities(cgroup, SOCKETS)
    set_priority(70000)
    seen["changed"] = priorities(cgroup, SOCKETS)
    seen["outside"] = socket.socket().getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY)
    bpftool("cgroup", "detach", cgroup, "sock_create", "pinned", PINS + "/dcc_sock_create")
    bpftool("cgroup", "detach", cgroup, "sock_ops", "pinned", PINS + "/dcc_sock_ops")
    seen["after"] = priorities(cgroup, SOCKETS)
    print(json.dumps(seen))


@pytest.mark.alone
def test_a_cgroups_sockets_have_its_priority():
    import owned  # not where this runs as a program

    if not OBJECT.exists():
        missing = BUILD / "bpf_transfer.missing"
        pytest.skip(f"{OBJECT} is not built; missing: {missing.read_text().strip() if missing.exists() else 'run make'}")
    if os.geteuid():
        pytest.skip("attaching a BPF program to a cgroup needs root")
    mounts = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
    cgroups = [where for _, where, kind, *_ in mounts if kind == "cgroup2"]
    if not cgroups:
        pytest.skip("no cgroup file system of version 2 is mounted")
    cgroup = tempfile.mkdtemp(prefix="delaycc-test-", dir=cgroups[0])
    try:
        done = owned.run(["unshare", "--mount", "--net", sys.executable, __file__, cgroup])
    finally:
        # Its programs go with it.
        os.rmdir(cgroup)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)

    def all_are(created, accepted):
        return {"listener4": created, "client4": created, "server4": accepted,
                "listener6": created, "client6": created, "server6": accepted, "own": 3}

    assert seen["before"] == seen["after"] == all_are(0, 0)
    assert seen["created"] == all_are(5, 0), "an accepted socket begins with 0"
    assert seen["both"] == all_are(5, 5)
    assert seen["changed"] == all_are(70000, 70000)
    assert seen["outside"] == 0


if __name__ == "__main__":
    inside(sys.argv[1])
