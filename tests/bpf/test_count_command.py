#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`delaycc count` (bpf/count.bpf.c): N in the ACKs of a cgroup's sockets, between two network namespaces.

Run as a program, this is what happens in namespaces of its own: `test_count_command.py CGROUP`.
"""

import contextlib
import json
import re
import socket
import subprocess
import sys
import time

import pytest

from programs import BUILD, delaycc, run_in_cgroup
from test_load import LONG, flows, loaded

pytestmark = pytest.mark.ci

OBJECT = BUILD / "bpf" / "count.bpf.o"
FLOWS = 5
SYN = 2
SERVER = f"""
import socket, threading
def serve(sock):
    while sock.recv(65536):
        pass
def accept(family, address):
    listener = socket.create_server((address, 5000), family=family)
    for _ in range({FLOWS}):
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
threading.Thread(target=accept, args=(socket.AF_INET6, "fd09::2"), daemon=True).start()
listener = socket.create_server(("10.9.0.2", 5000))
print(flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


def counts(cgroup):
    """ACKs written and read."""
    text = json.loads(delaycc("status", "--json"))["cgroups"][cgroup]
    words = text.removeprefix("counts flows: ").split()
    return int(words[0]), int(words[3])


def connect(address, algorithm="bpf_sqcc"):
    client = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
    client.connect((address, 5000))
    return client


def send(clients, times=20):
    """Data without a pause, then what each sender knows of N."""
    for _ in range(times):
        for client in clients:
            client.sendall(bytes(1000))
    return sorted(flow["receivers_flows"] for flow in flows("sqcc"))


def pure_acks(packets):
    """The options of the TCP headers without data that came in since the last call."""
    found = []
    with contextlib.suppress(BlockingIOError):
        while True:
            frame, address = packets.recvfrom(65536)
            if address[2] == socket.PACKET_OUTGOING or frame[23] != 6:
                continue
            header = frame[34:34 + (frame[46] >> 4) * 4]
            if int.from_bytes(frame[16:18], "big") == 20 + len(header) and not header[13] & SYN:
                found.append(header[20:].hex())
    return found


def inside(cgroup):
    subprocess.run(["mount", "-t", "tmpfs", "tmp", "/run"], check=True)
    subprocess.run("ip link set lo up && ip netns add other && ip link add va type veth peer vb netns other && ip addr add 10.9.0.1/24 dev va"
                   " && ip addr add fd09::1/64 dev va nodad && ip link set va up && ip -n other addr add 10.9.0.2/24 dev vb"
                   " && ip -n other addr add fd09::2/64 dev vb nodad && ip -n other link set vb up", shell=True, check=True)
    with open(cgroup + "/cgroup.procs", "w", encoding="ascii") as file:
        file.write("0")
    seen = {}
    delaycc("count", cgroup, "--active-us", 10_000_000)
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    packets.bind(("va", 0x0800))
    packets.setblocking(False)
    with contextlib.ExitStack() as stack:
        stack.enter_context(loaded("sqcc", *LONG, "--set", "line_rate_mbps=10000"))
        server = stack.enter_context(subprocess.Popen(["ip", "netns", "exec", "other", sys.executable, "-c", SERVER], stdout=subprocess.PIPE))
        stack.callback(server.terminate)
        server.stdout.readline()
        one = connect("10.9.0.2")
        seen["one"] = send([one])
        clients = [one, *(connect("10.9.0.2") for _ in range(FLOWS - 1))]
        seen["all"] = [send(clients), send(clients)][1]
        clients += [connect("fd09::2") for _ in range(FLOWS)]
        seen["both"] = [send(clients), send(clients)][1]
        seen["counts"] = counts(cgroup)
        seen["acks"] = pure_acks(packets)
        # Data has no option, and as much room as without.
        seen["segment"] = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
        # A FIN ends a flow at once.
        for client in clients[2:]:
            client.close()
        deadline = time.monotonic() + 20
        while send(clients[:2], 1) != [2, 2] and time.monotonic() < deadline:
            pass
        seen["two"] = send(clients[:2], 1)
        # Sockets that are open keep what they began with; without new reports N is forgotten.
        delaycc("count", cgroup, "--detach")
        deadline = time.monotonic() + 20
        while send(clients[:2], 1) != [0, 0] and time.monotonic() < deadline:
            time.sleep(0.05)
        seen["detached"] = send(clients[:2], 1)
        seen["status"] = json.loads(delaycc("status", "--json"))["cgroups"]
    seen["errors"] = [delaycc("count", *words, fails=True) for words in
                      ([cgroup, "--detach"], [cgroup, "--active-us", 99], ["/nowhere"], ["/tmp"])]
    print(json.dumps(seen))


@pytest.mark.alone
def test_a_sender_knows_how_many_flows_its_receiver_has():
    _, seen = run_in_cgroup(__file__, OBJECT)
    assert seen["one"] == [1] and seen["all"] == [FLOWS] * FLOWS and seen["both"] == [2 * FLOWS] * 2 * FLOWS
    assert seen["two"] == [2, 2] and seen["detached"] == [0, 0] and seen["status"] == {}
    written, read = seen["counts"]
    assert written >= read >= len(seen["acks"]) > 3 * FLOWS
    # Timestamps, then the option as the module writes it, in each.
    assert all(len(acks) == 40 and re.fullmatch("fe08dcc00000000[1-9a]", acks[-16:]) for acks in seen["acks"]), seen["acks"]
    assert seen["segment"] == 1448
    for error, wanted in zip(seen["errors"], ("nothing of delaycc attached", "allowed is 100 to 10000000", "No such file", "no folder of the cgroup"),
                             strict=True):
        assert wanted in error


if __name__ == "__main__":
    inside(sys.argv[1])
