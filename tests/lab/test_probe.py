# SPDX-License-Identifier: Apache-2.0
"""Stop and probe: every probe is answered and timed, nothing else leaves, no byte is lost, nothing stalls.

stopgo/tcp_stopgo.c is a test's algorithm: a constant window that stops every so many ACKs and goes on after some probes.
"""

import collections
import ctypes
import errno
import fcntl
import hashlib
import os
import pathlib
import random
import resource
import select
import socket
import struct
import time

import inlab
import pytest
from modules import DCC, FILES, mount_tracing, remove, traced, tracing, use

pytestmark = pytest.mark.ci

HERE = pathlib.Path(__file__).resolve().parent
RATE_BPS = 10**11
DELAY_NS = 5940
# Ethernet, IPv4, TCP with timestamps, one byte.
PROBE_BYTES = 14 + 20 + 32 + 1
# Two wires; 67 bytes one way, a D-SACK of 78 the other way, each rounded up to whole ns.
PROBE_RTT_NS = 2 * DELAY_NS + 6 + 7
STOP, STAY, GO = 1, 2, 3

if os.getpid() == 1:
    FILES["tcp_stopgo"] = pathlib.Path(os.environ["STOPGO_MODULE"]).read_bytes()


# ---- outside the lab ----


@pytest.fixture(scope="module", name="stopgo")
def fixture_stopgo():
    """Builds tcp_stopgo.ko for the lab's kernel, as the modules in build/modules are."""
    from outside import build_module

    return build_module("tcp_stopgo", HERE / "stopgo")


@pytest.fixture(name="run")
def fixture_run(lab, stopgo):
    from outside import LAB

    def run(function, *args, **options):
        return lab(function, *args, mem="1G", options=(f"MODULES_DIR={LAB.resolve()}", f"STOPGO_MODULE={stopgo}"),
                   **options)

    return run


# ---- inside ----


def load():
    for name in ("delaycc", "tcp_stopgo"):
        image = FILES[name]
        inlab.check(inlab.libc.syscall(175, image, ctypes.c_ulong(len(image)), b""), f"init_module {name}")


def unload():
    """Removes the modules as soon as nothing needs them."""
    for name in ("tcp_stopgo", "delaycc"):
        for _ in range(2000):
            if not remove(name):
                break
            time.sleep(0.1)
        else:
            raise AssertionError(f"{name} is still in use")


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Net:
    """Hosts a and b; what a sends is stopped and probed."""

    def __init__(self, log=True, sysctls=None, offload=False, rate_bps=RATE_BPS, delay_ns=DELAY_NS, left=None, right=None,
                 base_rtt_ns=2 * DELAY_NS + 128, buffers=1 << 22, **params):
        load()
        mount_tracing()
        inlab.write("/proc/sys/net/ipv4/tcp_mem", "4000000 4000000 4000000")
        link = {"rate_bps": rate_bps, "delay_ns": delay_ns, "log_flags": inlab.DATA | inlab.ACKS if log else 0}
        self.a, self.b = inlab.pair(left={**link, "port_id": 1, **(left or {})}, right={**link, "port_id": 2, **(right or {})})
        for ns, name in ((self.a, "a0"), (self.b, "b0")):
            with ns:
                if not offload:
                    inlab.gso_max_segs(name, 1)
                inlab.write("/proc/sys/net/ipv4/tcp_rmem", f"4096 {buffers} {buffers}")
                inlab.write("/proc/sys/net/ipv4/tcp_wmem", f"4096 {buffers} {buffers}")
                inlab.write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1")
                inlab.write(DCC + "line_rate_mbps", str(rate_bps // 10**6))
                # Until data has measured it, data would leave in place of probes.
                inlab.write(DCC + "base_rtt_ns", str(base_rtt_ns))
                for key, value in (sysctls or {}).items():
                    inlab.write("/proc/sys/net/ipv4/tcp_" + key, str(value))
        self.set(**params)
        self.port_number = 5000
        tracing(True)

    def set(self, **params):
        with self.a:
            for key, value in params.items():
                inlab.write(DCC + "stopgo/" + key, str(value))

    def open(self, family=socket.AF_INET, algorithm="stopgo", prepare=None):
        """(client on a, server on b)"""
        self.port_number += 1
        address = "10.0.0.2" if family == socket.AF_INET else "fd00::2"
        with self.b:
            listener = socket.socket(family)
            listener.bind((address, self.port_number))
            listener.listen(1)
        with self.a:
            client = socket.socket(family)
            use(client, algorithm)
            if prepare:
                prepare(client)
            client.connect((address, self.port_number))
        server, _ = listener.accept()
        listener.close()
        return client, server


# Offsets in struct tcp_info.
TCP_INFO = {"unacked": 24, "rtt": 68, "reordering": 88, "total_retrans": 100, "data_segs_out": 156, "delivered": 192,
            "dsack_dups": 216, "reord_seen": 220}


def tcp_info(sock, name):
    return struct.unpack_from("=I", sock.getsockopt(socket.IPPROTO_TCP, 11, 224), TCP_INFO[name])[0]


def stream(size, seed=1):
    return random.Random(seed).randbytes(size)


class Flow:
    """One direction of a connection: size bytes of a known stream, compared at the end by their hash."""

    def __init__(self, source, sink, size, chunk=1 << 17, seed=1):
        self.source, self.sink, self.data = source, sink, stream(size, seed)
        self.sent = self.got = 0
        self.chunk = chunk
        self.hash = hashlib.sha256()

    @property
    def done(self):
        return self.got == len(self.data)

    @property
    def right(self):
        return self.done and self.hash.digest() == hashlib.sha256(self.data).digest()

    def send(self):
        self.sent += self.source.send(self.data[self.sent : self.sent + self.chunk], socket.MSG_DONTWAIT)

    def receive(self):
        data = self.sink.recv(1 << 20, socket.MSG_DONTWAIT)
        self.hash.update(data)
        self.got += len(data)


def move(flows, seconds=60):
    """Runs these until all is there or the time is over; returns whether all is there and right, and when it was."""
    poll = select.epoll()
    interest = collections.Counter()
    by_source, by_sink = {}, {}
    for flow in flows:
        by_source[flow.source.fileno()] = flow
        by_sink[flow.sink.fileno()] = flow
        interest[flow.source.fileno()] |= select.EPOLLOUT
        interest[flow.sink.fileno()] |= select.EPOLLIN
    for fd, events in interest.items():
        poll.register(fd, events)
    end = now_ns() + int(seconds * 1e9)
    left = len(flows)
    while left:
        rest = end - now_ns()
        if rest <= 0:
            break
        for fd, events in poll.poll(rest / 1e9):
            if events & select.EPOLLIN and fd in by_sink:
                flow = by_sink[fd]
                flow.receive()
                left -= flow.done
            if events & select.EPOLLOUT and fd in by_source:
                flow = by_source[fd]
                flow.send()
                if flow.sent == len(flow.data):
                    interest[fd] &= ~select.EPOLLOUT
                    poll.modify(fd, interest[fd])
    poll.close()
    return all(flow.right for flow in flows)


def probes_on_the_wire(port_id=1):
    """Segments of one byte; no test sends so little itself, unless it says so."""
    return [event for event in inlab.events() if event.port_id == port_id and event.payload_bytes == 1]


def decisions(branch=None):
    seen = [{key: value if key == "name" else int(value) for key, value in event.items()} for event in traced()]
    return [event for event in seen if branch is None or event["branch"] == branch]


def counters(ns, *names):
    """Of /proc/net/netstat."""
    with ns:
        lines = inlab.read("/proc/thread-self/net/netstat").splitlines()
    found = {}
    for keys, values in zip(lines[::2], lines[1::2]):
        found.update(zip(keys.split()[1:], map(int, values.split()[1:])))
    return [found[name] for name in names]


def rtts(seen):
    return collections.Counter(d["rtt_ns"] for d in seen)


def report(net):
    """What any test may want to know."""
    seen = decisions()
    wire = probes_on_the_wire()
    replies = [d for d in seen if d["branch"] in (STAY, GO)]
    names = ("TCPTimeouts", "TCPSACKReorder", "TCPRenoReorder", "TCPTSReorder", "TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo",
             "TCPLossUndo", "TCPSpuriousRTOs", "TCPLossProbes", "TCPFastRetrans", "TCPRetransFail", "TCPDSACKRecvSegs")
    return {"probes": len(wire), "sizes": sorted({e.len_bytes for e in wire}), "replies": len(replies),
            "stops": sum(d["branch"] == STOP for d in seen), "goes": sum(d["branch"] == GO for d in seen),
            "rtts": sorted(rtts(replies).items()), "tcp": dict(zip(names, counters(net.a, *names))),
            "rehash": counters(net.b, "TcpDuplicateDataRehash")[0]}


def escaped(probe_ns):
    """Data that left while a probe was on its way, or between the stop and the probe."""
    sent = sorted((e for e in inlab.events() if e.port_id == 1 and e.payload_bytes), key=lambda e: e.arrival_ns)
    bad = 0
    for before, probe, after in zip(sent, sent[1:], sent[2:]):
        if probe.payload_bytes == 1:
            bad += before.payload_bytes > 1 and probe.arrival_ns - before.arrival_ns < probe_ns
            bad += after.arrival_ns - probe.arrival_ns < PROBE_RTT_NS - 20
    return bad


def in_lab_transfer(options, ipv6, size, both_ways):
    net = Net(**options)
    client, server = net.open(socket.AF_INET6 if ipv6 else socket.AF_INET)
    flows = [Flow(client, server, size)]
    if both_ways:
        flows.append(Flow(server, client, size, seed=2))
    begin = now_ns()
    right = move(flows, 300)
    return {"right": right, "seconds": (now_ns() - begin) / 1e9, "escaped": escaped(options["probe_ns"]), **report(net)}


STOPPING = {"run_acks": 20, "probes": 3, "probe_ns": 20000}
NO_UNDO = dict.fromkeys(("TCPSACKReorder", "TCPRenoReorder", "TCPTSReorder", "TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo",
                         "TCPLossUndo", "TCPSpuriousRTOs"), 0)
NOTHING = NO_UNDO | dict.fromkeys(("TCPTimeouts", "TCPLossProbes", "TCPFastRetrans", "TCPRetransFail", "TCPDSACKRecvSegs"), 0)


@pytest.mark.parametrize("ipv6", (False, True), ids=("IPv4", "IPv6"))
@pytest.mark.parametrize("sysctls", ({}, {"sack": 0}, {"dsack": 0}, {"timestamps": 0}, {"sack": 0, "timestamps": 0}),
                         ids=("all", "no-sack", "no-dsack", "no-timestamps", "plain"))
def test_every_probe_is_answered_and_timed_and_nothing_else_leaves(run, ipv6, sysctls):
    seen = run("in_lab_transfer", {**STOPPING, "sysctls": sysctls}, ipv6, 5_000_000, False)
    header = 14 + (40 if ipv6 else 20) + 20 + (0 if "timestamps" in sysctls else 12)
    dsack = 0 if {"sack", "dsack"} & sysctls.keys() else 12
    rtt_ns = 2 * DELAY_NS - (-(header + 1) * 8 // 100) - (-(header + dsack) * 8 // 100)
    assert seen["right"]
    assert 50 <= seen["goes"] <= seen["stops"] <= seen["goes"] + 1
    assert seen["replies"] == 3 * seen["goes"]
    assert seen["sizes"] == [header + 1]
    if sysctls == {"dsack": 0}:
        # A reply that also acknowledges data, held back until then, is taken for nothing else; the next one is not.
        assert seen["replies"] <= seen["probes"] < 1.1 * seen["replies"]
        assert seen["rtts"][0][0] == rtt_ns and seen["rtts"][0][1] > 0.9 * seen["replies"]
        assert all(rtt == rtt_ns or rtt > 4 * rtt_ns for rtt, _ in seen["rtts"])
    elif "sack" in sysctls:
        # While the ACK of a last packet is held back no probe may leave; after 20 ms a packet does, and gets it.
        assert 0.95 * seen["replies"] < seen["probes"] <= seen["replies"]
        assert seen["rtts"][0] == [rtt_ns, seen["probes"]]
    else:
        assert seen["probes"] == seen["replies"]
        assert seen["rtts"] == [[rtt_ns, seen["replies"]]]
    assert seen["escaped"] == 0
    assert seen["tcp"] == NOTHING
    assert seen["rehash"] == 0


@pytest.mark.parametrize("sysctls", ({}, {"sack": 0}, {"dsack": 0}, {"timestamps": 0}), ids=("all", "no-sack", "no-dsack", "no-ts"))
def test_data_the_other_way_changes_nothing(run, sysctls):
    seen = run("in_lab_transfer", {**STOPPING, "sysctls": sysctls}, False, 5_000_000, True)
    assert seen["right"]
    assert seen["goes"] >= 50
    assert seen["replies"] == 3 * seen["goes"]
    # Without SACK packets ask now and then, while an ACK is held back.
    least = 0.95 if "sack" in sysctls else 1
    assert least * seen["replies"] <= seen["probes"] < 1.1 * seen["replies"]
    assert seen["rtts"][0][0] >= PROBE_RTT_NS - 2
    assert sum(n for rtt, n in seen["rtts"] if rtt <= 2 * PROBE_RTT_NS) > 0.9 * seen["replies"]
    assert seen["tcp"] == NOTHING
    assert seen["rehash"] == 0


@pytest.mark.parametrize("ipv6", (False, True), ids=("IPv4", "IPv6"))
def test_lost_probes_and_lost_data_are_recovered(run, ipv6):
    lossy = {"left": {"loss_ppm": 100_000}, "right": {"loss_ppm": 100_000, "seed": 7}}
    seen = run("in_lab_transfer", {**STOPPING, **lossy}, ipv6, 2_000_000, False)
    assert seen["right"]
    assert seen["goes"] >= 25
    assert seen["replies"] >= 3 * seen["goes"]
    # A fifth of the probes or of their replies is lost.
    assert 1.1 * seen["replies"] < seen["probes"] < 1.5 * seen["replies"]
    assert seen["sizes"] == [PROBE_BYTES + 20 * ipv6]
    # Timed from the first transmission: never too short.
    assert seen["rtts"][0][0] >= PROBE_RTT_NS - 2
    assert {name: seen["tcp"][name] for name in NO_UNDO} == NO_UNDO


def test_hundreds_of_stops_in_the_middle_of_loss(run):
    # Each stop comes with data in flight, of which some is lost.
    lossy = {"left": {"loss_ppm": 20_000}, "cwnd_milli": 40_000, "run_acks": 10, "probe_ns": 1, "probes": 2}
    seen = run("in_lab_transfer", lossy, False, 25_000_000, False)
    assert seen["right"]
    assert seen["goes"] >= 250
    assert seen["seconds"] < 2
    assert {name: seen["tcp"][name] for name in NO_UNDO} == NO_UNDO


def test_a_retransmission_that_asks_is_answered(run):
    # With an RTT of 30 ms data waits for 20 ms before any reply, so that packets ask; after a loss they are retransmissions.
    lossy = {"delay_ns": 15_000_000, "rate_bps": 10**9, "base_rtt_ns": 30_100_000, "left": {"loss_ppm": 100_000, "seed": 3},
             "cwnd_milli": 40_000, "run_acks": 10, "probe_ns": 1, "probes": 8}
    seen = run("in_lab_transfer", lossy, False, 1_000_000, False)
    assert seen["right"]
    # 12 stops with 8 questions each. 5.0 s if the ACK of a retransmission were no reply.
    assert seen["replies"] >= 8 * seen["goes"] >= 80
    assert seen["seconds"] < 4.5


def in_lab_first(probes, sysctls):
    net = Net(**{**STOPPING, "run_acks": 1000, "first_probes": probes, "sysctls": sysctls})
    client, server = net.open()
    time.sleep(0.001)
    early = len(probes_on_the_wire())
    right = move([Flow(client, server, 50_000)])
    sent = sorted((e for e in inlab.events() if e.port_id == 1 and e.payload_bytes), key=lambda e: e.arrival_ns)
    data = next(e for e in sent if e.payload_bytes > 1)
    last = [e for e in sent if e.payload_bytes == 1][-1]
    return {"right": right, "early": early, "data_after_ns": data.arrival_ns - last.arrival_ns, **report(net)}


@pytest.mark.parametrize("sysctls", ({}, {"sack": 0, "timestamps": 0}, {"dsack": 0}), ids=("all", "plain", "no-dsack"))
@pytest.mark.parametrize("probes", (1, 2, 9))
def test_a_flow_may_probe_before_it_has_sent_anything(run, probes, sysctls):
    seen = run("in_lab_first", probes, sysctls)
    assert seen["right"]
    assert seen["early"] == 0, "probed without data to send"
    assert seen["probes"] == seen["replies"] == probes
    assert PROBE_RTT_NS - 10 < seen["data_after_ns"] < PROBE_RTT_NS + 10, "data leaves with the reply"


def in_lab_nothing_to_send():
    net = Net(run_acks=5, probes=2, probe_ns=20000)
    client, server = net.open()
    right = move([Flow(client, server, 30_000)])  # 21 packets: it ends stopped
    time.sleep(0.01)
    stops, quiet = len(decisions(STOP)), len(probes_on_the_wire())
    time.sleep(3)
    idle = len(probes_on_the_wire()) - quiet
    begin = now_ns()
    right &= move([Flow(client, server, 1000, seed=3)])
    return {"right": right, "stops": stops, "goes": len(decisions(GO)), "idle": idle, "wait_ns": now_ns() - begin, **report(net)}


def test_nothing_is_probed_with_nothing_to_send(run):
    seen = run("in_lab_nothing_to_send")
    assert seen["right"]
    assert seen["stops"] == seen["goes"], "it was to be idle while stopped"
    assert seen["idle"] == 0
    # The first probe is long due, the second one comes 20 us after the reply.
    wait_ns = 2 * PROBE_RTT_NS + 20000 + DELAY_NS
    assert wait_ns < seen["wait_ns"] < wait_ns + 2000


def in_lab_thousand(flows, seconds):
    resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 16, 1 << 16))
    net = Net(log=False, rate_bps=10**10, run_acks=3, probes=5, probe_ns=500_000, cwnd_milli=4000, buffers=1 << 17)
    tracing(False)
    pairs = [Flow(*net.open(), 40_000, seed=i) for i in range(flows)]
    # A stop for all, which only their sysctl ends.
    net.set(release_ns=1)
    move(pairs, 0.05)
    before = sum(flow.done for flow in pairs)
    net.set(release_ns=0)
    return before, move(pairs, seconds), sum(flow.right for flow in pairs)


def test_a_thousand_stopped_flows_probe_and_go_on(run):
    from outside import LAB

    # The debug lab's memory is for a hundred.
    flows = 100 if "debug" in LAB.name else 1000
    before, right, done = run("in_lab_thousand", flows, 60, seconds=300)
    assert before == 0
    assert right and done == flows


def in_lab_gap(flows, gap_ns):
    """Stopped flows that would each probe about every 20 us; the times of all probes of 10 ms."""
    net = Net(probes=1_000_000, probe_ns=8000, run_acks=3, cwnd_milli=4000)
    with net.a:
        inlab.write(DCC + "probe_gap_ns", str(gap_ns))
    pairs = [Flow(*net.open(), 200_000, seed=i) for i in range(flows)]
    move(pairs, 0.002)
    inlab.clear_log()
    move(pairs, 0.01)
    wire = sorted(probes_on_the_wire(), key=lambda e: e.arrival_ns)
    times = [e.arrival_ns for e in wire]
    each = collections.Counter(e.sport for e in wire)
    return {"probes": len(times), "closest_ns": min(b - a for a, b in zip(times, times[1:])), "each": sorted(each.values())}


def test_the_probes_of_a_namespace_keep_their_distance(run):
    free = run("in_lab_gap", 10, 100)
    assert free["probes"] > 4500 and free["closest_ns"] < 1000
    held = run("in_lab_gap", 10, 5000)
    # Every turn is taken, and every flow has its part of them.
    assert held["closest_ns"] >= 5000
    assert 1900 < held["probes"] < 2010
    assert held["each"][0] > 0.9 * held["each"][-1] and len(held["each"]) == 10


def in_lab_fq(options, both_ways):
    net = Net(**options)
    with net.a:
        inlab.netlink(inlab.RTM_NEWQDISC, inlab.NLM_CREATE | inlab.NLM_REPLACE, inlab.tcmsg("a0", 0x20000) + inlab.attr(1, "fq"))
    client, server = net.open()
    flows = [Flow(client, server, 5_000_000)] + ([Flow(server, client, 5_000_000, seed=2)] if both_ways else [])
    right = move(flows)
    return {"right": right, "reverse_rtt_us": tcp_info(server, "rtt"), **report(net)}


@pytest.mark.parametrize("probe_ns", (20_000, 2_000_000))
@pytest.mark.parametrize("both_ways", (False, True), ids=("one-way", "both-ways"))
def test_fq_neither_opens_the_gate_nor_holds_acks_behind_it(run, probe_ns, both_ways):
    seen = run("in_lab_fq", {**STOPPING, "probe_ns": probe_ns}, both_ways)
    assert seen["right"]
    assert seen["goes"] >= 50
    assert seen["replies"] == 3 * seen["goes"]
    # Only one direction has a wire that takes time.
    assert seen["rtts"][0][0] == DELAY_NS + 7
    assert sum(n for rtt, n in seen["rtts"] if rtt <= 2 * DELAY_NS) > 0.9 * seen["replies"]
    assert seen["reverse_rtt_us"] < 100
    assert seen["tcp"] == NOTHING


def in_lab_accounting():
    """Loss first, and then probes, so that Linux would believe their D-SACKs."""
    net = Net(run_acks=1_000_000_000, probes=3, probe_ns=20000, left={"loss_ppm": 20_000})
    client, server = net.open()
    right = move([Flow(client, server, 10_000_000)])
    with net.a:
        inlab.port("a0", change=True, rate_bps=RATE_BPS, delay_ns=DELAY_NS, port_id=1, log_flags=3)
    time.sleep(0.1)  # the last ACK
    before = {name: tcp_info(client, name) for name in TCP_INFO}
    net.set(run_acks=20)
    right &= move([Flow(client, server, 500_000, seed=2)])
    time.sleep(0.1)
    after = {name: tcp_info(client, name) for name in TCP_INFO}
    return {"right": right, "before": before, "after": after, **report(net)}


def test_tcp_believes_no_d_sack_of_a_probe(run):
    seen = run("in_lab_accounting")
    before, after = seen["before"], seen["after"]
    assert seen["right"]
    assert seen["replies"] >= 15 and before["total_retrans"] >= before["dsack_dups"] + 15
    assert after["total_retrans"] == before["total_retrans"]
    # Nothing was delivered that TCP has not sent.
    assert after["delivered"] - before["delivered"] == after["data_segs_out"] - before["data_segs_out"]
    assert seen["tcp"]["TCPDSACKRecvSegs"] == before["dsack_dups"]
    assert after["reordering"] == before["reordering"] and after["reord_seen"] == before["reord_seen"]


# ---- what gets in the way ----


def held(net, size=1_000_000, **options):
    """A flow that is stopped with data to send, until release_ns is 0."""
    net.set(release_ns=1, **options)
    client, server = net.open()
    flow = Flow(client, server, size)
    assert not move([flow], 0.005)
    return flow


def deafen(server):
    """From now on this socket gets no segments of one byte."""
    # ld len; jeq #33 (20 + 12 + 1) -> drop; else take all
    program = struct.pack("=" + "HBBI" * 4, 0x80, 0, 0, 0, 0x15, 0, 1, 33, 6, 0, 0, 0, 6, 0, 0, 1 << 30)
    code = ctypes.create_string_buffer(program)
    server.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HxxxxxxP", 4, ctypes.addressof(code)))


def in_lab_deaf_peer():
    """The peer's socket does not get segments of one byte, so no probe is answered."""
    net = Net(**STOPPING)
    client, server = net.open()
    deafen(server)
    right = move([Flow(client, server, 500_000)])
    return {"right": right, **report(net)}


def test_where_probes_do_not_get_by_packets_ask_instead(run):
    seen = run("in_lab_deaf_peer")
    assert seen["right"]
    assert seen["goes"] >= 5
    assert seen["replies"] == 3 * seen["goes"]
    assert seen["probes"] >= 4 * seen["replies"]
    # A full packet and its ACK.
    assert all(2 * DELAY_NS + 120 < rtt < 2 * DELAY_NS + 5000 for rtt, _ in seen["rtts"])


def in_lab_deaf_and_lazy_peer(probes):
    """A flow that begins stopped, before TCP has ever paced it, and a peer that holds back the ACK of a lone packet."""
    net = Net(**{**STOPPING, "run_acks": 1000, "first_probes": probes})
    client, server = net.open()
    deafen(server)
    server.setsockopt(socket.IPPROTO_TCP, 12, 0)  # TCP_QUICKACK
    begin = now_ns()
    right = move([Flow(client, server, 60_000)])
    return {"right": right, "took_ns": now_ns() - begin, **report(net)}


def test_a_second_packet_gets_the_acknowledgment_that_a_peer_holds_back(run):
    probes = 10
    seen = run("in_lab_deaf_and_lazy_peer", probes)
    assert seen["right"] and seen["replies"] == probes
    # Four unanswered probes, a fifth timeout until the second packet, 31 times 150 us, and as long until the next probe.
    # The first one is longer.  The peer would wait 40 ms.
    assert seen["took_ns"] < probes * 10_000_000


def in_lab_defer_accept():
    """A server that becomes one with the first data: until then probes meet a mere request for a connection."""
    net = Net(**{**STOPPING, "first_probes": 3})
    with net.b:
        listener = socket.create_server(("10.0.0.2", 7000))
        listener.setsockopt(socket.IPPROTO_TCP, 9, 10)
    with net.a:
        client = socket.socket()
        use(client, "stopgo")
        client.connect(("10.0.0.2", 7000))
    begin = now_ns()
    data = bytes(1000)
    client.send(data)
    server, _ = listener.accept()
    took_ns = now_ns() - begin
    return server.recv(2000) == data, took_ns, len(probes_on_the_wire())


def test_a_server_that_waits_for_data_answers_too(run):
    right, took_ns, probes = run("in_lab_defer_accept")
    assert right
    assert probes == 3
    assert took_ns < 3 * (PROBE_RTT_NS + 20000) + DELAY_NS + 2000


def in_lab_cookie(first_probes):
    """A server that keeps nothing of a handshake, and the last ACK of it lost."""
    net = Net(**{**STOPPING, "first_probes": first_probes, "sysctls": {"syncookies": 2}})
    with net.b:
        listener = socket.create_server(("10.0.0.2", 7000))
    with net.a:
        client = socket.socket()
        use(client, "stopgo")
        client.setblocking(False)
        client.connect_ex(("10.0.0.2", 7000))
        # ARP there and back, then the SYN has left and its answer has not come.
        inlab.sleep_until(now_ns() + 20000)
        inlab.port("a0", change=True, rate_bps=RATE_BPS, delay_ns=DELAY_NS, port_id=1, log_flags=3, loss_ppm=1_000_000)
        time.sleep(0.001)
        inlab.port("a0", change=True, rate_bps=RATE_BPS, delay_ns=DELAY_NS, port_id=1, log_flags=3)
    data = bytes(1000)
    client.send(data)
    poll = select.epoll()
    poll.register(listener.fileno(), select.EPOLLIN)
    if not poll.poll(10):
        return client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    server, _ = listener.accept()
    return server.recv(2000) == data


@pytest.mark.parametrize("first_probes", (0, 2))
def test_a_probe_before_the_start_does_not_upset_syn_cookies(run, first_probes):
    assert run("in_lab_cookie", first_probes) is True


def in_lab_dead_peer():
    net = Net(**STOPPING)
    flow = held(net)
    flow.source.setsockopt(socket.IPPROTO_TCP, 18, 5000)  # TCP_USER_TIMEOUT
    with net.b:
        inlab.port("b0", change=True, rate_bps=RATE_BPS, delay_ns=DELAY_NS, loss_ppm=1_000_000)
    begin = now_ns()
    poll = select.epoll()
    poll.register(flow.source.fileno(), 0)
    events = poll.poll(60)
    error = flow.source.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    return {"events": events[0][1] if events else 0, "error": error, "seconds": (now_ns() - begin) / 1e9}


def test_a_stopped_flow_notices_that_its_peer_is_gone(run):
    seen = run("in_lab_dead_peer")
    assert seen["events"] & select.EPOLLERR
    assert seen["error"] == errno.ETIMEDOUT
    assert 4 < seen["seconds"] < 15


def in_lab_keepalive(stopped):
    """An idle connection, whose sender may stand still, and a peer that vanishes: seconds until an error, which, and probes meanwhile."""
    net = Net(run_acks=5 if stopped else 0, probes=1_000_000, probe_ns=20_000)
    net.set(release_ns=1)
    client, server = net.open()
    assert move([Flow(client, server, 30_000)])
    time.sleep(0.01)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 2)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    with net.b:
        inlab.port("b0", change=True, rate_bps=RATE_BPS, delay_ns=DELAY_NS, loss_ppm=1_000_000)
    begin = now_ns()
    poll = select.epoll()
    poll.register(client.fileno(), 0)
    events = poll.poll(60)
    return {"events": events[0][1] if events else 0, "error": client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR),
            "seconds": (now_ns() - begin) / 1e9}


@pytest.mark.parametrize("stopped", (False, True))
def test_keepalive_ends_an_idle_flow_whether_stopped_or_not(run, stopped):
    seen = run("in_lab_keepalive", stopped)
    assert seen["events"] & select.EPOLLERR
    assert seen["error"] == errno.ETIMEDOUT
    assert 4.5 < seen["seconds"] < 5.5


def in_lab_still(rate_bps, probe_ns):
    """A flow that no probe lets go on; what leaves of its data in a second, and the longest pause."""
    net = Net(rate_bps=rate_bps, run_acks=20, probes=1_000_000, probe_ns=probe_ns)
    net.set(release_ns=1)
    client, server = net.open()
    flow = Flow(client, server, 3_000_000)
    move([flow], 2 * 14480 * 8 * 20 / rate_bps)
    inlab.clear_log()
    before = flow.got
    move([flow], 1)
    times = sorted(e.arrival_ns for e in inlab.events() if e.port_id == 1 and e.payload_bytes > 1)
    return {"packets": len(times), "got": flow.got - before, "done": flow.done,
            "longest_ns": max(b - a for a, b in zip(times, times[1:])),
            "timeouts": counters(net.a, "TCPTimeouts")[0]}


@pytest.mark.parametrize("probe_ns", (20_000, 2_000_000_000), ids=("20 us", "2 s"))
@pytest.mark.parametrize("rate_bps,still_ns", ((RATE_BPS, 20_000_000), (10**7, 121_120_000)), ids=("fast", "slow"))
def test_data_that_waits_sends_a_packet_in_20_ms_and_at_most_a_hundredth_of_the_line(run, rate_bps, still_ns, probe_ns):
    seen = run("in_lab_still", rate_bps, probe_ns)
    assert not seen["done"]
    # A second packet where the peer holds back the ACK of the first.
    assert 0.9 * 10**9 / still_ns - 1 < seen["packets"] < 2 * 10**9 / still_ns + 2
    assert seen["longest_ns"] < still_ns + 1_000_000
    assert seen["got"] >= 1448 * (seen["packets"] - 2)
    assert seen["timeouts"] == 0


def in_lab_fin():
    """Stopped with nothing to send, then closed: when the peer sees the end."""
    net = Net(run_acks=5, probes=1_000_000, probe_ns=20_000)
    net.set(release_ns=1)
    client, server = net.open()
    right = move([Flow(client, server, 30_000)])  # 21 packets: it ends stopped
    time.sleep(0.01)
    probes = len(probes_on_the_wire())
    begin = now_ns()
    client.shutdown(socket.SHUT_WR)
    end = server.recv(1)
    return right, end == b"", now_ns() - begin, len(probes_on_the_wire()) - probes


def test_a_bare_fin_does_not_wait_behind_a_probe(run):
    right, end, took_ns, probes = run("in_lab_fin")
    assert right and end
    assert took_ns < DELAY_NS + 1000
    assert probes == 0


def takes_no_data(server):
    """From now on this socket gets nothing larger than a probe."""
    # ld len; jgt #40 -> drop; else take all
    program = struct.pack("=" + "HBBI" * 4, 0x80, 0, 0, 0, 0x25, 0, 1, 40, 6, 0, 0, 0, 6, 0, 0, 1 << 30)
    code = ctypes.create_string_buffer(program)
    server.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HxxxxxxP", 4, ctypes.addressof(code)))


def in_lab_limits(how):
    """A peer that answers every probe and takes no data: seconds until the connection ends, and its error."""
    net = Net(**STOPPING)
    flow = held(net)
    takes_no_data(flow.sink)
    with net.a:
        inlab.write("/proc/sys/net/ipv4/tcp_retries2", "3")
        inlab.write("/proc/sys/net/ipv4/tcp_orphan_retries", "2")
    if how == "user timeout":
        with net.a:
            inlab.write("/proc/sys/net/ipv4/tcp_retries2", "15")
        flow.source.setsockopt(socket.IPPROTO_TCP, 18, 3000)
    begin = now_ns()
    if how == "orphan":
        flow.source.close()
        for _ in range(600):
            with net.a:  # sockets without an owner are listed, too
                lines = inlab.read("/proc/thread-self/net/tcp").splitlines()[1:]
            if not lines:
                break
            time.sleep(0.1)
        return {"error": 0, "left": len(lines), "seconds": (now_ns() - begin) / 1e9}
    poll = select.epoll()
    poll.register(flow.source.fileno(), 0)
    poll.poll(60)
    return {"error": flow.source.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), "left": 0,
            "seconds": (now_ns() - begin) / 1e9}


@pytest.mark.parametrize("how", ("user timeout", "retries", "orphan"))
def test_tcps_limits_hold_for_a_stopped_flow_whose_probes_are_answered(run, how):
    seen = run("in_lab_limits", how)
    assert seen["error"] == (0 if how == "orphan" else errno.ETIMEDOUT)
    assert seen["left"] == 0
    assert seen["seconds"] < 10


def in_lab_orphans():
    """Twenty stopped flows that are closed with data unsent, and a peer that takes it: how many are left after ten seconds."""
    net = Net(log=False, **STOPPING)
    net.set(release_ns=1)
    flows = [Flow(*net.open(), 400_000, seed=i) for i in range(20)]
    move(flows, 0.005)
    for flow in flows:
        flow.source.close()
    got = []
    for flow in flows:
        size = flow.got
        while data := flow.sink.recv(1 << 20):
            size += len(data)
        got.append(size == flow.sent)
        flow.sink.close()
    time.sleep(1)
    with net.a:
        return sum(got), len([line for line in inlab.read("/proc/thread-self/net/tcp").splitlines()[1:] if line.split()[3] != "06"])


def test_flows_that_are_closed_while_stopped_send_their_rest_and_end(run):
    assert run("in_lab_orphans") == [20, 0]


def in_lab_window():
    """A receiver that does not read: the window closes while the flow is stopping and going."""
    net = Net(**STOPPING)
    net.port_number = 6000
    client, server = net.open()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    flow = Flow(client, server, 2_000_000)
    poll = select.epoll()
    poll.register(client.fileno(), select.EPOLLOUT)
    while poll.poll(0.05):
        flow.send()
    inlab.clear_log()
    time.sleep(2)
    closed = len(probes_on_the_wire())
    return {"closed": closed, "sent": flow.sent, "right": move([flow], 120)}


def test_a_closed_window_is_not_probed_and_opens_again(run):
    seen = run("in_lab_window")
    assert seen["sent"] < 2_000_000
    assert seen["closed"] == 0
    assert seen["right"]


def in_lab_tail():
    """All that was in flight at the stop is lost, and the flow stays stopped."""
    net = Net(run_acks=40, probes=1, probe_ns=1_000_000)
    net.set(release_ns=1)
    client, server = net.open()
    flow = Flow(client, server, 10_000_000)
    # The stop comes with the 40th ACK; the packets that its window then has in flight are dropped here.
    with net.a:
        inlab.port("a0", change=True, rate_bps=RATE_BPS, delay_ns=DELAY_NS, port_id=1, log_flags=3, loss_ppm=300_000, seed=4)
    assert not move([flow], 0.01)
    with net.a:
        inlab.port("a0", change=True, rate_bps=RATE_BPS, delay_ns=DELAY_NS, port_id=1, log_flags=3)
    before = flow.got
    move([flow], 20)
    unacked = tcp_info(client, "unacked")
    stuck = flow.got
    net.set(release_ns=0)
    return {"before": before, "stopped": stuck, "unacked": unacked, "right": move([flow], 20)}


def test_what_was_lost_at_the_stop_arrives_while_the_flow_stays_stopped(run):
    seen = run("in_lab_tail")
    assert seen["before"] < seen["stopped"] < 10_000_000
    assert seen["unacked"] <= 2
    assert seen["right"]


def in_lab_offload():
    net = Net(offload=True, **{**STOPPING, "cwnd_milli": 200_000})
    for ns, name in ((net.a, "a0"), (net.b, "b0")):
        with ns, socket.socket() as sock:
            for feature in (0x1F, 0x24, 0x2C):  # TSO, GSO, GRO
                value = ctypes.create_string_buffer(struct.pack("=II", feature, 1))
                fcntl.ioctl(sock, 0x8946, struct.pack("16sP", name.encode(), ctypes.addressof(value)).ljust(40, b"\0"))
            inlab.write(DCC + "max_tso_segs", "0")
    client, server = net.open()
    flows = [Flow(client, server, 20_000_000), Flow(server, client, 5_000_000, seed=2)]
    right = move(flows)
    return {"right": right, **report(net)}


def test_segmentation_offload_and_gro(run):
    seen = run("in_lab_offload")
    assert seen["right"]
    assert seen["goes"] >= 20
    assert seen["replies"] == 3 * seen["goes"]
    assert seen["sizes"] == [PROBE_BYTES]
    assert seen["probes"] < 1.1 * seen["replies"]


def in_lab_priority():
    net = Net(**STOPPING)
    client, server = net.open()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 3)
    right = move([Flow(client, server, 300_000)])
    client.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 5)
    right &= move([Flow(client, server, 300_000, seed=2)])
    net.set(probes=1)
    right &= move([Flow(client, server, 300_000, seed=3)])
    return right, [d["flows"] for d in decisions()]


def test_a_core_follows_its_sockets_priority(run):
    right, priorities = run("in_lab_priority")
    assert right
    assert set(priorities) == {3, 5} and priorities == sorted(priorities)


# ---- ends of all kinds ----


def in_lab_switch(other):
    """Stopped for good, then another algorithm, which goes on at once."""
    net = Net(**STOPPING)
    flow = held(net)
    probes = len(probes_on_the_wire())
    use(flow.source, other)
    begin = now_ns()
    right = move([flow], 10)
    seconds = (now_ns() - begin) / 1e9
    flow.source.close()
    flow.sink.close()
    unload()
    return right, seconds, probes


@pytest.mark.parametrize("other", ("cubic", "bbr", "reno"))
def test_another_algorithm_goes_on_at_once(run, other):
    right, seconds, probes = run("in_lab_switch", other)
    assert right and probes > 10
    assert seconds < 0.02


def in_lab_close(how):
    net = Net(**STOPPING)
    flow = held(net)
    if how == "shutdown":
        flow.source.shutdown(socket.SHUT_WR)
    elif how == "reset":
        flow.source.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        flow.source.close()
    elif how == "peer resets":
        flow.sink.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        flow.sink.close()
        time.sleep(0.01)
        return flow.source.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) in (errno.EPIPE, errno.ECONNRESET)
    elif how == "disconnect":
        # A socket that is disconnected and used again has no gate left.
        client = flow.source
        inlab.check(inlab.libc.connect(client.fileno(), bytes(16), 16), "disconnect")
        net.set(release_ns=0, run_acks=1_000_000_000)
        with net.b:
            listener = socket.create_server(("10.0.0.2", 7000))
        with net.a:
            client.connect(("10.0.0.2", 7000))
        server, _ = listener.accept()
        begin = now_ns()
        return move([Flow(client, server, 1_000_000)], 5) and now_ns() - begin < 20_000_000
    else:
        flow.source.close()
    if how != "reset":
        # Sent as before the close, once it may go on, with the FIN behind.
        time.sleep(1)
        net.set(release_ns=0)
        size = 0
        while True:
            data = flow.sink.recv(1 << 20)
            if not data:
                break
            size += len(data)
        whole = flow.got + size == flow.sent
        flow.sink.close()
        if how == "shutdown":
            flow.source.close()
        time.sleep(5)
        unload()
        return whole
    flow.sink.close()
    time.sleep(1)
    unload()
    return True


@pytest.mark.parametrize("how", ("close", "shutdown", "reset", "peer resets", "disconnect"))
def test_a_stopped_flow_ends_like_any_other(run, how):
    assert run("in_lab_close", how)


def in_lab_stress(rounds, seed):
    """Stopped flows that are switched, closed, reset, and lose their namespaces; no flow that is left may stall."""
    generator = random.Random(seed)
    right = stalled = 0
    stopped = 0
    net = None
    for i in range(rounds):
        if i % 10 == 0:
            if net:
                os.close(net.a.fd)
                os.close(net.b.fd)
                unload()
                inlab.libc.umount2(b"/sys/kernel/tracing", 2)
            net = Net(log=False, rate_bps=10**10, delay_ns=10_000, left={"loss_ppm": 2000 * (i % 3)}, **STOPPING)
            tracing(i % 20 == 0)
        net.set(run_acks=generator.choice((1, 5, 50)), probe_ns=generator.choice((1, 10_000, 500_000)),
                first_probes=generator.choice((0, 1, 4)), cwnd_milli=generator.choice((300, 2000, 50_000)),
                probes=generator.choice((1, 3)), release_ns=0)
        flows = [Flow(*net.open(generator.choice((socket.AF_INET, socket.AF_INET6))), 100_000, seed=i) for _ in range(8)]
        if i % 2:
            net.set(release_ns=1)
        move(flows, 0.002)
        stopped += sum(not flow.done for flow in flows)
        for flow in flows[:5]:
            kind = generator.randrange(4)
            if kind == 0:
                use(flow.source, generator.choice(("cubic", "bbr", "stopgo")))
            elif kind == 1:
                flow.source.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif kind == 2:
                flow.sink.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                flow.sink.close()
            if kind:
                flow.source.close()
                flow.sink.close()
        if i % 10 == 9:
            # Closed while they are stopped, and their namespaces go; sockets without an owner keep them for a while.
            for flow in flows:
                flow.source.close()
                flow.sink.close()
            continue
        net.set(release_ns=0)
        alive = [flow for flow in flows if flow.source.fileno() >= 0]
        move(alive, 30)
        right += sum(flow.right for flow in alive)
        stalled += sum(not flow.right for flow in alive)
        for flow in flows:
            flow.source.close()
            flow.sink.close()
    return {"right": right, "stalled": stalled, "stopped": stopped}


def test_switches_closes_resets_and_namespaces_that_end_while_stopped(run):
    seen = run("in_lab_stress", 60, 5, seconds=900)
    assert seen["stalled"] == 0
    assert seen["right"] > 150 and seen["stopped"] > 150
