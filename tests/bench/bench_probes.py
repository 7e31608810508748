#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What stopped flows cost that only probe: prints probes per second and processor time.

  make lab && tests/bench/bench_probes.py

So many PrioPlus flows of the lowest level are kept stopped by a delay that is above their limit, and the lab runs for a
second of virtual time.  The lab's kernel code runs natively on this machine, in one process; its processor time, less that of
a run which ends as soon as all are stopped, is what probes and replies cost: both hosts' TCP and IP, two ports, a timer per probe.
Beside it, full packets and their ACKs of one flow on the same path, in the same way.  The lab's own part
(ports, virtual timers) is in both, a NIC's interrupts and a second processor's cache in neither.
"""

import itertools
import os
import pathlib
import resource
import socket
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/lab"))

import inlab  # noqa: E402
from modules import DCC, in_lab, load, use  # noqa: E402

# The tops of two and of eight levels of 4 us above 12 us.
BASE_NS = 12000
RTTS_NS = (22000, 46000)
RATE_BPS = 10**11
# Between two probes of a host: as the law asks, and the default.
GAPS_NS = (100, 2000)


def segments(ns):
    with ns:
        names, values = [line.split() for line in inlab.read("/proc/net/snmp").splitlines() if line.startswith("Tcp:")]
    return int(values[names.index("OutSegs")])


def build(rtt_ns):
    resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 16, 1 << 16))
    load("tcp_prioplus")
    link = {"rate_bps": RATE_BPS, "delay_ns": rtt_ns // 2}
    a, b = inlab.pair(left=link, right=link)
    for ns, name in ((a, "a0"), (b, "b0")):
        with ns:
            inlab.gso_max_segs(name, 1)
            inlab.write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1")
    with a:
        inlab.write(DCC + "line_rate_mbps", str(RATE_BPS // 10**6))
    return a, b


def in_lab_stopped(flows, rtt_ns, gap_ns, seconds):
    """Probes in so many seconds of so many stopped flows."""
    a, b = build(rtt_ns)
    with a:
        # Then every delay is above the lowest level's limit.
        inlab.write(DCC + "base_rtt_ns", str(BASE_NS))
        inlab.write(DCC + "probe_gap_ns", str(gap_ns))
    with b:
        listener = socket.create_server(("10.0.0.2", 5000), backlog=flows)
    ends = []
    for _ in range(flows):
        with a:
            client = socket.socket()
            use(client, "prioplus")
            client.connect(("10.0.0.2", 5000))
        ends += [client, listener.accept()[0]]
        client.send(bytes(4000))
    time.sleep(0.01)
    before = segments(a)
    time.sleep(seconds)
    return segments(a) - before


def in_lab_sending(_flows, rtt_ns, _gap_ns, seconds):
    """Packets in so many seconds of one flow that sends."""
    a, b = build(rtt_ns)
    with b:
        for name in ("tcp_rmem", "tcp_wmem"):
            inlab.write("/proc/sys/net/ipv4/" + name, "4096 16000000 67108864")
    with a:
        inlab.write(DCC + "prioplus/high_from", "1")
    client, server = inlab.connection(a, b)
    use(client, "prioplus")
    client.setsockopt(socket.SOL_SOCKET, 32, 1 << 24)  # SO_SNDBUFFORCE
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1 << 18)
    size = int(seconds * RATE_BPS / 8)
    before = segments(a)
    if size:
        inlab.transfer(client, server, size)
    return segments(a) - before


def cost(function, flows, rtt_ns, gap_ns, seconds):
    """(segments, processor seconds) of the virtual seconds alone."""

    def run(seconds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        sent = in_lab(boot, function, flows, rtt_ns, gap_ns, seconds, seconds=600)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return sent, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    idle = min(run(0)[1] for _ in range(2))
    sent, busy = min((run(seconds) for _ in range(2)), key=lambda found: found[1])
    return sent, busy - idle


def boot(function, *args, **options):
    import outside

    return outside.boot(function, *args, script=pathlib.Path(__file__).resolve(), **options)[0]


def main():
    sent, busy = cost("in_lab_sending", 1, RTTS_NS[0], 0, 0.05)
    packet_ns = busy * 1e9 / sent
    print(f"a full packet and its ACK: {packet_ns:.0f} ns of this machine's processor, of {sent} packets")
    print(f"{'gap ns':>6}{'flows':>6}{'RTT us':>8}{'probes/s':>12}{'Gbit/s':>8}{'ns each':>9}{'of a packet':>12}{'cores':>7}")
    for gap_ns, rtt_ns, flows in itertools.product(GAPS_NS, RTTS_NS, (10, 100, 1000)):
        seconds = max(20 / flows, 0.1 if gap_ns > 100 else 0)
        sent, busy = cost("in_lab_stopped", flows, rtt_ns, gap_ns, seconds)
        # Of 67 bytes.
        print(f"{gap_ns:6}{flows:6}{rtt_ns / 1000:8.0f}{sent / seconds:12.0f}{sent * 67 * 8e-9 / seconds:8.2f}{busy * 1e9 / sent:9.0f}"
              f"{busy * 1e9 / sent / packet_ns:12.2f}{busy / seconds:7.2f}", flush=True)


if __name__ == "__main__" and os.getpid() != 1:
    main()
