# SPDX-License-Identifier: Apache-2.0
"""The topologies of datacenter papers. Link parameters (rate, delay, buffer_bytes, ecn_bytes, ...) are those of PortIntf.

Dumbbell, Incast and ParkingLot have switches; LeafSpine and FatTree have routers that spread flows over equal paths.
"""

import ipaddress

from mininet.topo import Topo

from .nodes import Router
from .units import in_range


class Dumbbell(Topo):
    """h1 .. hn - s1 = s2 - r1 .. rn; = is the bottleneck, whose parameters may differ: bottleneck={"rate": "40Gbit"}."""

    # pylint: disable=arguments-differ
    def build(self, senders=2, receivers=None, bottleneck=None, **link):
        in_range(senders, 1, 2000, "senders")
        left, right = self.addSwitch("s1"), self.addSwitch("s2")
        for i in range(1, senders + 1):
            self.addLink(self.addHost(f"h{i}"), left, **link)
        for i in range(1, (receivers or senders) + 1):
            self.addLink(self.addHost(f"r{i}"), right, **link)
        self.addLink(left, right, **{**link, **(bottleneck or {})})


class Incast(Topo):
    """h1 .. hn - s1 = r1: all send to one, whose link is the bottleneck."""

    # pylint: disable=arguments-differ
    def build(self, senders=8, bottleneck=None, **link):
        in_range(senders, 1, 2000, "senders")
        switch = self.addSwitch("s1")
        for i in range(1, senders + 1):
            self.addLink(self.addHost(f"h{i}"), switch, **link)
        self.addLink(switch, self.addHost("r1"), **{**link, **(bottleneck or {})})


class ParkingLot(Topo):
    """s1 = s2 = ... : a long path from h1 to r1 over all bottlenecks, and a cross path from c<i> to d<i> over each."""

    # pylint: disable=arguments-differ
    def build(self, bottlenecks=2, bottleneck=None, **link):
        in_range(bottlenecks, 1, 16, "bottlenecks")
        switches = [self.addSwitch(f"s{i}") for i in range(1, bottlenecks + 2)]
        self.addLink(self.addHost("h1"), switches[0], **link)
        self.addLink(self.addHost("r1"), switches[-1], **link)
        for i, (near, far) in enumerate(zip(switches, switches[1:]), 1):
            self.addLink(near, far, **{**link, **(bottleneck or {})})
            self.addLink(self.addHost(f"c{i}"), near, **link)
            self.addLink(self.addHost(f"d{i}"), far, **link)


class RoutedTopo(Topo):
    """Routers and hosts with addresses: each link is a network of its own."""

    def __init__(self, *args, **params):
        self._networks = ipaddress.ip_network("172.16.0.0/12").subnets(new_prefix=30)
        self.routes = {}
        super().__init__(*args, **params)

    def router(self, name):
        self.routes[name] = []
        return self.addSwitch(name, cls=Router, routes=self.routes[name])

    def attach(self, host, router, prefix, **link):
        """The host has .2 and the router .1 of the prefix, a /24."""
        near, far = [f"{a}/24" for a in list(ipaddress.ip_network(prefix).hosts())[:2]]
        self.addHost(host, ip=far, defaultRoute=f"via {near[:-3]}")
        self.addLink(host, router, params2={"ip": near}, **link)

    def join(self, a, b, **link):
        """Links two routers; returns their addresses on that link."""
        near, far = [str(h) for h in next(self._networks).hosts()]
        self.addLink(a, b, params1={"ip": f"{near}/30"}, params2={"ip": f"{far}/30"}, **link)
        return near, far

    def route(self, router, prefix, hops):
        self.routes[router].append((prefix, list(hops)))


class LeafSpine(RoutedTopo):
    """leaf1 .. with the hosts h<leaf>_<i>, each leaf linked to spine1 .. ; up={"rate": ...} is of the links to spines."""

    # pylint: disable=arguments-differ
    def build(self, leaves=2, spines=2, hosts=2, up=None, **link):
        in_range(leaves, 1, 64, "leaves")
        in_range(spines, 1, 64, "spines")
        in_range(hosts, 1, 250, "hosts")
        tops = [self.router(f"spine{s}") for s in range(1, spines + 1)]
        for n in range(1, leaves + 1):
            leaf, hops = self.router(f"leaf{n}"), []
            for i in range(1, hosts + 1):
                self.attach(f"h{n}_{i}", leaf, f"10.{n}.{i}.0/24", **link)
            for top in tops:
                below, above = self.join(leaf, top, **{**link, **(up or {})})
                hops.append(above)
                self.route(top, f"10.{n}.0.0/16", [below])
            self.route(leaf, "default", hops)


class FatTree(RoutedTopo):
    """k pods of k/2 edge and k/2 aggregation routers, (k/2)^2 cores; the hosts are h<pod>_<edge>_<i>, k/2 at each edge."""

    # pylint: disable=arguments-differ
    def build(self, k=4, **link):
        in_range(k, 2, 16, "k")
        if k % 2:
            raise ValueError(f"k={k}: has to be even")
        half = k // 2
        cores = [[self.router(f"core{a}_{c}") for c in range(1, half + 1)] for a in range(1, half + 1)]
        for pod in range(1, k + 1):
            aggregations = [self.router(f"agg{pod}_{a}") for a in range(1, half + 1)]
            for e in range(1, half + 1):
                edge, hops = self.router(f"edge{pod}_{e}"), []
                prefixes = [f"10.{pod}.{(e - 1) * half + i}.0/24" for i in range(1, half + 1)]
                for i, prefix in enumerate(prefixes, 1):
                    self.attach(f"h{pod}_{e}_{i}", edge, prefix, **link)
                for aggregation in aggregations:
                    below, above = self.join(edge, aggregation, **link)
                    hops.append(above)
                    for prefix in prefixes:
                        self.route(aggregation, prefix, [below])
                self.route(edge, "default", hops)
            for aggregation, row in zip(aggregations, cores):
                hops = []
                for core in row:
                    below, above = self.join(aggregation, core, **link)
                    hops.append(above)
                    self.route(core, f"10.{pod}.0.0/16", [below])
                self.route(aggregation, "default", hops)
