# SPDX-License-Identifier: Apache-2.0
"""Links with a rate, a delay and a queue.

In the lab an interface has the lab's port qdisc: exact to the nanosecond at any rate. On a real kernel it has netem; what netem cannot do is
refused by name (CapabilityError), and what tc answers is read: a link never loses a property without a word.
"""

import json
import pathlib
import socket

from mininet.link import Intf, Link, TCIntf
from mininet.log import info

from . import labnet, qdiscs
from .units import in_range, rate_bps, time_ns

RATE_MAX_BPS = 1_600_000_000_000
DELAY_MAX_NS = 1_000_000_000_000
FULL_PACKET_BYTES = qdiscs.FULL_PACKET_BYTES
PORT_IDS = 65535


class CapabilityError(Exception):
    """What was asked for does not exist here; says where it does."""


def tc_time(ns):
    """For tc, which knows no unit of nanoseconds for netem (iproute2 6.1), and may cut a fraction off."""
    return f"{ns // 1000}.{ns % 1000:03}us"


def in_lab():
    """Whether this is the lab, whose time is virtual."""
    return pathlib.Path("/proc/delaycc_lab").exists()


class PortIntf(Intf):
    """An interface whose sending side has a rate, a propagation delay and a queue.

    rate: bits a second (100e9, "100Gbit"), or bw: Mbit/s, as Mininet's TCIntf has it (without its limit of 1000)
    delay: one way, "3us"; or delay_ns
    buffer_bytes, or max_queue_size in packets of 1514 bytes: what would make the queue longer is dropped (default: no limit)
    ecn_bytes: packets that find so long a queue are marked (lab)
    loss: per cent of the packets that are lost before the queue
    jitter: the delay is uniform in delay +- jitter, as netem has it, and at least 0 (lab: packets keep their order)
    noise: extra delay by its quantiles, ((ppm, ns), ...) from 0 to 1000000 ppm (lab)
    reorder: per cent of the packets that are late by reorder_delay_ns (lab)
    spray: a router behind this port spreads packets, not flows, over equal paths (lab)
    gso: segmentation offload of the sender (default False in the lab: packets leave one by one)
    log: the lab writes each TCP packet down, for the report (default True)
    """

    numbers = iter(range(1, PORT_IDS + 1))
    # Of the lab: port number -> what the report calls it.
    logged = {}
    number = None
    # What it is to tc: "netem" alone, or as TCIntf makes it.
    as_tcintf = False

    # pylint: disable=arguments-differ,too-many-locals
    def config(self, rate=None, bw=None, delay=None, delay_ns=None, buffer_bytes=None, max_queue_size=None, ecn_bytes=0, loss=0,
               jitter=None, noise=(), reorder=0, reorder_delay_ns=0, spray=False, gso=False, log=True, seed=1, **params):
        kind = "netem" if not self.as_tcintf else "hfsc" if params.get("use_hfsc") else "tbf" if params.get("use_tbf") else "htb"
        loss, latency_ms, speedup = loss or 0, params.pop("latency_ms", None), params.pop("speedup", 0)
        if bw is not None and speedup > 0 and self.node.name.startswith("s"):
            bw = speedup  # as TCIntf has it: a switch's end may be faster
        for name in ("use_htb", "use_hfsc", "use_tbf", "gro", "txo", "rxo", "disable_gro"):
            params.pop(name, None)  # how TCIntf does it, not what
        for name in ("enable_ecn", "enable_red"):
            if params.pop(name, False):
                raise CapabilityError(f"{self.name}: {name}: a RED queue is not offered; ecn_bytes marks at a threshold")
        result = super().config(**params)
        if self.number and log and not gso and all(value is None for value in (rate, bw, delay, delay_ns, buffer_bytes, max_queue_size)) and not any(
                (ecn_bytes, loss, jitter, noise, reorder, spray)):
            return result  # the link stays as it is: an address was set, or nothing
        if rate is not None and bw is not None:
            raise ValueError(f"{self.name}: rate and bw are two words for one thing: give one")
        if delay is not None and delay_ns is not None:
            raise ValueError(f"{self.name}: delay and delay_ns are two words for one thing: give one")
        self.rate_bps = rate_bps(rate) if rate is not None else rate_bps(bw * 10**6, "bw") if bw is not None else None
        delay = delay_ns if delay_ns is not None else time_ns(delay) if delay is not None else None
        asked = self.rate_bps, delay
        if in_lab():
            # An infinitely fast link, or none at all, in no time: nothing would ever end.
            self.rate_bps = qdiscs.DEFAULT_RATE_BPS if self.rate_bps is None else self.rate_bps
            delay = qdiscs.DEFAULT_DELAY_NS if delay is None and rate is None and bw is None else delay
        if self.rate_bps is not None:
            in_range(self.rate_bps, 1000, RATE_MAX_BPS, f"{self.name}: rate")
        self.delay_ns = in_range(delay or 0, 0, DELAY_MAX_NS, f"{self.name}: delay in ns")
        if max_queue_size is not None:
            buffer_bytes = max_queue_size * FULL_PACKET_BYTES
        in_range(float(loss), 0, 100, f"{self.name}: loss in per cent")
        in_range(float(reorder), 0, 100, f"{self.name}: reorder in per cent")
        if in_lab():
            late = {"reorder_ppm": round(float(reorder) * 10_000), "reorder_delay_ns": reorder_delay_ns}
            loss_ppm, jitter_ns = round(float(loss) * 10_000), time_ns(jitter, "jitter") if jitter is not None else 0
            tree = qdiscs.tree_of_link(kind, *asked, jitter_ns, loss_ppm, buffer_bytes or 0, latency_ms)
            if jitter_ns:
                noise = qdiscs.delays_ns(self.delay_ns, jitter_ns)
                self.delay_ns = noise[0][1]
                noise = [(ppm, ns - self.delay_ns) for ppm, ns in noise]
            self._port(qdiscs.effect(tree)["limit_bytes"] or 0, ecn_bytes, loss_ppm, tuple(noise), late, spray, gso, log, seed)
            self._note(tree, [] if jitter_ns else noise)
        else:
            self._netem(max_queue_size, buffer_bytes, ecn_bytes, float(loss), jitter, noise, reorder, spray)
        self._tell_line_rate()
        what = [f"{self.rate_bps / 1e6:g}Mbit"] if self.rate_bps else []
        info("(" + " ".join(what + [f"{self.delay_ns / 1000:g}us delay"] + ([f"{loss}% loss"] if loss else [])) + ") ")
        return result

    def netns(self):
        return labnet.Netns(self.node.pid)

    def _port(self, limit_bytes, ecn_bytes, loss_ppm, noise, late, spray, gso, log, seed):
        self.number = self.number or next(PortIntf.numbers, None)
        if self.number is None:
            raise CapabilityError(f"{self.name}: more than {PORT_IDS} link ends")
        flags = (labnet.DATA | labnet.ACKS if log else 0) | (labnet.SPRAY if spray else 0)
        ns = self.netns()
        try:
            with ns:
                labnet.no_offload(self.name)
                if not gso:
                    labnet.gso_max_segs(self.name, 1)
                labnet.port(self.name, rate_bps=self.rate_bps, delay_ns=self.delay_ns, limit_bytes=limit_bytes, ecn_bytes=ecn_bytes,
                            loss_ppm=loss_ppm, noise=noise, **late, seed=seed + self.number, port_id=self.number, log_flags=flags)
                self.index = socket.if_nametoindex(self.name)
        finally:
            ns.close()
        if log:
            PortIntf.logged[self.number] = {"name": self.name, "rate_bps": self.rate_bps, "delay_ns": self.delay_ns}

    def _note(self, tree, noise):
        """For tc, which changes the port as a script asks for it later."""
        path = qdiscs.state_path(self.index, self.node.pid)
        before = qdiscs.read_state(path) or {}
        if before.get("inside"):
            self.node.pexec(qdiscs.REAL_TC, "qdisc", "del", "dev", self.name, "parent", "1:1")
        rates, failed = (before["rates_bps"], before["failed"]) if before.get("port") == self.number else ([], [])
        rates = rates if rates[-1:] == [self.rate_bps] else [*rates, self.rate_bps]
        qdiscs.write_state(path, {"port": self.number, "tree": tree, "noise": list(noise), "inside": None, "rates_bps": rates, "failed": failed,
                                  "delay_ns": self.delay_ns, "tells": self._tells()})

    def _netem(self, packets, limit_bytes, ecn_bytes, loss, jitter, noise, reorder, spray):
        for name, value in (("ecn_bytes", ecn_bytes), ("noise", noise and not jitter), ("reorder", reorder), ("spray", spray)):
            if value:
                raise CapabilityError(f"{self.name}: {name} is of the lab's links only (delaycc mininet); netem has no such thing")
        if limit_bytes and not packets:
            packets = max(1, limit_bytes // FULL_PACKET_BYTES)
        words = []
        if self.delay_ns or jitter:
            words += ["delay", tc_time(self.delay_ns)] + ([tc_time(time_ns(jitter, "jitter"))] if jitter else [])
        if loss:
            words += ["loss", f"{loss}%"]
        if self.rate_bps:
            words += ["rate", f"{self.rate_bps}bit"]
        if not words:
            return
        words += ["limit", str(packets or 100_000)]
        said, errors, code = self.node.pexec("tc", "qdisc", "replace", "dev", self.name, "root", "netem", *words)
        if code != 0:
            raise CapabilityError(f"{self.name}: tc qdisc ... netem {' '.join(words)}: {(errors or said).strip()}")
        there = json.loads(self.node.pexec("tc", "-j", "qdisc", "show", "dev", self.name)[0])
        options = next((q["options"] for q in there if q["kind"] == "netem"), {})
        delay = options.get("delay", {}).get("delay", 0)
        rate = options.get("rate", {}).get("rate", 0) * 8
        # tc keeps time in ticks of 64 ns.
        if abs(delay * 1e9 - self.delay_ns) > 64 or (self.rate_bps and abs(rate - self.rate_bps) > 8):
            raise CapabilityError(f"{self.name}: asked for {' '.join(words)}, and the kernel has {options}")

    def _tells(self):
        return self.node.inNamespace and "net.ipv4.delaycc.line_rate_mbps" not in (self.node.params.get("sysctl") or {})

    def _tell_line_rate(self):
        """A veth's own speed is no fact: the modules learn it from here, where they are there and nobody has said otherwise."""
        if self.rate_bps is not None and self._tells():
            mbps = max(1, max(getattr(i, "rate_bps", None) or 0 for i in [*self.node.intfList(), self]) // 10**6)
            ns = self.netns()
            try:
                with ns:
                    knob = pathlib.Path("/proc/sys/net/ipv4/delaycc/line_rate_mbps")
                    if knob.exists():
                        knob.write_text(str(min(mbps, 800_000)))
            finally:
                ns.close()


class TCPortIntf(PortIntf):
    """Mininet's TCIntf in the lab, whose methods run tc."""

    as_tcintf = True
    bwParamMax = RATE_MAX_BPS // 10**6
    bwCmds, delayCmds, tc = TCIntf.bwCmds, staticmethod(TCIntf.delayCmds), TCIntf.tc


class PortLink(Link):
    """A link of two such interfaces; its parameters are those of PortIntf, for both directions. params1 and params2 differ."""

    def __init__(self, node1, node2, **params):
        params.setdefault("cls1", PortIntf)
        params.setdefault("cls2", PortIntf)
        super().__init__(node1, node2, **params)


class _TCIntf(TCIntf):
    """Mininet's own, which only prints what tc says, and goes on without the delay or the rate that tc has refused."""

    def tc(self, cmd, tc="tc"):
        said = super().tc(cmd, tc)
        if said and " show " not in cmd:
            raise CapabilityError(f"{self.name}: {cmd % (tc, self)}: {said.strip()}")
        return said


class TCLink(Link):
    """Mininet's TCLink (htb and netem), or in the lab a PortLink: what the kernel refuses is an error that says so."""

    def __init__(self, node1, node2, **params):
        kind = TCPortIntf if in_lab() else _TCIntf
        params.setdefault("cls1", kind)
        params.setdefault("cls2", kind)
        super().__init__(node1, node2, **params)
