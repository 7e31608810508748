# SPDX-License-Identifier: Apache-2.0
"""The receiver's count of flows: right, only where it belongs, believed only when it may be true.

counted/tcp_counted.c is a test's algorithm: reno that asks for the count and shows it by the tracepoint.
"""

import collections
import ctypes
import fcntl
import os
import pathlib
import random
import select
import socket
import struct
import time

import inlab
import pytest
from modules import DCC, FILES, mount_tracing, remove, traced, tracing, use

pytestmark = pytest.mark.ci

HERE = pathlib.Path(__file__).resolve().parent
RATE_BPS = 10**10
ACTIVE_US = 10000
EXID = b"\xfe\x08\xdc\xc0"
FIN, SYN, RST, PSH, ACK = (1 << i for i in range(5))
PACKET_OUTGOING = 4

if os.getpid() == 1:
    FILES["tcp_counted"] = pathlib.Path(os.environ["COUNTED_MODULE"]).read_bytes()


# ---- outside the lab ----


@pytest.fixture(scope="module", name="counted")
def fixture_counted():
    """Builds tcp_counted.ko for the lab's kernel, as the modules in build/modules are."""
    from outside import build_module

    return build_module("tcp_counted", HERE / "counted")


@pytest.fixture(name="run")
def fixture_run(lab, counted):
    from outside import LAB

    def run(function, *args, **options):
        return lab(function, *args, mem="1G", options=(f"MODULES_DIR={LAB.resolve()}", f"COUNTED_MODULE={counted}"),
                   **options)

    return run


# ---- inside ----


def load():
    for name in ("delaycc", "delaycc_count", "tcp_counted"):
        image = FILES[name]
        inlab.check(inlab.libc.syscall(175, image, ctypes.c_ulong(len(image)), b""), f"init_module {name}")


def unload(name, seconds=20):
    """Removes a module as soon as nothing needs it."""
    for _ in range(seconds * 10):
        if not remove(name):
            return
        time.sleep(0.1)
    raise AssertionError(f"{name} is still in use")


RX_CSUM, TX_CSUM, TSO, GSO, GRO = 0x15, 0x17, 0x1F, 0x24, 0x2C


def offload(name, **features):
    with socket.socket() as sock:
        for feature, on in features.items():
            value = ctypes.create_string_buffer(struct.pack("=II", globals()[feature], int(on)))
            request = struct.pack("16sP", name.encode(), ctypes.addressof(value))
            fcntl.ioctl(sock, 0x8946, request.ljust(40, b"\0"))


def gather_for(name, ns):
    """GRO on, which waits so long for more: with infinite CPU one packet is dealt with before the next comes."""
    # veth has GRO for packets from a device without TSO, as inlab.veth() makes it.
    offload(name, GRO=True)
    where = f"/run/sys-{name}"
    os.mkdir(where)
    inlab.mount("sysfs", where)
    inlab.write(f"{where}/class/net/{name}/napi_defer_hard_irqs", "1")
    inlab.write(f"{where}/class/net/{name}/gro_flush_timeout", str(ns))


class Segment:
    """A captured TCP segment."""

    def __init__(self, data, outgoing):
        self.outgoing = outgoing
        self.ip = data[14:]
        self.v6 = data[12:14] == b"\x86\xdd"
        self.tcp = self.ip[40:] if self.v6 else self.ip[(self.ip[0] & 15) * 4 : struct.unpack_from("!H", self.ip, 2)[0]]
        self.sport, self.dport, self.seq, self.ack = struct.unpack_from("!HHII", self.tcp)
        self.flags = self.tcp[13] & 0x3F
        size = (self.tcp[12] >> 4) * 4
        self.options = self.tcp[20:size]
        self.payload = len(self.tcp) - size

    def each_option(self):
        at = 0
        while at < len(self.options) and self.options[at]:
            if self.options[at] == 1:
                at += 1
                continue
            size = self.options[at + 1]
            assert 2 <= size <= len(self.options) - at, self.options.hex()
            yield self.options[at : at + size]
            at += size

    @property
    def flows(self):
        """N; None: no such option."""
        found = [option for option in self.each_option() if option.startswith(EXID)]
        assert len(found) <= 1 and all(len(option) == 8 and option[4] == 0 for option in found), self.options.hex()
        return int.from_bytes(found[0][5:], "big") if found else None

    @property
    def sack_blocks(self):
        return sum((len(option) - 2) // 8 for option in self.each_option() if option[0] == 5)

    def checksums_are_right(self):
        if self.v6:
            pseudo = self.ip[8:40] + struct.pack("!II", len(self.tcp), 6)
            assert struct.unpack_from("!H", self.ip, 4)[0] == len(self.tcp)
        else:
            assert inlab.checksum(self.ip[:20]) == 0
            pseudo = self.ip[12:20] + struct.pack("!HH", 6, len(self.tcp))
        return inlab.checksum(pseudo + self.tcp + bytes(len(self.tcp) % 2)) == 0


class Capture:
    """All TCP segments of a device, both ways."""

    def __init__(self, ns, name):
        with ns:
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            self.sock.bind((name, 3))
            self.sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 28)  # SO_RCVBUFFORCE
            self.sock.setblocking(False)

    def take(self):
        segments = []
        while True:
            try:
                data, address = self.sock.recvfrom(70000)
            except BlockingIOError:
                return segments
            protocol = data[20] if data[12:14] == b"\x86\xdd" else data[23] if data[12:14] == b"\x08\x00" else 0
            if protocol == 6:
                segments.append(Segment(data, address[2] == PACKET_OUTGOING))


class Net:
    """Senders in a, a receiver in b, a link of 10 Gbit/s; flows of `counted` that send while run() is on."""

    BLOCK = bytes(1 << 15)

    def __init__(self, flows=0, count=1, family=socket.AF_INET, **link):
        load()
        mount_tracing()
        link = {"rate_bps": RATE_BPS, "delay_ns": 10000, **link}
        self.a, self.b = inlab.pair(left=link, right={**link, "loss_ppm": 0})
        self.family = family
        self.set_count(count)
        self.poll = select.epoll()
        self.ends, self.receivers = {}, {}
        self.flows = []
        self.port = 6000
        for _ in range(flows):
            self.open()

    def set_count(self, value, name="count_flows"):
        with self.b:
            inlab.write(DCC + name, str(value))

    def open(self, algorithm="counted", address=None, receiver=None, server_side=None):
        address = address or ("10.0.0.2" if self.family == socket.AF_INET else "fd00::2")
        self.port += 1
        with receiver or self.b:
            listener = socket.socket(self.family)
            if server_side:
                use(listener, server_side)
            listener.bind((address, self.port))
            listener.listen(1)
        with self.a:
            client = socket.socket(self.family)
            # Windows that a shallow link can hold: 100 flows are 3 ms of queue.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 15)
            use(client, algorithm)
            client.connect((address, self.port))
        server, _ = listener.accept()
        listener.close()
        self.ends[client.fileno()], self.ends[server.fileno()] = client, server
        self.receivers[server.fileno()] = 0
        self.poll.register(client.fileno(), select.EPOLLOUT)
        self.poll.register(server.fileno(), select.EPOLLIN)
        self.flows.append((client, server))
        return client, server

    def pause(self, flow):
        self.poll.modify(flow[0].fileno(), 0)

    def close(self, flow, reset=False):
        self.flows.remove(flow)
        for end in flow:
            self.poll.unregister(end.fileno())
            del self.ends[end.fileno()]
            self.receivers.pop(end.fileno(), None)
        if reset:
            flow[0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        for end in flow:
            end.close()

    def run(self, seconds):
        """Data flows for so long; returns the bytes received."""
        end = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + int(seconds * 1e9)
        before = sum(self.receivers.values())
        while True:
            left = end - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            if left <= 0:
                return sum(self.receivers.values()) - before
            for fd, _ in self.poll.poll(left / 1e9):
                if fd in self.receivers:
                    self.receivers[fd] += self.ends[fd].recv_into(inlab.SINK, 1 << 18, socket.MSG_TRUNC | socket.MSG_DONTWAIT)
                else:
                    self.ends[fd].send(self.BLOCK, socket.MSG_DONTWAIT)

    def reported(self, seconds):
        """sport -> the counts that its ACKs brought while data flowed for so long."""
        inlab.write("/sys/kernel/tracing/trace", "")
        tracing(True)
        self.run(seconds)
        tracing(False)
        counts = {}
        for event in traced():
            counts.setdefault(int(event["sport"]), []).append(int(event["flows"]))
        return counts

    def stats(self, ns=None):
        with ns or self.b:
            return {name: int(value) for name, value in map(str.split, inlab.read("/proc/net/delaycc_count").splitlines())}


def values(counts):
    return sorted({n for flow in counts.values() for n in flow})


def in_lab_exact(flows, family):
    net = Net(flows, family=family)
    net.run(0.02)
    counts = net.reported(0.02)
    return {"flows": len(counts), "values": values(counts), "receiver": net.stats()["flows"], "sender": net.stats(net.a)}


@pytest.mark.parametrize("flows,family", [(1, 2), (2, 2), (10, 2), (100, 2), (10, 10)])
def test_every_sender_gets_the_number_of_flows(run, flows, family):
    seen = run("in_lab_exact", flows, family)
    assert seen["flows"] == flows
    assert seen["values"] == [flows]
    assert seen["receiver"] == flows
    # Who sends data does not count it.
    assert seen["sender"]["flows"] == 0 and seen["sender"]["written"] == 0


def in_lab_mapped():
    """IPv4 between sockets of IPv6, which is what many servers have."""
    net = Net(family=socket.AF_INET6)
    for _ in range(3):
        with net.b:
            listener = socket.create_server(("::", net.port + 1), family=socket.AF_INET6, dualstack_ipv6=True)
        listener.close()
        net.open(address="::ffff:10.0.0.2")
    net.run(0.005)
    return values(net.reported(0.005))


def test_sockets_of_ipv6_that_carry_ipv4_are_served(run):
    assert run("in_lab_mapped") == [3]


def in_lab_extension_headers():
    """A destination options header on every packet, both ways."""
    net = Net(family=socket.AF_INET6)
    capture = Capture(net.a, "a0")
    for _ in range(2):
        for end in net.open():
            end.setsockopt(socket.IPPROTO_IPV6, 59, b"\0\0\1\4" + bytes(4))  # IPV6_DSTOPTS: padding
    net.run(0.005)
    counts = net.reported(0.005)
    return {"values": values(counts), "received": net.run(0.01), "tcp": len(capture.take()), "refused": net.stats(net.a)["refused"]}


def test_extension_headers_of_ipv6_are_skipped(run):
    seen = run("in_lab_extension_headers")
    assert seen["values"] == [2] and seen["refused"] == 0
    assert seen["received"] > 1_000_000
    # The handshakes alone: this capture knows TCP only directly behind IPv6.
    assert seen["tcp"] < 10


def in_lab_idle():
    net = Net(10)
    net.run(0.02)
    for flow in net.flows[:7]:
        net.pause(flow)
    begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    # Until the buffers are empty.
    while any(struct.unpack("=i", fcntl.ioctl(client, 0x5411, bytes(4)))[0] for client, _ in net.flows[:7]):
        net.run(0.00005)
    emptied_us = (time.clock_gettime_ns(time.CLOCK_MONOTONIC) - begin) / 1000
    fell = {}
    while min(fell, default=10) > 3:
        n = values(net.reported(0.0001))[-1]
        fell.setdefault(n, (time.clock_gettime_ns(time.CLOCK_MONOTONIC) - begin) / 1000)
    for flow in net.flows[:7]:
        net.poll.modify(flow[0].fileno(), select.EPOLLOUT)
    net.run(0.0005)
    return {"emptied_us": emptied_us, "fell_us": fell[min(fell)], "least": min(fell), "back": values(net.reported(0.0005))}


def test_flows_that_fall_idle_are_forgotten_in_time(run):
    seen = run("in_lab_idle")
    assert seen["least"] == 3
    assert ACTIVE_US <= seen["fell_us"] <= seen["emptied_us"] + ACTIVE_US * 9 / 8 + 200
    assert seen["back"] == [10]


def in_lab_close(reset):
    net = Net(10)
    net.run(0.02)
    # Nobody's data is on its way when a FIN says that no more will come.
    for flow in net.flows[:4]:
        net.pause(flow)
    net.run(0.003)
    before = net.stats()["flows"]
    for flow in net.flows[:4]:
        net.close(flow, reset)
    net.run(0.001)
    soon = values(net.reported(0.001))
    net.run(ACTIVE_US * 9 / 8 / 1e6)
    return before, soon, values(net.reported(0.001))


def test_a_closed_flow_is_forgotten_at_once(run):
    assert run("in_lab_close", False) == [10, [6], [6]]


def test_a_flow_that_was_reset_is_forgotten_in_time(run):
    assert run("in_lab_close", True) == [10, [10], [6]]


def in_lab_namespaces():
    net = Net(3)
    c = inlab.Netns()
    with net.a:
        inlab.veth("a1", "c0", c)
        inlab.up("a1", "10.0.1.1/24")
        inlab.port("a1", rate_bps=RATE_BPS, delay_ns=10000)
    with c:
        inlab.up("lo")
        inlab.up("c0", "10.0.1.2/24")
        inlab.port("c0", rate_bps=RATE_BPS, delay_ns=10000)
        inlab.write(DCC + "count_flows", "1")
    others = [net.open(address="10.0.1.2", receiver=c) for _ in range(5)]
    net.run(0.01)
    counts = net.reported(0.005)
    ports = {client.getsockname()[1] for client, _ in others}
    return (values({port: n for port, n in counts.items() if port in ports}),
            values({port: n for port, n in counts.items() if port not in ports}))


def test_each_namespace_has_a_count_of_its_own(run):
    assert run("in_lab_namespaces") == [[5], [3]]


def in_lab_where(cookies, checksums):
    """Every kind of segment, and data in both directions."""
    net = Net(0)
    with net.b:
        inlab.write("/proc/sys/net/ipv4/tcp_syncookies", str(cookies))
    for ns, name in ((net.a, "a0"), (net.b, "b0")):
        with ns:
            if checksums:
                offload(name, RX_CSUM=False, TX_CSUM=False)
            else:
                gather_for(name, 10000)
    capture = Capture(net.a, "a0")
    # Behind GRO, where that is on.
    arrived = Capture(net.b, "b0")
    for family, address in ((socket.AF_INET, "10.0.0.2"), (socket.AF_INET6, "fd00::2")):
        net.family = family
        for _ in range(3):
            net.open(address=address)
    received = net.run(0.01)
    for _, server in net.flows:
        server.send(bytes(100000))
    for client, _ in net.flows:
        net.poll.modify(client.fileno(), select.EPOLLIN)
        net.receivers[client.fileno()] = 0
    received += net.run(0.01)
    net.close(net.flows[0], reset=True)
    for flow in list(net.flows):
        net.close(flow)
    time.sleep(0.1)
    kinds = collections.Counter()
    wrong = []
    for segment in capture.take():
        pure = segment.flags == ACK and segment.payload == 0
        if segment.flows is not None and not pure:
            wrong.append(segment.tcp[:60].hex())
        if checksums and not segment.checksums_are_right():
            wrong.append("checksum " + segment.ip[:100].hex())
        kind = next((name for name, flag in (("syn", SYN), ("rst", RST), ("fin", FIN)) if segment.flags & flag),
                    "ack" if pure else "data")
        kinds[f"{kind}{' reported' if segment.flows is not None else ''}"] += 1
        kinds["v6 reported"] += segment.v6 and segment.flows is not None
    with net.b:
        names, counters = inlab.read("/proc/net/netstat").splitlines()[:2]
    kinds["cookies"] = int(dict(zip(names.split(), counters.split()))["SyncookiesRecv"])
    kinds["super-packet"] = sum(segment.payload > 1500 for segment in arrived.take())
    return {"kinds": kinds, "wrong": wrong[:5], "received": received, "stats": net.stats()}


@pytest.mark.parametrize("cookies", [0, 2])
@pytest.mark.parametrize("checksums", [False, True])
def test_only_pure_acks_carry_the_option(run, cookies, checksums):
    """checksums: in software, so that they can be looked at; else GRO is on."""
    seen = run("in_lab_where", cookies, checksums)
    assert seen["wrong"] == []
    kinds = seen["kinds"]
    assert kinds["ack reported"] > 50 and kinds["v6 reported"] > 20
    for kind in ("syn", "data", "rst", "fin"):
        assert kinds[kind] > 0, kind
    assert (kinds["super-packet"] > 0) == (not checksums)
    assert kinds["cookies"] == (6 if cookies else 0)
    assert seen["received"] > 1_000_000
    assert seen["stats"]["written"] >= kinds["ack reported"]


def in_lab_full(timestamps):
    net = Net(0, loss_ppm=100000, seed=3)
    for ns in (net.a, net.b):
        with ns:
            inlab.write("/proc/sys/net/ipv4/tcp_timestamps", str(timestamps))
    with net.b:
        offload("b0", TX_CSUM=False)
    with net.a:
        inlab.gso_max_segs("a0", 1)
    capture = Capture(net.a, "a0")
    for _ in range(4):
        client, _ = net.open()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 19)
    received = 0
    # Timeouts are long.
    for _ in range(30):
        received += net.run(0.1)
    by_blocks = collections.Counter()
    for segment in capture.take():
        if segment.outgoing or segment.flags != ACK:
            continue
        assert segment.checksums_are_right()
        by_blocks[f"{segment.sack_blocks} {'reported' if segment.flows is not None else 'not'}"] += 1
    return {"blocks": by_blocks, "received": received, "stats": net.stats()}


@pytest.mark.parametrize("timestamps,most", [(1, 3), (0, 4)])
def test_it_is_left_out_when_sack_blocks_fill_the_header(run, timestamps, most):
    seen = run("in_lab_full", timestamps)
    blocks = seen["blocks"]
    assert blocks.get(f"{most} reported", 0) == 0 and blocks[f"{most} not"] > 0, blocks
    for n in range(most):
        assert blocks[f"{n} reported"] > 0, blocks
    assert seen["stats"]["no_room"] >= blocks[f"{most} not"]
    assert seen["received"] > 300_000


def in_lab_off(count, wants):
    """Without the receiver's consent, or without a sender that wants it."""
    net = Net(0, count=count)
    for _ in range(4):
        net.open("counted" if wants else "cubic")
    capture = Capture(net.a, "a0")
    received = net.run(0.01)
    counts = net.reported(0.01) if wants else {}
    reported = sum(segment.flows is not None for segment in capture.take())
    return {"reported": reported, "received": received, "values": values(counts), "a": net.stats(net.a), "b": net.stats()}


def test_nothing_is_written_by_default(run):
    seen = run("in_lab_off", 0, True)
    assert seen["reported"] == 0 and seen["values"] == [0]
    assert seen["b"] == {"flows": 0, "written": 0, "no_room": 0, "read": 0, "refused": 0}
    assert seen["received"] > 1_000_000


def test_a_peer_that_does_not_want_it_goes_on_as_before(run):
    seen = run("in_lab_off", 1, False)
    assert seen["reported"] > 100
    assert seen["a"]["read"] == 0
    without = run("in_lab_off", 0, False)
    # Eight bytes more on ACKs that have a link of their own.
    assert abs(seen["received"] - without["received"]) < 0.01 * without["received"]


def in_lab_alike():
    """2: only sockets that run such an algorithm themselves tell; all flows count."""
    net = Net(0, count=2)
    alike = [net.open(server_side="counted")[0].getsockname()[1] for _ in range(2)]
    others = [net.open(server_side="cubic")[0].getsockname()[1] for _ in range(3)]
    net.run(0.02)
    counts = net.reported(0.01)
    return values({port: counts[port] for port in alike}), values({port: counts[port] for port in others})


def test_with_2_only_sockets_of_such_an_algorithm_tell(run):
    assert run("in_lab_alike") == [[5], [0]]


def in_lab_silence():
    net = Net(3)
    net.run(0.02)
    before = values(net.reported(0.002))
    net.set_count(0)
    begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    fell_us = None
    while fell_us is None:
        if values(net.reported(0.0002)) == [0]:
            fell_us = (time.clock_gettime_ns(time.CLOCK_MONOTONIC) - begin) / 1000
    net.set_count(1)
    net.run(0.001)
    return before, fell_us, values(net.reported(0.001))


def test_a_count_that_no_longer_comes_is_forgotten(run):
    """Such as when a middlebox begins to strip the option."""
    before, fell_us, after = run("in_lab_silence")
    assert before == [3] and after == [3]
    assert 19_000 < fell_us < 22_000


def in_lab_switch():
    """The hooks come and go with the sockets that want them; other algorithms move in and out."""
    net = Net(2)
    net.run(0.01)
    seen = [net.stats(net.a)["read"] > 0]
    for client, _ in net.flows:
        use(client, "cubic")
    read = net.stats(net.a)["read"]
    net.run(0.01)
    seen.append(net.stats(net.a)["read"] - read)
    time.sleep(15)  # the hooks have gone
    net.run(0.01)
    for client, _ in net.flows:
        use(client, "counted")
    net.run(0.002)
    seen.append(values(net.reported(0.002)))
    for i in range(200):
        use(net.flows[0][0], ("cubic", "counted", "reno", "counted")[i % 4])
        net.run(0.0002)
    seen.append(values(net.reported(0.002)))
    return seen


def test_live_sockets_may_change_their_algorithm(run):
    assert run("in_lab_switch") == [True, 0, [2], [2]]


# ---- forgery ----


class Forger:
    """Puts raw segments on a0's side of the wire, towards a."""

    def __init__(self, net):
        with net.b:
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self.sock.bind(("b0", 0))
            mine = self.sock.getsockname()[4]
        with net.a, socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as other:
            other.bind(("a0", 0))
            self.ethernet = other.getsockname()[4] + mine + b"\x08\x00"

    def send(self, sport, dport, seq, ack, options, flags=ACK, payload=b"", spoil=0, source="10.0.0.2", target="10.0.0.1"):
        tcp = struct.pack("!HHIIBBHHH", sport, dport, seq % 2**32, ack % 2**32, (20 + len(options)) // 4 << 4, flags, 1000, 0, 0)
        tcp += options + payload
        addresses = socket.inet_aton(source) + socket.inet_aton(target)
        total = inlab.checksum(addresses + struct.pack("!HH", 6, len(tcp)) + tcp + bytes(len(tcp) % 2)) ^ spoil
        tcp = tcp[:16] + struct.pack("!H", total) + tcp[18:]
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0) + addresses
        ip = ip[:10] + struct.pack("!H", inlab.checksum(ip)) + ip[12:]
        self.sock.send(self.ethernet + ip + tcp)


def option(flows):
    return EXID + bytes([0]) + flows.to_bytes(3, "big")


def in_lab_forged():
    net = Net(1, count=0)
    client, server = net.flows[0]
    capture = Capture(net.a, "a0")
    net.run(0.005)
    net.pause(net.flows[0])
    net.run(0.1)
    last = [segment for segment in capture.take() if not segment.outgoing][-1]
    forger = Forger(net)
    here, there = client.getsockname()[1], client.getpeername()[1]

    def reported(options, seq=last.seq, ack=last.ack, **how):
        """What the sender believes after a forged ACK and the true one of a new byte."""
        before = net.stats(net.a)
        forger.send(there, here, seq, ack, options, **how)
        time.sleep(0.001)
        after = net.stats(net.a)
        inlab.write("/sys/kernel/tracing/trace", "")
        tracing(True)
        client.send(b"x")
        time.sleep(0.001)
        server.recv(1)
        server.setsockopt(socket.IPPROTO_TCP, 12, 1)  # TCP_QUICKACK: sends what is held back
        time.sleep(0.001)
        tracing(False)
        last.ack += 1
        return int(traced()[-1]["flows"]), after["read"] - before["read"], after["refused"] - before["refused"]

    out = {}
    out["nothing"] = reported(b"")
    out["zero"] = reported(option(0), ack=last.ack)
    out["one"] = reported(option(1), ack=last.ack)
    out["65535"] = reported(option(65535), ack=last.ack)
    out["largest"] = reported(option(2**24 - 1), ack=last.ack)
    time.sleep(0.1)
    out["stale"] = reported(b"", ack=last.ack)
    out["old ack"] = reported(option(7), ack=last.ack - 1)
    out["future ack"] = reported(option(7), ack=last.ack + 2**20)
    out["far ack"] = reported(option(7), ack=last.ack + 2**31)
    out["old seq"] = reported(option(7), seq=last.seq - 2**20, ack=last.ack)
    out["far seq"] = reported(option(7), seq=last.seq + 2**30, ack=last.ack)
    out["checksum"] = reported(option(7), ack=last.ack, spoil=1)
    out["with data"] = reported(option(7), seq=last.seq - 1, ack=last.ack, payload=b"a")
    out["malformed"] = reported(option(7) + b"\x08\x02\x03\x00", ack=last.ack)
    out["cut"] = reported(option(7)[:4], ack=last.ack)
    out["twice"] = reported(option(7) + option(8), ack=last.ack)
    out["another port"] = reported(option(7), ack=last.ack)
    return out


def test_a_forged_count_needs_what_a_forged_ack_needs(run):
    seen = {name: tuple(value) for name, value in run("in_lab_forged").items()}
    assert seen["nothing"] == (0, 0, 0)
    assert seen["zero"] == (0, 0, 0)
    assert seen["one"] == (1, 1, 0)
    assert seen["65535"] == (65535, 1, 0)
    assert seen["largest"] == (2**24 - 1, 1, 0)
    assert seen["stale"] == (0, 0, 0)
    for name in ("old ack", "future ack", "far ack", "old seq", "far seq", "checksum"):
        assert seen[name] == (0, 0, 1), name
    for name in ("with data", "malformed", "cut", "twice"):
        assert seen[name] == (0, 0, 0), name


def in_lab_flood(packets):
    """Data of connections that do not exist, and of one whose window it misses."""
    net = Net(2)
    net.run(0.01)
    free = memory_kb()
    client, server = net.open()
    net.pause(net.flows[-1])
    # The other way round: towards b.
    forger = Forger(net)
    with net.a:
        forger.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        forger.sock.bind(("a0", 0))
    forger.ethernet = forger.ethernet[6:12] + forger.ethernet[:6] + forger.ethernet[12:]
    generator = random.Random(1)
    for i in range(packets):
        known = i % 10 == 0
        forger.send(client.getsockname()[1] if known else generator.randrange(1, 65536),
                    server.getsockname()[1] if known else generator.randrange(1, 65536),
                    generator.getrandbits(32), generator.getrandbits(32), b"", flags=ACK | PSH, payload=b"x" * 100,
                    source="10.0.0.1" if known else f"10.0.0.{generator.randrange(3, 250)}", target="10.0.0.2")
        if i % 50 == 0:
            net.run(0.0002)
    counts = net.reported(0.002)
    # It gets answers to what misses its window; they say nothing.
    forged = counts.pop(client.getsockname()[1], [0])
    return values(counts), values({0: forged}), net.stats()["flows"], free - memory_kb()


def memory_kb():
    return int(inlab.read("/proc/meminfo").split("MemFree:")[1].split()[0])


def test_a_flood_of_forged_flows_does_not_count(run):
    counts, forged, flows, lost_kb = run("in_lab_flood", 20000, seconds=600)
    assert counts == [2] and forged == [0] and flows == 2
    assert lost_kb < 20000


# ---- many, and the end ----


def in_lab_memory(namespaces):
    """What each of so many namespaces takes when it begins to count, in KB."""
    load()
    each = [inlab.Netns() for _ in range(namespaces)]
    free = memory_kb()
    for ns in each:
        with ns:
            inlab.write(DCC + "count_flows", "1")
    began = (free - memory_kb()) / namespaces
    for ns in each:
        with ns:
            inlab.write(DCC + "count_flows", "0")
    return began


def test_a_namespace_that_begins_to_count_takes_little_memory(run):
    # A table of 8 KB and the hooks, and around each what a debugging kernel puts there.
    assert run("in_lab_memory", 40) < 100


def in_lab_many(flows):
    """One packet each in turn: more flows than most hosts have at once."""
    inlab.write("/proc/sys/net/ipv4/tcp_mem", "4000000 4000000 4000000")
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (100000, 100000))
    net = Net(0, count=1)
    net.set_count(10000000, "count_active_us")
    with net.b:
        inlab.write("/proc/sys/net/core/somaxconn", "65535")
        listener = socket.socket()
        listener.bind(("10.0.0.2", 5001))
        listener.listen(65535)
    pairs = []
    with net.a:
        for _ in range(flows):
            client = socket.create_connection(("10.0.0.2", 5001))
            pairs.append((client, listener.accept()[0]))
    for client, _ in pairs:
        client.send(b"x")
    time.sleep(0.2)
    return net.stats()["flows"]


def test_thousands_of_flows_are_counted_to_a_part_in_a_thousand(run):
    assert 0.999 * 4000 <= run("in_lab_many", 4000, seconds=600) <= 4000


def in_lab_teardown(rounds):
    load()
    mount_tracing()
    tracing(True)
    unload("tcp_counted")
    unload("delaycc_count")
    unload("delaycc")
    for i in range(rounds):
        load()
        link = {"rate_bps": RATE_BPS, "delay_ns": 10000, "limit_bytes": 200000, "loss_ppm": 2000 * (i % 3)}
        a, b = inlab.pair(left=link, right=link)
        with b:
            inlab.write(DCC + "count_flows", str(1 + i % 2))
        pairs = []
        for k in range(4):
            client, server = inlab.connection(a, b, 5001 + k)
            use(client, "counted")
            use(server, "counted")
            client.setblocking(False)
            client.send(bytes(1 << 20))
            pairs.append((client, server))
        time.sleep(0.0003 * (i % 5))
        if i % 3 == 0:
            # The modules go while packets are on their way.
            for client, server in pairs:
                use(client, "cubic")
                use(server, "reno")
            if i % 2:
                unload("tcp_counted")
                unload("delaycc_count")
            with b:
                inlab.write(DCC + "count_flows" if not i % 2 else "/proc/sys/net/ipv4/tcp_sack", "0")
        # The namespaces go with everything that is open.
        os.close(a.fd)
        os.close(b.fd)
        for client, server in pairs:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
            server.close()
        for name in ("tcp_counted", "delaycc_count", "delaycc"):
            if os.path.exists("/sys/module/" + name):
                unload(name, seconds=300)
    return rounds


def test_modules_and_namespaces_go_under_traffic(run):
    assert run("in_lab_teardown", 60, seconds=900) == 60
