#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`delaycc cgroup` (bpf/cgroup.bpf.c): the algorithm and the priority of a cgroup's sockets.

Run as a program, this is what happens in a mount and network namespace of its own: `test_cgroup.py CGROUP`.
"""

import json
import socket
import subprocess
import sys

import pytest

from programs import BUILD, delaycc, run_in_cgroup

pytestmark = pytest.mark.ci

OBJECT = BUILD / "bpf" / "cgroup.bpf.o"


def priorities(cgroup, code):
    """Runs code, that prints JSON, as a process of the cgroup from its start."""
    join = f"open({cgroup + '/cgroup.procs'!r}, 'w').write('0')\n"
    done = subprocess.run([sys.executable, "-c", join + code], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


SOCKETS = """
import json, socket
seen, algorithms = {}, set()
for name, family, address in (("4", socket.AF_INET, "127.0.0.1"), ("6", socket.AF_INET6, "::1")):
    listener = socket.create_server((address, 0), family=family)
    client = socket.create_connection(listener.getsockname()[:2])
    server = listener.accept()[0]
    for what, sock in (("listener", listener), ("client", client), ("server", server)):
        seen[what + name] = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY)
        if what != "listener":
            algorithms.add(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\\0").decode())
client.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 3)
seen["algorithms"] = sorted(algorithms)
seen["own"] = client.getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY)
print(json.dumps(seen))
"""


def inside(cgroup):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    seen = {"before": priorities(cgroup, SOCKETS)}
    delaycc("cgroup", cgroup, "--priority", 5)
    seen["priority"] = priorities(cgroup, SOCKETS)
    # Replaces it.
    delaycc("cgroup", cgroup, "--priority", 70000, "--cc", "cubic")
    seen["both"] = priorities(cgroup, SOCKETS)
    seen["outside"] = socket.socket().getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY)
    seen["status"] = json.loads(delaycc("status", "--json"))["cgroups"]
    delaycc("load", "oscar", "--set", "line_rate_mbps=10000", "--cgroup", cgroup)
    try:
        seen["loaded"] = priorities(cgroup, SOCKETS)
    finally:
        delaycc("unload", "oscar")
    seen["after"] = priorities(cgroup, SOCKETS)
    seen["errors"] = [delaycc("cgroup", *words, fails=True) for words in
                      ([cgroup], [cgroup, "--cc", "nobody"], [cgroup, "--detach"], ["/tmp", "--priority", 1], ["/nowhere", "--priority", 1])]
    print(json.dumps(seen))


@pytest.mark.alone
def test_a_cgroups_sockets_have_its_algorithm_and_priority():
    cgroup, seen = run_in_cgroup(__file__, OBJECT)

    def all_are(priority, *algorithms):
        return {**{what + version: priority for what in ("listener", "client", "server") for version in "46"}, "own": 3,
                "algorithms": list(algorithms)}

    default = seen["before"]["algorithms"]
    assert len(default) == 1
    assert seen["before"] == seen["after"] == all_are(0, *default)
    assert seen["priority"] == all_are(5, *default)
    assert seen["both"] == all_are(70000, "cubic")
    assert seen["outside"] == 0
    assert seen["status"] == {cgroup: "cubic, priority 70000"}
    assert seen["loaded"] == all_are(0, "bpf_oscar")
    for error, wanted in zip(seen["errors"], ("give --cc, --priority or both", "no such algorithm", "nothing of delaycc attached",
                                              "no folder of the cgroup file system", "No such file"), strict=True):
        assert wanted in error


if __name__ == "__main__":
    inside(sys.argv[1])
