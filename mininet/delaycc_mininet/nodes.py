# SPDX-License-Identifier: Apache-2.0
"""Hosts with a congestion control of their own, and routers."""

import pathlib

from mininet.node import Host, Switch

from . import labnet
from .links import CapabilityError


def write_sysctls(node, values):
    """{"net.ipv4.name": value} in the node's network namespace. CapabilityError names what is refused, and why."""
    ns = labnet.Netns(node.pid)
    try:
        with ns:
            for name, value in values.items():
                path = pathlib.Path("/proc/sys") / name.replace(".", "/")
                try:
                    path.write_text(str(value))
                except OSError as error:
                    raise CapabilityError(f"{node.name}: sysctl {name} = {value}: {error.strerror}{_there(name)}") from None
    finally:
        ns.close()


def _there(name):
    if name == "net.ipv4.tcp_congestion_control":
        known = pathlib.Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
        return f"; there are {', '.join(sorted(known))}"
    return ""


class CcHost(Host):
    """A host with a congestion control and parameters of its own.

    cc: the algorithm of its connections, "oscar" (default: the kernel's)
    sysctl: {"net.ipv4.delaycc.oscar.target_queue_ns": 8000, ...}, set in its namespace

    The line rate is told to our modules by the link; the base RTT is measured, unless sysctl has net.ipv4.delaycc.base_rtt_ns.
    """

    # pylint: disable=arguments-differ
    def config(self, cc=None, sysctl=None, **params):
        result = super().config(**params)
        values = dict(sysctl or {})
        if cc is not None:
            values["net.ipv4.tcp_congestion_control"] = cc
        write_sysctls(self, values)
        return result


class Router(Switch):
    """Forwards by addresses, with equal-cost paths by the flow's ports; for networks with loops, where a bridge would need a spanning tree.

    routes: [(prefix, [next hop, ...]), ...], set when the network starts. Its interfaces have their addresses by the links' params: ip="10.0.1.1/24".
    """

    def __init__(self, name, routes=(), **params):
        params["inNamespace"] = True
        super().__init__(name, dpid="1", **params)
        self.routes = list(routes)
        write_sysctls(self, {"net.ipv4.ip_forward": 1, "net.ipv4.fib_multipath_hash_policy": 1})

    def start(self, _controllers):
        for prefix, hops in self.routes:
            words = ["ip", "route", "add", prefix]
            words += ["via", hops[0]] if len(hops) == 1 else [word for hop in hops for word in ("nexthop", "via", hop)]
            said, errors, code = self.pexec(*words)
            if code != 0:
                raise CapabilityError(f"{self.name}: {' '.join(words)}: {(errors or said).strip()}")
