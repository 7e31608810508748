#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sixteen hosts answer one at the same moment, with each algorithm in turn: how long until the last answer is there.

    delaycc mininet mininet/examples/incast.py --cc oscar,swift,cubic
"""

import argparse
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
# pylint: disable=wrong-import-position
from mininet.net import Mininet  # noqa: E402
from mininet.nodelib import LinuxBridge  # noqa: E402

from delaycc_mininet import CcHost, Incast, PortLink, write_sysctls  # noqa: E402

# The client asks all servers at once; each answers with as many bytes as it is asked for.
SERVER = """
import socket
s = socket.create_server(("", 7000))
while True:
    c, _ = s.accept()
    n = int(c.recv(100))
    c.sendall(bytes(n))
    c.close()
"""
CLIENT = """
import select, socket, sys, time
size, hosts = int(sys.argv[1]), sys.argv[2:]
peers = [socket.create_connection((h, 7000)) for h in hosts]
begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
for p in peers:
    p.send(b"%d" % size)
left, poll = {p.fileno(): p for p in peers}, select.epoll()
for fd in left:
    poll.register(fd, select.EPOLLIN)
while left:
    for fd, _ in poll.poll():
        if not left[fd].recv(1 << 20):
            poll.unregister(fd)
            del left[fd]
print((time.clock_gettime_ns(time.CLOCK_MONOTONIC) - begin) / 1000)
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--senders", type=int, default=16)
    parser.add_argument("--size", type=int, default=100_000, help="bytes of each answer")
    parser.add_argument("--rate", default="100Gbit")
    parser.add_argument("--delay", default="3us")
    parser.add_argument("--buffer", type=int, default=1_000_000, help="bytes of the switch's port")
    parser.add_argument("--cc", default="oscar,swift,cubic")
    arguments = parser.parse_args()
    net = Mininet(topo=Incast(arguments.senders, rate=arguments.rate, delay=arguments.delay, buffer_bytes=arguments.buffer), host=CcHost,
                  link=PortLink, switch=LinuxBridge, controller=None, autoStaticArp=True)
    net.start()
    senders = [net[f"h{i}"] for i in range(1, arguments.senders + 1)]
    for host in senders:
        host.popen([sys.executable, "-c", SERVER])
    net["r1"].cmd("sleep 1")
    for algorithm in arguments.cc.split(","):
        for host in senders:
            write_sysctls(host, {"net.ipv4.tcp_congestion_control": algorithm})
        said, errors, _ = net["r1"].pexec(sys.executable, "-c", CLIENT, str(arguments.size), *[h.IP() for h in senders])
        print(f"{algorithm:<16} {said.strip()} us{errors}")
    net.stop()


if __name__ == "__main__":
    main()
