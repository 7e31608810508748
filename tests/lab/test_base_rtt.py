# SPDX-License-Identifier: Apache-2.0
"""Base RTTs of paths: the table of prefixes, what counts first, and that TCP's own timers know nothing of it."""

import errno
import os
import random
import socket
import struct

import inlab
from modules import DCC, in_lab, load, refused, remove_all, use

TABLE = DCC + "base_rtt_paths"
TCP_INFO, TCP_CC_INFO = 11, 26
# Offsets in struct tcp_info and struct tcp_bbr_info, in which ours shows itself.
RTO_US, MIN_RTT_US = 8, 8
DELAY_NS = 6000


def in_lab_table():
    load("tcp_oscar")
    wrong = []

    def expect(what, got, wanted):
        if got != wanted:
            wrong.append([what, got, wanted])

    expect("at first", inlab.read(TABLE), "")
    inlab.write(TABLE, "fd00:1::/64 12000 1,10.0.0.0/8\t9000 , 10.1.2.3 1000\n\n10.1.0.0/16 1000000000 1000000000\n10.2.0.0/16 0 700")
    table = "10.0.0.0/8 9000\n10.1.0.0/16 1000000000 1000000000\n10.2.0.0/16 0 700\n10.1.2.3/32 1000\nfd00:1::/64 12000 1\n"
    expect("written", inlab.read(TABLE), table)
    for text in ("10.0.0.0/8", "10.0.0.0/8 ", "9000", "10.0.0.0/8 0", "10.0.0.0/8 999", "10.0.0.0/8 1000000001",
                 "10.0.0.0/8 4294968296", "10.0.0.0/8 -5000", "10.0.0.0/8 9us", "10.0.0.0/8 9000 0", "10.0.0.0/8 9000 1000000001",
                 "10.0.0.0/8 9000 1 1", "10.0.0.0/8 999 1", "10.0.0.0/33 9000",
                 "10.0.0.0/-1 9000", "10.0.0.0/ 9000", "10.0.0/8 9000", "10.0.0.1/8 9000", "fd00::/129 9000", "fd00::1/64 9000",
                 "::ffff:10.0.0.0/104 9000", "fd00::/256 9000", "name 9000", "/8 9000", "default 9000",
                 "10.0.0.0/8 9000, 10.0.0.0/8 9001", "10.0.0.0/8 9000, nonsense", "10.0.0.0/8 9000\0 10.1.0.0/16 9000"):
        if not refused("base_rtt_paths", text):
            wrong.append(["taken", text])
    many = [f"10.{i >> 8}.{i & 255}.0/24 {1000 + i}" for i in range(4096)]
    for text in (",".join([*many, "11.0.0.0/8 9000"]), ",\n" * 10**6):
        if not refused("base_rtt_paths", text, errno.E2BIG):
            wrong.append(["more than the room taken", text[:40]])

    # A second write to the same open file goes on where the first ended, and must not say a thing twice.
    with open(TABLE, "wb", buffering=0) as file:
        file.write(", ".join(many[:2000]).encode())
        file.write((", ".join(many[2000:]) + "\0").encode())
        try:
            file.write(b"10.0.7.0/24 5000")
            wrong.append("a path said twice")
        except OSError:
            pass
    # And so does a read.
    expect("4096, in pieces", inlab.read(TABLE), "\n".join(many) + "\n")
    with open(TABLE, "rb", buffering=0) as file:
        parts = []
        while parts[-1:] != [b""]:
            parts.append(file.read(7))
    expect("4096, by sevens", b"".join(parts).decode(), "\n".join(many) + "\n")

    # A write of nothing is no table.
    with open(TABLE, "wb", buffering=0) as file:
        expect("nothing written", file.write(b""), 0)
    expect("after nothing", inlab.read(TABLE), "\n".join(many) + "\n")

    other = inlab.Netns()
    with other:
        expect("another namespace", inlab.read(TABLE), "")
        inlab.write(TABLE, "::/0 5000, 0.0.0.0/0 4000")
        expect("everything", inlab.read(TABLE), "0.0.0.0/0 4000\n::/0 5000\n")
        inlab.write(TABLE, "\n")
        expect("emptied", inlab.read(TABLE), "")
        inlab.write(TABLE, "::/0 5000")
    expect("the first one's", inlab.read(TABLE), "\n".join(many) + "\n")
    os.close(other.fd)
    remove_all()
    return wrong


def test_the_table_takes_what_is_right_and_nothing_else(lab):
    assert in_lab(lab, "in_lab_table") == []


class Paths:
    """Connections from a to b, which has more than one address."""

    def __init__(self):
        load("tcp_oscar")
        link = {"rate_bps": 10**11, "delay_ns": DELAY_NS}
        self.a, self.b = inlab.pair(left=link, right=link)
        with self.b:
            inlab.up("b0", "10.0.0.3/24", "fd00::3/64")
        with self.a:
            inlab.write(DCC + "line_rate_mbps", "100000")
        self.port = 5000

    def open(self, address):
        """address as the client says it; ::ffff:a.b.c.d is an IPv4 host's."""
        self.port += 1
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with self.b:
            listener = socket.socket(family)
            listener.bind(("", self.port))
            listener.listen(1)
        with self.a:
            client = socket.socket(family)
            use(client, "oscar")
            client.connect((address, self.port))
        server, _ = listener.accept()
        listener.close()
        return client, server

    def base_ns(self, client, server):
        """The base RTT in use after some more acknowledgments."""
        # Of a lone small packet, the receiver may hold back the ACK: no sample.
        client.send(bytes(10000))
        server.recv(10000, socket.MSG_WAITALL)
        server.send(b"x")
        client.recv(1)
        return 1000 * struct.unpack_from("=I", client.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 64), MIN_RTT_US)[0]

    def say(self, table=None, sysctl=None, noise=None):
        with self.a:
            if noise is not None:
                inlab.write(DCC + "noise_ns", str(noise))
            if table is not None:
                inlab.write(TABLE, table + "\n")
            if sysctl is not None:
                inlab.write(DCC + "base_rtt_ns", str(sysctl))


def route(address, metrics, device="a0"):
    """A host route by the device; metrics: {RTAX_...: value}."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    data = socket.inet_pton(family, address)
    body = struct.pack("=BBBBBBBBI", family, len(data) * 8, 0, 0, 254, 3, 0 if family == socket.AF_INET6 else 253, 1, 0)
    body += inlab.attr(1, data) + inlab.attr(4, socket.if_nametoindex(device))
    body += inlab.attr(8, b"".join(inlab.attr(kind, value) for kind, value in metrics.items()))
    inlab.netlink(inlab.RTM_NEWROUTE, inlab.NLM_CREATE | inlab.NLM_REPLACE, body)


def in_lab_order(ip):
    two, three = ("10.0.0.2", "10.0.0.3") if ip == 4 else ("fd00::2", "fd00::3")
    host, net, wide, other = ((two + "/32", "10.0.0.0/24", "0.0.0.0/0", "::/0") if ip == 4 else
                              (two + "/128", "fd00::/64", "::/0", "0.0.0.0/0"))
    paths = Paths()
    pairs = [paths.open(two), paths.open(three)]
    if ip == 4:
        pairs.append(paths.open("::ffff:" + two))
    seen = {}

    def look(what):
        seen[what] = [paths.base_ns(*pair) for pair in pairs]

    look("measured")
    paths.say(sysctl=30000)
    look("sysctl")
    paths.say(f"{other} 5000")
    look("the other family's")
    paths.say(f"{wide} 21000")
    look("a default")
    paths.say(f"{wide} 21000, {net} 22000")
    look("a network")
    paths.say(f"{host} 23000, {wide} 21000, {net} 22000")
    look("a host")
    paths.say(f"{host} 23000")
    look("one host only")
    # Open sockets meet a route's metric when they look their route up anew.
    with paths.a:
        route(two, {4: 8})
    look("a route's millisecond, below the table")
    paths.say("")
    look("a route's millisecond")
    paths.say(sysctl=0)
    look("without the sysctl")
    return seen


def check_order(seen, ip):
    mapped = [0] if ip == 4 else []
    measured = seen.pop("measured")
    assert all(2 * DELAY_NS <= ns < 2 * DELAY_NS + 2000 for ns in measured), measured
    assert all(2 * DELAY_NS <= ns < 2 * DELAY_NS + 2000 for ns in seen["without the sysctl"][1:2])
    last = seen.pop("without the sysctl")
    assert [last[0], *last[2:]] == [1000000, *[1000000 for _ in mapped]]
    for what, two, three in (("sysctl", 30000, 30000), ("the other family's", 30000, 30000), ("a default", 21000, 21000),
                             ("a network", 22000, 22000), ("a host", 23000, 22000), ("one host only", 23000, 30000),
                             ("a route's millisecond, below the table", 23000, 30000),
                             ("a route's millisecond", 1000000, 30000)):
        assert seen.pop(what) == [two, three, *[two for _ in mapped]], what
    assert not seen


def test_the_longest_prefix_counts_then_the_route_then_the_sysctl_then_the_measured_minimum(lab):
    for ip in (4, 6):
        check_order(in_lab(lab, "in_lab_order", ip), ip)


def in_lab_noise():
    paths = Paths()
    pairs = [paths.open("10.0.0.2"), paths.open("10.0.0.3")]
    seen = []
    for what in ({"noise": 5000}, {"sysctl": 30000}, {"table": "10.0.0.2 21000 7000"}, {"table": "10.0.0.2 0 8000", "sysctl": 0}, {"noise": 0},
                 {"table": ""}):
        paths.say(**what)
        seen.append([paths.base_ns(*pair) for pair in pairs])
    return seen


def test_noise_is_a_part_of_the_base_rtt_whether_that_is_configured_or_measured(lab):
    """ss shows their sum; the table's noise counts first."""
    measured, configured, table, table_measured, table_alone, without = in_lab(lab, "in_lab_noise")
    idle = without[1]
    assert 2 * DELAY_NS <= idle < 2 * DELAY_NS + 2000
    assert without == [idle, idle] and measured == [idle + 5000, idle + 5000]
    assert configured == [35000, 35000]
    assert table == [28000, 35000]
    assert table_measured == [idle + 8000, idle + 5000]
    assert table_alone == [idle + 8000, idle]


def in_lab_timeouts():
    """The first retransmission timeout of a connection to a host that TCP remembers, in us."""
    paths = Paths()
    rto = {}
    for what, address in (("nothing", "10.0.0.3"), ("table", "10.0.0.2"), ("metric", "fd00::2"), ("locked", "fd00::3")):
        if what == "table":
            paths.say(f"{address} 12000")
        if what == "metric":
            with paths.a:
                route(address, {4: 12000})
        if what == "locked":
            with paths.a:
                route(address, {1: 1 << 4, 4: 12000})
        client, server = paths.open(address)
        for _ in range(20):
            paths.base_ns(client, server)
        client.close()
        server.close()
        # TCP has remembered this host when the connection ended, and takes the timeout from there.
        client, server = paths.open(address)
        rto[what] = struct.unpack_from("=I", client.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 256), RTO_US)[0]
    return rto


def test_tcps_own_timers_do_not_see_the_table(lab):
    rto = in_lab(lab, "in_lab_timeouts")
    # Of a millisecond of TCP's clock an RTT takes one or none.
    assert max(rto["table"], rto["nothing"]) < 300_000 and abs(rto["table"] - rto["nothing"]) <= 1000, rto
    # Which is why it is not the route's metric in nanoseconds: TCP takes 12000 eighths of a millisecond for the RTT.
    assert rto["metric"] > 3_000_000
    assert rto["locked"] == 4_500_000


def in_lab_random(prefixes, seed):
    """Lookups by random tables agree with the plain rule."""
    paths = Paths()
    generator = random.Random(seed)
    pair = paths.open("10.0.0.2")
    peer = int.from_bytes(socket.inet_aton("10.0.0.2"), "big")
    wrong = []
    for _ in range(60):
        table = {}
        for _ in range(generator.randrange(1, prefixes)):
            bits = generator.randrange(0, 33)
            near = peer ^ (1 << generator.randrange(32)) if generator.getrandbits(1) else peer
            address = near >> (32 - bits) << (32 - bits)
            table[address, bits] = generator.randrange(1, 1000) * 1000
        text = ",".join(f"{socket.inet_ntoa(address.to_bytes(4, 'big'))}/{bits} {ns}" for (address, bits), ns in table.items())
        paths.say(text, sysctl=1001000)
        matching = [(bits, ns) for (address, bits), ns in table.items() if peer >> (32 - bits) == address >> (32 - bits)]
        expected = max(matching)[1] if matching else 1001000
        if (got := paths.base_ns(*pair)) != expected:
            wrong.append([text, got, expected])
    return wrong


def test_random_tables_agree_with_the_plain_rule(lab):
    assert in_lab(lab, "in_lab_random", 40, 1) == []
