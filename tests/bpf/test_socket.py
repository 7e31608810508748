# SPDX-License-Identifier: Apache-2.0
"""What the BPF programs leave to a socket: its own limit of the pace, a window with slack, and nothing when they go.

Run as a program by `bpf_transfer --run`, while the algorithm is registered, this file is the traffic, over the loopback.
"""

import json
import socket
import struct
import sys

import pytest

from programs import BUILD

SKIPPED = 77
pytestmark = [pytest.mark.alone, pytest.mark.ci]

LINE_RATE_MBPS = 10000
# Long: the queue of the loopback is the processor's.
BASE_RTT_NS = 10000000
SO_MAX_PACING_RATE = 47
LIMIT_BPS = 1000000  # bytes per second
NO_LIMIT = 2**64 - 1


# ---- the traffic ----


def info(client):
    """(bytes per second, window in packets, payload of a packet) of a socket: fields of struct tcp_info."""
    data = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return struct.unpack_from("=Q", data, 104)[0], struct.unpack_from("=I", data, 80)[0], struct.unpack_from("=I", data, 16)[0]


def connect(algorithm, limit=None):
    """A connection that has carried some data."""
    listener = socket.create_server(("127.0.0.1", 0))
    client = socket.socket()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
    # Packets of one size, whatever windows the loopback's ends offer.
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1460)
    if limit:
        client.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, limit)
    client.connect(listener.getsockname())
    server, _ = listener.accept()
    for _ in range(4):
        client.sendall(bytes(1000))
        server.recv(1000, socket.MSG_WAITALL)
    return client, server


def traffic(algorithm):
    limited, other_end = connect(algorithm, LIMIT_BPS)
    seen = {"limited_bps": info(limited)[0]}
    client, server = connect(algorithm)
    seen["pace_bps"], seen["window"], seen["mss"] = info(client)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
    seen["left_bps"] = info(client)[0]
    print(json.dumps(seen))
    for end in (client, server, limited, other_end):
        end.close()


# ---- the test ----


@pytest.fixture(scope="module", name="seen")
def fixture_seen():
    import owned  # not where this runs as a program

    program = BUILD / "bpf_transfer"
    missing = BUILD / "bpf_transfer.missing"
    if missing.exists():
        pytest.skip(f"BPF programs cannot be built here; missing: {missing.read_text().strip()}")
    done = owned.run([program, "--algorithm", "oscar", "--line-rate-mbps", str(LINE_RATE_MBPS), "--base-rtt-ns", str(BASE_RTT_NS),
                      "--run", sys.executable, __file__, "bpf_oscar"], end="TERM")
    if done.returncode == SKIPPED:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[0])


def test_a_limit_of_the_sockets_own_holds(seen):
    assert seen["limited_bps"] == LIMIT_BPS


def test_a_window_at_line_rate_has_slack_for_grouped_acks(seen):
    wire = seen["mss"] + 66
    assert seen["pace_bps"] == pytest.approx(LINE_RATE_MBPS * 125000 * seen["mss"] / wire, rel=0.01)
    # OSCAR starts with a BDP; beside it one packet and a full TSO burst.
    bdp = LINE_RATE_MBPS * 125000 * BASE_RTT_NS * 1e-9 / wire
    assert seen["window"] - bdp == pytest.approx(45, abs=1)


def test_the_next_algorithm_does_not_inherit_the_pace(seen):
    assert seen["left_bps"] == NO_LIMIT


if __name__ == "__main__":
    traffic(sys.argv[1])
