# SPDX-License-Identifier: Apache-2.0
"""The modules on the real TCP stack: RTTs to the nanosecond, a full link, parameters that take effect."""

import re
import select
import socket
import struct
import time

import pytest

import inlab
from modules import DCC, MODULES, in_lab, load, mount_tracing, traced, tracing, use, used

TCP_NOTSENT_LOWAT = 25
RATE_BPS = 10**11
DELAY_NS = 5940
# Two wires, a full packet one way, an ACK of 66 bytes the other way; each is rounded up to whole ns.
BASE_NS = 2 * DELAY_NS + 122 + 6


class Path:
    """From a to b, logged, without segmentation offload; every flow has its own connection."""

    def __init__(self, flows, family=socket.AF_INET, algorithm="oscar", **port):
        load()
        mount_tracing()
        inlab.write("/proc/sys/net/ipv4/tcp_mem", "4000000 4000000 4000000")
        link = {"rate_bps": RATE_BPS, "delay_ns": DELAY_NS}
        self.a, self.b = inlab.pair(left={**link, "port_id": 1, "log_flags": inlab.DATA, **port},
                                    right={**link, "port_id": 2, "log_flags": inlab.ACKS})
        for ns, name in ((self.a, "a0"), (self.b, "b0")):
            with ns:
                inlab.gso_max_segs(name, 1)
                inlab.write("/proc/sys/net/ipv4/tcp_rmem", "4096 16000000 67108864")
                inlab.write("/proc/sys/net/ipv4/tcp_wmem", "4096 16000000 67108864")
        self.set("line_rate_mbps", RATE_BPS // 10**6)
        self.poll = select.epoll()
        self.clients, self.servers = {}, {}
        address = "10.0.0.2" if family == socket.AF_INET else "fd00::2"
        with self.b:
            listener = socket.socket(family)
            listener.bind((address, 5001))
            listener.listen(flows)
        for i in range(flows):
            with self.a:
                client = socket.socket(family)
                use(client, algorithm)
                client.bind(("", 10001 + i))
                client.connect((address, 5001))
            server, _ = listener.accept()
            server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1 << 17)
            client.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, 1 << 17)
            self.clients[client.fileno()], self.servers[server.fileno()] = client, server
            self.poll.register(client.fileno(), select.EPOLLOUT)
            self.poll.register(server.fileno(), select.EPOLLIN)

    def set(self, name, value):
        with self.a:
            inlab.write(DCC + name, str(value))

    def run(self, seconds):
        """Every flow sends what it may; returns begin and end in ns."""
        begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        end = begin + int(seconds * 1e9)
        block = bytes(1 << 17)
        while True:
            left = end - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            if left <= 0:
                return begin, end
            for fd, _ in self.poll.poll(left / 1e9):
                if fd in self.clients:
                    self.clients[fd].send(block, socket.MSG_DONTWAIT)
                else:
                    self.servers[fd].recv_into(inlab.SINK, 1 << 20, socket.MSG_TRUNC | socket.MSG_DONTWAIT)


def wire_rate_bps(begin, end):
    size = sum(e.len_bytes for e in inlab.events() if e.port_id == 1 and begin <= e.depart_ns < end)
    return size * 8 * 10**9 / (end - begin)


def rtts_on_the_wire():
    """sport -> RTT of the newest packet that each ACK covers, from the ports' log alone."""
    sent, rtts = {}, {}
    for event in sorted(inlab.events(), key=lambda e: e.arrival_ns):
        if event.port_id == 1 and event.payload_bytes:
            end_seq = (event.seq + event.payload_bytes) % 2**32
            sent.setdefault((event.sport, end_seq), event.arrival_ns)
        elif event.port_id == 2 and (event.dport, event.ack_seq) in sent:
            rtt = event.depart_ns + DELAY_NS - sent[event.dport, event.ack_seq]
            rtts.setdefault(event.dport, []).append(rtt)
    return rtts


def in_lab_rate(algorithm, family):
    path = Path(1, family, algorithm)
    path.run(0.002)
    begin, end = path.run(0.005)
    backlog = max(e.backlog_bytes for e in inlab.events() if begin < e.arrival_ns < end)
    return wire_rate_bps(begin, end), backlog


@pytest.mark.ci
def test_a_lone_flow_fills_the_link_without_a_queue(lab):
    for algorithm, family in (("oscar_paper", socket.AF_INET), ("oscar", socket.AF_INET), ("oscar", socket.AF_INET6)):
        rate_bps, backlog = in_lab(lab, "in_lab_rate", algorithm, family)
        assert rate_bps >= 0.99 * RATE_BPS, (algorithm, family)
        assert backlog <= 20000, (algorithm, family)


def in_lab_rtts(flows, loss_ppm):
    path = Path(flows, loss_ppm=loss_ppm, seed=3)
    path.set("base_rtt_ns", BASE_NS)
    tracing(True)
    path.run(0.003)
    by_port = {}
    for event in traced():
        by_port.setdefault(int(event["sport"]), []).append(int(event["rtt_ns"]))
    wire = rtts_on_the_wire()
    off = {}
    for sport, values in by_port.items():
        # The decisions' RTTs must be a subsequence of the wire's.  An ACK that comes while its socket is being sent
        # on waits for that, and each look at the clock there takes 1 ns.
        rest = iter(wire[sport])
        off[sport] = sum(not any(0 <= value - rtt <= 10 for rtt in rest) for value in values) if not loss_ppm else \
            sum(value not in set(wire[sport]) for value in values)
    return {"decisions": sum(map(len, by_port.values())), "off": sum(off.values()), "least": min(min(v) for v in by_port.values()),
            "most": max(max(v) for v in by_port.values())}


def test_rtts_of_a_lone_flow_are_those_of_the_wire(lab):
    seen = in_lab(lab, "in_lab_rtts", 1, 0)
    assert seen["decisions"] > 300
    assert seen["off"] == 0
    # Its acknowledgments come in pairs, and so do its packets.
    assert BASE_NS <= seen["least"] <= seen["most"] <= BASE_NS + 6 * 122


def in_lab_requests():
    # Unlike oscar, it decides also on packets that are so far apart.
    path = Path(1, algorithm="oscar_paper")
    path.set("base_rtt_ns", BASE_NS)
    tracing(True)
    client, server = *path.clients.values(), *path.servers.values()
    for _ in range(300):
        client.send(bytes(1448))
        time.sleep(0.00005)
        server.recv(1 << 16, socket.MSG_DONTWAIT)
    return [int(event["rtt_ns"]) for event in traced()]


def test_idle_rtt_is_exact_to_the_nanosecond(lab):
    rtts = in_lab(lab, "in_lab_requests")
    assert len(rtts) > 20
    assert set(rtts) == {BASE_NS}


def test_rtts_with_a_queue_are_those_of_the_wire(lab):
    seen = in_lab(lab, "in_lab_rtts", 10, 0)
    assert seen["decisions"] > 1000
    assert seen["most"] > 5 * BASE_NS  # ten flows began at line rate
    assert seen["off"] == 0


def test_rtts_in_loss_recovery_are_at_most_half_a_microsecond_off(lab):
    seen = in_lab(lab, "in_lab_rtts", 4, 2000)
    assert seen["decisions"] > 500
    # Selectively acknowledged packets are timed by the kernel's microseconds.
    assert seen["off"] < 0.1 * seen["decisions"]
    assert seen["most"] < 1_000_000, "a sample from the millisecond timestamps"


def in_lab_new_line_rate():
    path = Path(1)
    path.set("base_rtt_ns", BASE_NS)
    path.run(0.001)
    path.set("line_rate_mbps", 25000)
    path.run(0.0005)
    return wire_rate_bps(*path.run(0.002))


def test_an_open_socket_follows_a_new_line_rate(lab):
    rate_bps = in_lab(lab, "in_lab_new_line_rate")
    assert 0.97 * 25e9 < rate_bps < 1.01 * 25e9


def in_lab_pause(seconds):
    path = Path(4)
    path.set("base_rtt_ns", BASE_NS)
    path.run(0.003)
    # What is in the buffers leaves; somebody must read, or the receiver holds its ACKs back.
    for fd in path.clients:
        path.poll.unregister(fd)
    path.run(seconds)
    inlab.clear_log()
    client = next(iter(path.clients.values()))
    client.send(bytes(100000))
    path.run(0.001)
    sent = [e.depart_ns for e in inlab.events() if e.port_id == 1 and e.len_bytes == 1514]
    return (sent[50] - sent[0]) / 50


def test_a_flow_starts_at_line_rate_after_a_pause(lab):
    packet_ns = 1514 * 8 / 100
    assert in_lab(lab, "in_lab_pause", 0.01) < 1.05 * packet_ns


def mtu(name, size):
    index = socket.if_nametoindex(name)
    inlab.netlink(inlab.RTM_NEWLINK, 0, struct.pack("=BxHiII", 0, 0, index, 0, 0) + inlab.attr(4, size))


def in_lab_new_mtu():
    path = Path(1)
    path.set("base_rtt_ns", BASE_NS)
    for ns, name in ((path.a, "a0"), (path.b, "b0")):
        with ns:
            mtu(name, 600)
    tracing(True)
    path.run(0.002)
    inlab.clear_log()
    begin, end = path.run(0.002)
    sizes = {e.len_bytes for e in inlab.events() if e.port_id == 1 and begin < e.arrival_ns < end}
    return wire_rate_bps(begin, end), max(sizes), int(traced()[-1]["cwnd_milli"])


def test_an_open_socket_follows_a_smaller_mtu(lab):
    rate_bps, largest, cwnd_milli = in_lab(lab, "in_lab_new_mtu")
    assert largest == 614
    # The window of full packets would fill two fifths of the link with these.
    assert rate_bps > 0.97 * RATE_BPS
    assert cwnd_milli > 0.9 * 1000 * (RATE_BPS / 8 * BASE_NS / 1e9) / 614


class Peer:
    """A receiver by hand behind b0: answers by raw segments, and may take back what it has acknowledged."""

    PORT = 7000

    def __init__(self, b):
        with b:
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
            self.sock.bind(("b0", 0x0800))
        self.poll = select.epoll()
        self.poll.register(self.sock.fileno(), select.EPOLLIN)
        self.got = {}  # offset in the stream -> payload

    def receive(self, seconds):
        """(flags, seq, payload) of the next segment from a; None after this time."""
        end = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + int(seconds * 1e9)
        while (left := end - time.clock_gettime_ns(time.CLOCK_MONOTONIC)) > 0 and self.poll.poll(left / 1e9):
            data, address = self.sock.recvfrom(1 << 16)
            if address[2] == 4 or data[23] != 6:  # its own, or no TCP
                continue
            self.ethernet = data[6:12] + data[:6] + data[12:14]
            self.sport, _, seq, self.ack, offset, flags = struct.unpack_from("!HHIIBB", data, 34)
            return flags, seq, data[34 + (offset >> 4) * 4:14 + struct.unpack_from("!H", data, 16)[0]]
        return None

    def send(self, flags, seq, ack, options=b""):
        tcp = struct.pack("!HHIIBBHHH", self.PORT, self.sport, seq % 2**32, ack % 2**32, (20 + len(options)) // 4 << 4, flags, 60000, 0, 0)
        tcp += options
        addresses = socket.inet_aton("10.0.0.2") + socket.inet_aton("10.0.0.1")
        total = inlab.checksum(addresses + struct.pack("!HH", 6, len(tcp)) + tcp)
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0) + addresses
        ip = ip[:10] + struct.pack("!H", inlab.checksum(ip)) + ip[12:]
        self.sock.send(self.ethernet + ip + tcp[:16] + struct.pack("!H", total) + tcp[18:])

    def accept(self):
        flags, seq, _ = self.receive(1)
        assert flags == 2, "no SYN"
        self.first = seq + 1
        # Maximum segment 1460, SACK permitted, windows times 2^8.
        self.send(0x12, 1000, self.first, struct.pack("!BBHBBBBBB", 2, 4, 1460, 4, 2, 1, 3, 3, 8) + b"\0\0")

    def take(self, seconds):
        """The next data, kept; (offset, size)."""
        while (segment := self.receive(seconds)) and not segment[2]:
            pass
        if not segment:
            return None
        offset = (segment[1] - self.first) % 2**32
        self.got[offset] = segment[2]
        return offset, len(segment[2])

    def acknowledge(self, offset, sack=None):
        """All up to `offset`, and the range `sack` behind it."""
        options = struct.pack("!BBBBII", 1, 1, 5, 10, *((self.first + o) % 2**32 for o in sack)) if sack else b""
        self.send(0x10, 1001, self.first + offset, options)

    def contiguous(self):
        end = 0
        while end in self.got:
            end += len(self.got[end])
        return end


def in_lab_reneging():
    load("tcp_oscar")
    mount_tracing()
    link = {"rate_bps": 10**10, "delay_ns": 5000}
    a, b = inlab.pair(left=link, right={**link, "log_flags": inlab.DROP_RST})
    peer = Peer(b)
    with a:
        inlab.gso_max_segs("a0", 1)
        inlab.write(DCC + "line_rate_mbps", "10000")
        client = socket.socket()
        use(client, "oscar")
        client.setblocking(False)
        client.connect_ex(("10.0.0.2", Peer.PORT))
    peer.accept()
    peer.receive(1)
    data = bytes(i % 251 for i in range(200_000))
    sent = client.send(data)
    # All but the first packet, which is lost.
    lost = None
    while seen := peer.take(0.0005):
        offset, size = seen
        if offset == 0 and lost is None:
            lost = size
            continue
        if offset == 0:
            break
        peer.acknowledge(0, sack=(lost, offset + size))
    held = peer.contiguous()
    # It comes again; and now the rest is gone, with what still comes before the sender's timer of 10 ms.
    peer.acknowledge(lost)
    while peer.take(0.005):
        pass
    peer.got = {0: peer.got[0]}
    first = peer.take(1)
    cwnd = client.getsockopt(socket.IPPROTO_TCP, 11, 256)[80:84]
    alone = peer.take(0.001) is None
    pace_bps = 8 * int.from_bytes(client.getsockopt(socket.IPPROTO_TCP, 11, 256)[104:112], "little")
    peer.acknowledge(peer.contiguous())
    while peer.contiguous() < sent and peer.take(1):
        peer.acknowledge(peer.contiguous())
    received = b"".join(peer.got[offset] for offset in sorted(peer.got) if offset < sent)
    with a:
        names, values = [line.split()[1:] for line in inlab.read("/proc/net/netstat").splitlines() if line.startswith("TcpExt:")]
    return {"held": held, "first": first == (lost, lost), "alone": alone,
            "cwnd": int.from_bytes(cwnd, "little"), "pace_bps": pace_bps, "right": received == data[:sent],
            "reneged": int(dict(zip(names, values))["TCPSACKReneging"]), "used": used(client)}


def test_a_receiver_that_takes_back_what_it_had_acknowledged_is_a_timeout(lab):
    seen = in_lab(lab, "in_lab_reneging")
    assert seen["used"] == "oscar" and seen["reneged"] == 1
    assert seen["held"] > 5 * 1448, "it had acknowledged more than the lost packet"
    # It begins anew with a single packet, the first of those taken back; all arrives in the end.
    assert (seen["first"], seen["alone"], seen["cwnd"]) == (True, True, 1)
    # The law knows, too: TCP tells no algorithm of a timeout in recovery but by the state.
    assert seen["pace_bps"] < 10**10 / 5
    assert seen["right"]


def in_lab_two_hundred():
    path = Path(200)
    path.set("base_rtt_ns", BASE_NS)
    path.run(0.006)
    begin, end = path.run(0.004)
    backlogs = [e.backlog_bytes for e in inlab.events() if e.port_id == 1 and begin < e.arrival_ns < end]
    return wire_rate_bps(begin, end), sum(backlogs) / len(backlogs)


@pytest.mark.ci
def test_windows_below_one_packet_keep_the_queue_of_200_flows_short(lab):
    rate_bps, backlog = in_lab(lab, "in_lab_two_hundred")
    assert rate_bps > 0.99 * RATE_BPS
    # One packet each would be 303 KB on the way and in the queue.
    assert backlog < 2 * 303_000


def in_lab_host_queue(limits):
    """Ten flows share their host's own port, under each limit in turn: rate and mean backlog."""
    path = Path(10)
    path.set("base_rtt_ns", BASE_NS)
    seen = []
    for limit_ns in limits:
        path.set("host_queue_ns", limit_ns)
        path.run(0.002)
        inlab.clear_log()
        begin, end = path.run(0.002)
        events = [e for e in inlab.events() if e.port_id == 1 and begin <= e.depart_ns < end]
        seen.append((wire_rate_bps(begin, end), sum(e.backlog_bytes for e in events) / len(events)))
    return seen


def test_a_limit_keeps_the_hosts_own_queue_short(lab):
    own, limited, own_again = in_lab(lab, "in_lab_host_queue", (0, 100, 0))
    for rate_bps, _ in (own, limited, own_again):
        assert rate_bps > 0.99 * RATE_BPS
    # Without it OSCAR's target stands there, half a base RTT; with this one two or three packets of each flow.
    assert own[1] > 60_000 and own_again[1] > 60_000
    assert limited[1] < 10 * 3 * 1514


# ---- reno, where a socket cannot be served ----


def disconnect(sock):
    """connect() to AF_UNSPEC: the socket may have another connection."""
    inlab.check(-(inlab.libc.connect(sock.fileno(), bytes(16), 16) != 0), "connect AF_UNSPEC")


def in_lab_reno(algorithm):
    """The algorithms in use: of a socket that fell back to reno, of its next connection, and of one that it gets as a listener."""
    load()
    inlab.up("lo")
    server = socket.create_server(("127.0.0.1", 5001))
    seen = []
    for port in (None, 5002):
        inlab.write(DCC + "line_rate_mbps", "0")
        sock = socket.socket()
        use(sock, algorithm)
        sock.connect(("127.0.0.1", 5001))
        seen.append(used(sock))
        disconnect(sock)
        inlab.write(DCC + "line_rate_mbps", "20000")
        if port is None:
            sock.connect(("127.0.0.1", 5001))
            seen.append(used(sock))
            continue
        sock.bind(("127.0.0.1", port))
        sock.listen()
        client = socket.create_connection(("127.0.0.1", port))
        client.send(b"x")
        child, _ = sock.accept()
        assert child.recv(1) == b"x"
        seen.append(used(child))
    server.close()
    return seen


def test_what_fell_back_to_reno_tries_it_anew_with_its_next_connection(lab):
    for algorithm, module in (("oscar", "oscar"), ("timely", "timely"), ("patched_timely", "timely")):
        assert in_lab(lab, "in_lab_reno", algorithm) == [f"{module}-reno", algorithm, f"{module}-reno", algorithm]


# ---- names ----


def in_lab_functions():
    """What stack traces and kprobes call the functions of each module."""
    load()
    functions = {module: [] for module in MODULES}
    for line in inlab.read("/proc/kallsyms").splitlines():
        found = re.fullmatch(r"\w+ [tT] ([\w.]+)\t\[(\w+)\]", line)
        if found and found[2] in functions:
            functions[found[2]].append(found[1].partition(".")[0])
    return functions


def test_functions_of_a_module_carry_its_algorithms_name_or_the_cores(lab):
    functions = in_lab(lab, "in_lab_functions")
    for module, names in functions.items():
        algorithm = module.removeprefix("tcp_")
        assert {f"{algorithm}_{hook}" for hook in ("cong_control", "min_tso_segs", "set_state", "init", "release")} <= set(names), module
        others = [name for name in names if not name.startswith((algorithm + "_", "dcc_", "init_module", "cleanup_module", "__"))]
        assert not others, (module, others)
