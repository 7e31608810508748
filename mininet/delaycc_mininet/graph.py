# SPDX-License-Identifier: Apache-2.0
"""A network by its hosts and links, with a route over every shortest path: what `delaycc export SCENARIO --mininet` writes."""

import collections
import ipaddress

from .nodes import CcHost
from .topologies import RoutedTopo


class GraphTopo(RoutedTopo):
    """hosts: {name: {"ip": "10.0.1.1", "cc": ..., "sysctl": {...}}}; routers: names; links: [(a, b, parameters of a's end, of b's end), ...].

    A host has one link, to a router, which takes the last address of the host's /24. route: words for each host's default route, "quickack 1".
    """

    # pylint: disable=arguments-differ,attribute-defined-outside-init
    def build(self, hosts, routers, links, route=""):
        for name in routers:
            self.router(name)
        self._neighbours = collections.defaultdict(dict)  # router -> neighbour -> its addresses, of parallel links all
        self._hosts = hosts
        for a, b, of_a, of_b in links:
            if b in hosts:
                a, b, of_a, of_b = b, a, of_b, of_a
            if a in hosts:
                network = ipaddress.ip_interface(hosts[a]["ip"] + "/24").network
                gateway = str(network.broadcast_address - 1)
                values = {key: value for key, value in hosts[a].items() if key != "ip"}
                self.addHost(a, cls=CcHost, ip=hosts[a]["ip"] + "/24", defaultRoute=f"via {gateway} {route}".strip(), **values)
                self.addLink(a, b, params1=of_a, params2={**of_b, "ip": f"{gateway}/24"})
                self._neighbours[b].setdefault(a, [])
            else:
                near, far = [str(address) for address in next(self._networks).hosts()]
                self.addLink(a, b, params1={**of_a, "ip": f"{near}/30"}, params2={**of_b, "ip": f"{far}/30"})
                self._neighbours[a].setdefault(b, []).append(far)
                self._neighbours[b].setdefault(a, []).append(near)
        for host in hosts:
            self._route_to(host)

    def _route_to(self, host):
        distance, queue = {host: 0}, collections.deque([host])
        beside = {node: list(neighbours) for node, neighbours in self._neighbours.items()}
        beside[host] = [router for router, neighbours in self._neighbours.items() if host in neighbours]
        while queue:
            at = queue.popleft()
            for node in beside[at]:
                if node not in distance and node not in self._hosts:
                    distance[node] = distance[at] + 1
                    queue.append(node)
        for router, neighbours in self._neighbours.items():
            hops = [address for node, addresses in neighbours.items() for address in addresses
                    if distance.get(node, len(distance)) == distance.get(router, 0) - 1]
            if hops:
                self.route(router, self._hosts[host]["ip"] + "/32", hops)
