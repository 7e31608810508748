#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two hosts and a link on a real kernel: one that netem can make, or one that it cannot.  Prints three pings.

usage: mininet_links.py port | tc | ecn_bytes | noise | reorder | spray
"""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
# pylint: disable=wrong-import-position
from mininet.net import Mininet  # noqa: E402
from mininet.nodelib import LinuxBridge  # noqa: E402

from delaycc_mininet import CcHost, PortLink, TCLink  # noqa: E402

ONLY_IN_THE_LAB = {"ecn_bytes": 30000, "noise": ((0, 0), (1_000_000, 1000)), "reorder": 1, "spray": True}


def main():
    kind = sys.argv[1]
    net = Mininet(host=CcHost, switch=LinuxBridge, controller=None, autoStaticArp=True)
    hosts = [net.addHost(name) for name in ("h1", "h2")]
    if kind == "tc":
        net.addLink(*hosts, cls=TCLink, bw=20, delay="5ms")
    else:
        more = {kind: ONLY_IN_THE_LAB[kind]} if kind in ONLY_IN_THE_LAB else {}
        net.addLink(*hosts, cls=PortLink, rate="20Mbit", delay="5ms", **more)
    net.start()
    print(net["h1"].cmd("ping -c 3 -i 0.2", net["h2"].IP()))
    net.stop()


if __name__ == "__main__":
    main()
