#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""PrioPlus by cgroups: programs in a group of higher priority take the link, and give it back when they end.

The group's priority is that of its sockets (net_prio), which PrioPlus reads.

    delaycc mininet mininet/examples/priorities.py
"""

import argparse
import os
import pathlib
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
# pylint: disable=wrong-import-position
from mininet.net import Mininet  # noqa: E402
from mininet.nodelib import LinuxBridge  # noqa: E402

from delaycc_mininet import CcHost, Dumbbell, PortLink  # noqa: E402

GROUPS = pathlib.Path("/sys/fs/cgroup/net_prio")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", default="prioplus")
    parser.add_argument("--rate", default="100Gbit")
    parser.add_argument("--delay", default="2us")
    parser.add_argument("--size", default="60M", help="of the flow of low priority; the other sends half of it")
    arguments = parser.parse_args()
    if not GROUPS.is_dir():
        sys.exit(f"{GROUPS} is not there: this kernel has no net_prio, or it is not mounted (mount -t cgroup -o net_prio ...)")
    net = Mininet(topo=Dumbbell(2, rate=arguments.rate, delay=arguments.delay), host=CcHost, link=PortLink, switch=LinuxBridge,
                  controller=None, autoStaticArp=True)
    net.start()
    for i, level in ((1, 0), (2, 5)):
        group = GROUPS / f"level{level}"
        group.mkdir(exist_ok=True)
        host = net[f"h{i}"]
        host.config(cc=arguments.cc)
        # A cgroup's priorities are of the devices that the writer sees: the host's own.
        host.cmd(f"echo {host.defaultIntf()} {level} > {group}/net_prio.ifpriomap; echo $$ > {group}/cgroup.procs")
        net[f"r{i}"].cmd("iperf3 -s -1 -D")
    low, high = net["h1"], net["h2"]
    low.sendCmd(f"iperf3 -c {net['r1'].IP()} -n {arguments.size} -i 0 -f g")
    half = f"{int(arguments.size[:-1]) // 2}{arguments.size[-1]}"
    print("--- priority 5\n" + high.cmd("sleep 0.001; iperf3 -c", net["r2"].IP(), "-n", half, "-i 0 -f g"))
    print(f"--- priority 0\n{low.waitOutput()}")
    net.stop()


if __name__ == "__main__":
    main()
