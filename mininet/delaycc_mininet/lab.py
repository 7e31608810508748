# SPDX-License-Identifier: Apache-2.0
"""Makes an unmodified Mininet script run in the lab, where some things are otherwise: what stands in for what is said once.

- Open vSwitch does not run: its switches are Linux bridges, which learn addresses; OpenFlow controllers are not started.
- Links have a rate (10 Gbit/s, 1 us unless said): in virtual time an infinitely fast one would carry for ever in no time.
- TCLink's rate, delay, jitter, loss and queue are the lab's port, exact and without its limit of 1000 Mbit/s.
- A processor takes no time, so limits of processor time have no effect.
"""

import atexit
import json
import os
import signal
import sys
import time

import mininet.clean
import mininet.cli
import mininet.link
import mininet.log
import mininet.net
import mininet.node
import mininet.nodelib
import mininet.util

from . import qdiscs
from .capture import Captures
from .links import CapabilityError, PortIntf, PortLink, TCPortIntf

BRIDGES_S = 3
# Of virtual time, until iperf's server listens, and until it has the client's last packets.
IPERF_S = 1
_said = set()
# Name of a link's end -> the other's.
_peers = {}


def say(text):
    if text not in _said:
        _said.add(text)
        print(f"delaycc: {text}", file=sys.stderr, flush=True)


class Bridge(mininet.nodelib.LinuxBridge):
    """In place of Open vSwitch: takes its parameters and leaves out what bridges do not have."""

    def __init__(self, name, stp=False, prio=None, **params):
        for word in ("failMode", "datapath", "protocols", "reconnectms", "batch", "dpopts"):
            params.pop(word, None)
        super().__init__(name, stp=stp, prio=prio, **params)
        say("switches are Linux bridges here: Open vSwitch, and so OpenFlow, does not run in the lab")

    def attach(self, intf):
        """Open vSwitch's: an interface that was added while the network runs."""
        self.cmd("brctl addif", self, intf)
        self.cmd("ip link set dev", intf, "up")


def _of_open_vswitch(method):
    def refuse(self, *_args, **_words):
        raise CapabilityError(f"{self.name}: {method}: switches of the lab are Linux bridges and have no OpenFlow tables")
    return refuse


for _method in ("dpctl", "vsctl", "detach", "isOldOVS"):
    setattr(Bridge, _method, _of_open_vswitch(_method))


class NoController(mininet.node.Node):
    """In place of a learning controller: bridges learn by themselves."""

    def __init__(self, name, **params):
        for word in ("command", "cargs", "cdir", "ip", "port", "protocol", "verbose"):
            params.pop(word, None)
        super().__init__(name, inNamespace=False, **params)

    def start(self):
        pass

    def checkListening(self):
        pass

    @classmethod
    def isAvailable(cls):
        return True


class Refused:
    """A class that the lab cannot stand in for."""

    why = ""

    def __init__(self, *_args, **_params):
        raise CapabilityError(f"{type(self).__name__}: {self.why}")


def refused(name, why):
    return type(name, (Refused,), {"why": why})


class UnlimitedHost(mininet.node.Host):
    """In place of CPULimitedHost."""

    def __init__(self, name, sched="cfs", **params):
        say("a processor takes no time in the lab: limits of processor time (cpu=, cores=) have no effect")
        self.sched = sched
        super().__init__(name, **params)

    # pylint: disable=arguments-differ
    def config(self, cpu=-1, cores=None, **params):
        return super().config(**params)

    def setCPUFrac(self, *_args, **_params):
        pass

    setCPUs = setCPUFrac


def _replace(modules, name, by):
    for module in modules:
        if hasattr(module, name):
            setattr(module, name, by)


def install():
    """To be called before the script imports anything of Mininet."""
    modules = [mininet.node, mininet.net, mininet.link, mininet.nodelib, mininet.cli]
    for name in ("OVSSwitch", "OVSKernelSwitch", "OVSBridge", "UserSwitch", "IVSSwitch"):
        _replace(modules, name, Bridge)
    for name in ("Controller", "OVSController"):
        _replace(modules, name, NoController)
    for name in ("RemoteController", "Ryu", "NOX"):
        _replace(modules, name, refused(name, "OpenFlow controllers do not run in the lab"))
    _replace(modules, "NAT", refused("NAT", "the lab has no network outside, and no address translation"))
    _replace(modules, "CPULimitedHost", UnlimitedHost)
    _replace(modules, "TCIntf", TCPortIntf)
    _replace(modules, "DefaultController", lambda name, controllers=None, **params: NoController(name, **params))

    original = mininet.net.Mininet.__init__

    def init(self, topo=None, switch=Bridge, host=mininet.node.Host, controller=NoController, link=PortLink, **params):
        if link is mininet.link.Link:
            link = PortLink
        if params.get("xterms"):
            raise CapabilityError("xterms: the lab has no display")
        original(self, topo=topo, switch=switch, host=host, controller=controller, link=link, **params)

    mininet.net.Mininet.__init__ = init
    add_link = mininet.net.Mininet.addLink

    def addLink(self, node1, node2, port1=None, port2=None, cls=None, **params):
        link = add_link(self, node1, node2, port1, port2, PortLink if cls is mininet.link.Link else cls, **params)
        _peers[link.intf1.name], _peers[link.intf2.name] = link.intf2.name, link.intf1.name
        return link

    mininet.net.Mininet.addLink = addLink
    link_init = mininet.link.Link.__init__

    def with_ports(self, *nodes_and_ports, **params):
        # What a script makes without a Mininet, too: Link(h1, h2).
        if params.get("intf") in (None, mininet.link.Intf):
            params["intf"] = PortIntf
        link_init(self, *nodes_and_ports, **params)

    mininet.link.Link.__init__ = with_ports
    mininet.cli.CLI.waitForNode = wait_for_node
    start = mininet.net.Mininet.start

    captures = Captures(os.environ["DELAYCC_PCAP"]) if os.environ.get("DELAYCC_PCAP") else None

    def start_and_wait(self):
        start(self)
        # Devices report their carrier, and bridges forward, after a second at most. It costs no time here.
        time.sleep(BRIDGES_S)
        if captures:
            captures.start(self.hosts)

    mininet.net.Mininet.start = start_and_wait
    if captures:
        stop = mininet.net.Mininet.stop

        def stop_after_captures():
            for trouble in captures.stop():
                say(trouble)

        def stop_all(self):
            stop_after_captures()
            stop(self)

        mininet.net.Mininet.stop = stop_all
        atexit.register(stop_after_captures)
    mininet.net.Mininet.iperf = iperf
    # It raises the limit of open files to 16384, and mnexec closes all of them: a third of a second for each process.
    _replace([*modules, mininet.util], "fixLimits", lambda: None)
    # It ends processes by their names, and waits for what is not there.
    mininet.clean.cleanup = lambda: None
    _replace(modules, "cleanup", mininet.clean.cleanup)


def wait_for_node(_cli, node):
    """The command line's own looks at its input all the time, too, which is empty: no time would pass."""
    while node.waiting:
        mininet.log.output(node.monitor())


def iperf(self, hosts=None, l4Type="TCP", udpBw="10M", fmt=None, seconds=5, port=5001):
    """Mininet's own waits for one more line of the server than iperf 2.1 prints, for ever. Result as there: rates of server and client."""
    # pylint: disable=invalid-name,protected-access
    client, server = hosts or (self.hosts[0], self.hosts[-1])
    udp = {"TCP": False, "UDP": True}.get(l4Type)
    if udp is None:
        raise ValueError(f"iperf: l4Type={l4Type!r}: there are TCP and UDP")
    mininet.log.output("*** Iperf: testing", l4Type, "bandwidth between", client, "and", server, "\n")
    words = ["iperf", "-p", str(port), *(["-u"] if udp else []), *(["-f", fmt] if fmt else [])]
    listening = server.popen([*words, "-s"])
    time.sleep(IPERF_S)
    said = client.pexec(*words, "-t", str(seconds), "-c", server.IP(), *(["-b", udpBw] if udp else []))
    time.sleep(IPERF_S)
    listening.send_signal(signal.SIGINT)
    heard = [text.decode() for text in listening.communicate()]
    if "/sec" not in said[0] or "/sec" not in heard[0]:
        raise CapabilityError(f"iperf: {client.name} said: {''.join(said[:2]).strip()}; {server.name} said: {''.join(heard).strip()}")
    result = [udpBw] * udp + [self._parseIperf(heard[0]), self._parseIperf(said[0])]
    mininet.log.output(f"*** Results: {result}\n")
    return result


def note_ports(path):
    """Writes down at the script's end which link ends were logged, for the report."""

    def write():
        ports = {number: {**port, "peer": _peers.get(port["name"], "")} for number, port in PortIntf.logged.items()}
        for state in qdiscs.states():
            if state["port"] in ports:
                ports[state["port"]].update(rate_bps=min(state["rates_bps"]), rates_bps=state["rates_bps"], delay_ns=state["delay_ns"])
        with open(path, "w") as file:
            json.dump(ports, file)

    atexit.register(write)
