#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A leaf-spine network whose hosts have different algorithms; each host of the first leaf sends to one of the second.

    delaycc mininet mininet/examples/leaf_spine.py --cc oscar,swift,cubic,bbr
"""

import argparse
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
# pylint: disable=wrong-import-position
from mininet.net import Mininet  # noqa: E402

from delaycc_mininet import CcHost, LeafSpine, PortLink  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", default="100Gbit")
    parser.add_argument("--delay", default="1us")
    parser.add_argument("--cc", default="oscar,swift,cubic,bbr", help="one for each host of a leaf")
    parser.add_argument("--size", default="30M")
    arguments = parser.parse_args()
    algorithms = arguments.cc.split(",")
    net = Mininet(topo=LeafSpine(leaves=2, spines=2, hosts=len(algorithms), rate=arguments.rate, delay=arguments.delay), host=CcHost,
                  link=PortLink, controller=None)
    net.start()
    pairs = [(net[f"h1_{i}"], net[f"h2_{i}"]) for i in range(1, len(algorithms) + 1)]
    for algorithm, (sender, receiver) in zip(algorithms, pairs):
        sender.config(cc=algorithm)
        receiver.cmd("iperf3 -s -1 -D")
    for sender, receiver in pairs:
        sender.sendCmd(f"iperf3 -c {receiver.IP()} -n {arguments.size} -i 0 -f g")
    for algorithm, (sender, _) in zip(algorithms, pairs):
        lines = [line for line in sender.waitOutput().splitlines() if "sender" in line or "error" in line]
        print(f"{algorithm:<16} {' '.join(lines)}")
    net.stop()


if __name__ == "__main__":
    main()
