#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the count of flows costs per packet: prints a table of nanoseconds.

  make lab && tests/bench/bench_count.py

The lab's kernel code runs natively on this machine's processor, its clock stands still meanwhile; so one packet after
the other goes through netfilter's hooks, timed by the processor's cycle counter (tests/bench/count).  There is one
processor: a lock costs nothing, and no cache line is fetched from another one.
"""

import ctypes
import os
import pathlib
import re
import resource
import socket
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/lab"))

import inlab  # noqa: E402

MODULES = ("delaycc", "delaycc_count", "tcp_counted", "count_bench")
if os.getpid() == 1:
    FILES = {name: pathlib.Path(os.environ["BENCH_" + name]).read_bytes() for name in MODULES}


def in_lab_bench(rounds):
    resource.setrlimit(resource.RLIMIT_NOFILE, (100000, 100000))
    for name, image in FILES.items():
        inlab.check(inlab.libc.syscall(175, image, ctypes.c_ulong(len(image)), b""), name)
    link = {"rate_bps": 10**10, "delay_ns": 10000}
    a, b = inlab.pair(left=link, right=link)
    count = "/proc/sys/net/ipv4/delaycc/count_flows"
    with b:
        inlab.write("/proc/sys/net/ipv4/delaycc/count_active_us", "10000000")
    clients, servers = [], []
    for i in range(1000):
        client, server = inlab.connection(a, b, 5001 + i)
        client.send(b"x" * 3000)
        clients.append(client)
        servers.append(server)

    def measure(what, sockets):
        inlab.write("/proc/count_bench", " ".join([what, str(rounds * 1000 // max(len(sockets), 100)),
                                                   *(str(sock.fileno()) for sock in sockets)]))
        return [int(x) for x in inlab.read("/proc/count_bench").split()]

    out = []
    for value, name in ((0, "no hooks"), (1, "count_flows=1"), (2, "count_flows=2")):
        if value == 2:
            for sock in servers:
                sock.setsockopt(socket.IPPROTO_TCP, 13, b"counted")
            time.sleep(0.1)
        with b:
            inlab.write(count, str(value))
        for n in (1, 1000):
            # New data once, so that they are counted.
            for client in clients:
                client.send(b"x" * 3000)
            time.sleep(0.01)
            out.append([f"{name}: ACK out", n, *measure("ack", servers[:n])])
        if value == 1:
            with b:
                inlab.write("/proc/sys/net/ipv4/delaycc/count_active_us", "10000")
            out.append([f"{name}: ACK out, flow enters a new part of time", 1000, *measure("ack-new", servers)])
            out.append([f"{name}: data out, idle receiver", 1, *measure("data", servers[:1])])
            with b:
                inlab.write("/proc/sys/net/ipv4/delaycc/count_active_us", "10000000")
    for sock in servers:
        sock.setsockopt(socket.IPPROTO_TCP, 13, b"reno")
    with b:
        inlab.write(count, "0")
    for sock in clients:
        sock.setsockopt(socket.IPPROTO_TCP, 13, b"counted")
    time.sleep(0.1)
    for n in (1, 1000):
        out.append(["sender: ACK with N in", n, *measure("in-reported", clients[:n])])
        out.append(["sender: other ACK in", n, *measure("in-ack", clients[:n])])
    out.append(["sender: data in", 1, *measure("in-data", clients[:1])])
    out.append(["sender: data out", 1, *measure("data", clients[:1])])
    with a:
        stats = inlab.read("/proc/net/delaycc_count")
    with b:
        stats += inlab.read("/proc/net/delaycc_count")
    return out, stats


def main():
    import outside

    lab = outside.LAB.resolve()
    files = {"delaycc": lab / "delaycc.ko", "delaycc_count": lab / "delaycc_count.ko",
             "tcp_counted": outside.build_module("tcp_counted", ROOT / "tests/lab/counted"),
             "count_bench": outside.build_module("count_bench", ROOT / "tests/bench/count")}
    (rows, stats), _ = outside.boot("in_lab_bench", 100, script=pathlib.Path(__file__).resolve(), seconds=600,
                                    options=[f"BENCH_{name}={file}" for name, file in files.items()])
    mhz = float(re.search(r"cpu MHz\s*: ([\d.]+)", inlab.read("/proc/cpuinfo"))[1])
    print(f"{'':52}{'sockets':>8}{'fastest':>9}{'median':>8}   ns per packet at {mhz:.0f} MHz")
    for what, sockets, before, after, median_before, median_after in rows:
        print(f"{what:52}{sockets:8}{(after - before) * 1000 / mhz:9.0f}{(median_after - median_before) * 1000 / mhz:8.0f}")
    print(stats)


if __name__ == "__main__" and os.getpid() != 1:
    main()
