#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two hosts with two algorithms over one link of 100 Gbit/s and 12 us round trip.

In virtual time:          delaycc mininet mininet/examples/iperf3.py
On a kernel with netem:   sudo python3 mininet/examples/iperf3.py --rate 100M --delay 1ms --cc cubic,reno
"""

import argparse
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
# pylint: disable=wrong-import-position
from mininet.log import setLogLevel  # noqa: E402
from mininet.net import Mininet  # noqa: E402
from mininet.nodelib import LinuxBridge  # noqa: E402

from delaycc_mininet import CcHost, Dumbbell, PortLink  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", default="100Gbit")
    parser.add_argument("--delay", default="2us", help="of each of the three links, one way")
    parser.add_argument("--cc", default="oscar,cubic", help="one for each sender")
    parser.add_argument("--size", default="50M", help="what each sends")
    arguments = parser.parse_args()

    setLogLevel("info")
    algorithms = arguments.cc.split(",")
    net = Mininet(topo=Dumbbell(len(algorithms), rate=arguments.rate, delay=arguments.delay), host=CcHost, link=PortLink,
                  switch=LinuxBridge, controller=None, autoStaticArp=True)
    net.start()
    for i, algorithm in enumerate(algorithms, 1):
        net[f"h{i}"].config(cc=algorithm)
    # Bridges forward once their ports are up, which a real kernel sees after up to a second.
    net["h1"].cmd("ping -c 1 -w 5", net["r1"].IP())
    print(net["h1"].cmd("ping -c 3 -i 0.2", net["r1"].IP()))
    pairs = [(net[f"h{i}"], net[f"r{i}"]) for i in range(1, len(algorithms) + 1)]
    for _, receiver in pairs:
        receiver.cmd("iperf3 -s -1 -D")
    for sender, receiver in pairs:
        # -n and not -t: the amount is what is exact in virtual time.
        sender.sendCmd(f"iperf3 -c {receiver.IP()} -n {arguments.size} -i 0")
    for algorithm, (sender, _) in zip(algorithms, pairs):
        print(f"--- {algorithm}\n{sender.waitOutput()}")
    net.stop()


if __name__ == "__main__":
    main()
