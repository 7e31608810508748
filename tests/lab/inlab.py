#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the tests do inside the lab, as its init: netlink by hand, ports, traffic.

Runs under the lab kernel only (python3, no package but the standard library).
The caller names a function of a test's script with LAB_TEST=<file>:<function>;
what it returns goes to the host as JSON in LAB_OUT/result.json.
"""

import ctypes
import json
import os
import re
import select
import socket
import struct
import sys
import time
import traceback

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../mininet/delaycc_mininet"))
from labnet import (ACKS, DATA, DROP_RST, DSCP_PRIORITY, NLM_CREATE, NLM_REPLACE, RTM_NEWADDR, RTM_NEWROUTE,  # noqa: E402,F401
                    RTM_NEWLINK, RTM_NEWQDISC, Netns, attr, attrs, check, gso_max_segs, insmod, libc, mount, netlink, no_offload,
                    port, port_stats, read, tcmsg, up, write)

NOT_DEPARTED = 1 << 62
DROP_TAIL, DROP_LOSS, MARKED, REORDERED, SYN, FIN, RST = (1 << i for i in range(7))

EVENT = struct.Struct("=QQIIIIHHHHH6x")
EVENT_FIELDS = ("arrival_ns depart_ns backlog_bytes len_bytes seq ack_seq payload_bytes sport dport port_id flags").split()


class Event:
    """One struct dccport_event."""

    __slots__ = EVENT_FIELDS

    def __init__(self, values):
        for name, value in zip(EVENT_FIELDS, values):
            setattr(self, name, value)


def sleep_until(monotonic_ns):
    """Sleep to this time of CLOCK_MONOTONIC, without the rounding of time.sleep()."""
    when = struct.pack("=qq", *divmod(monotonic_ns, 10**9))
    check(-libc.clock_nanosleep(time.CLOCK_MONOTONIC, 1, when, None), "clock_nanosleep")


def veth(name, peer, peer_ns, mtu=1500):
    """A pair without segmentation offload: name here, peer in peer_ns."""
    inner = struct.pack("=BxHiII", 0, 0, 0, 0, 0) + attr(3, peer) + attr(28, peer_ns.fd) + attr(4, mtu)
    info = attr(1, "veth") + attr(2, attr(1, inner))
    body = struct.pack("=BxHiII", 0, 0, 0, 0, 0) + attr(3, name) + attr(4, mtu) + attr(18, info)
    netlink(RTM_NEWLINK, NLM_CREATE, body)
    no_offload(name)
    with peer_ns:
        no_offload(peer)


def queue_length(name, packets=32767):
    """How many packets a band of prio holds; resets the device's qdiscs."""
    netlink(RTM_NEWLINK, 0, struct.pack("=BxHiII", 0, 0, socket.if_nametoindex(name), 0, 0) + attr(13, packets))


def prio(name, bands):
    """Put the kernel's prio qdisc into the device's port: DSCP d has band bands - 1 - d, but not below 0."""
    bands_of = [bands - 1 - min(d, bands - 1) for d in range(16)]
    message = struct.pack("=BxxxiIII", 0, socket.if_nametoindex(name), 0x20000, 0x10001, 0)
    netlink(RTM_NEWQDISC, NLM_CREATE | NLM_REPLACE, message + attr(1, "prio") + attr(2, struct.pack("=i16B", bands, *bands_of)))


def events():
    with open("/proc/dccport_log", "rb") as file:
        return [Event(values) for values in EVENT.iter_unpack(file.read())]


def clear_log():
    write("/proc/dccport_log", "0")


def pair(mtu=1500, left=None, right=None):
    """Two namespaces a and b, joined by veth a0 (10.0.0.1, fd00::1) and b0 (.2, ::2), with ports."""
    a, b = Netns(), Netns()
    with a:
        veth("a0", "b0", b, mtu)
        up("lo")
        up("a0", "10.0.0.1/24", "fd00::1/64")
        if left is not None:
            port("a0", **left)
    with b:
        up("lo")
        up("b0", "10.0.0.2/24", "fd00::2/64")
        if right is not None:
            port("b0", **right)
    return a, b


def frame(src_mac, dst_mac, seq, length, ecn=0, ipv6=False, flags=0x10):
    """An Ethernet frame of `length` bytes with a TCP segment 1000 -> 2000 in it."""
    tcp = struct.pack("!HHIIBBHHH", 1000, 2000, seq, 0, 0x50, flags, 1000, 0, 0)
    if ipv6:
        size = length - 14 - 40
        ip = struct.pack("!IHBB", 0x60000000 | ecn << 20, size, 6, 64)
        ip += socket.inet_pton(socket.AF_INET6, "fd00::1") + socket.inet_pton(socket.AF_INET6, "fd00::2")
    else:
        size = length - 14 - 20
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, ecn, length - 14, 0, 0, 64, 6, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    kind = 0x86DD if ipv6 else 0x0800
    return dst_mac + src_mac + struct.pack("!H", kind) + ip + tcp + bytes(size - 20)


def checksum(data):
    """Of an IP header; 0 for one that is right."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Wire:
    """Raw frames from a0 to b0; a0 has the port under test, nothing else uses the link."""

    def __init__(self, mtu=1500, **parms):
        self.a, self.b = pair(mtu)
        with self.a:
            self.out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self.out.bind(("a0", 0))
            self.out.setsockopt(socket.SOL_SOCKET, 32, 1 << 30)  # SO_SNDBUFFORCE
            mac_a = self.out.getsockname()[4]
        with self.b:
            self.into = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            self.into.bind(("b0", 3))
            self.into.setsockopt(socket.SOL_SOCKET, 33, 1 << 30)  # SO_RCVBUFFORCE
            self.into.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
            mac_b = self.into.getsockname()[4]
        self.macs = mac_a, mac_b
        # Most of what IPv6 sends when a link comes up is over after this.
        time.sleep(10)
        self.port(change=False, **{**dict(log_flags=DATA | ACKS, port_id=3), **parms})
        clear_log()

    def port(self, change=True, **parms):
        with self.a:
            port("a0", change=change, **parms)

    def stats(self):
        with self.a:
            return port_stats("a0")

    def send(self, seq, length, **options):
        self.out.send(frame(*self.macs, seq, length, **options))

    def receive(self, wait_s=1.0):
        """The TCP frames that arrive in wait_s: [(time of day in ns, frame)]."""
        time.sleep(wait_s)
        self.into.setblocking(False)
        got = []
        while True:
            try:
                data, ancillary, _, address = self.into.recvmsg(65536, 256)
            except BlockingIOError:
                return got
            if address[2] == socket.PACKET_OUTGOING or seq_of(data) is None:
                continue
            seconds, ns = struct.unpack("=qq", ancillary[0][2][:16])
            got.append((seconds * 10**9 + ns, data))


def seq_of(data):
    """The TCP sequence number of a frame; None for other protocols."""
    kind = struct.unpack_from("!H", data, 12)[0]
    protocol, tcp = {0x0800: (23, 34), 0x86DD: (20, 54)}.get(kind, (0, 0))
    return struct.unpack_from("!I", data, tcp + 4)[0] if protocol and data[protocol] == 6 else None


def wall_clock_offset():
    """Time of day minus the monotonic clock that events use, in ns; a clock read takes 1 ns."""
    return time.clock_gettime_ns(time.CLOCK_REALTIME) + 1 - time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def connection(a, b, port_number=5001):
    """A TCP connection from a (10.0.0.1) to b (10.0.0.2): (client, server)."""
    with b:
        listener = socket.create_server(("10.0.0.2", port_number))
    with a:
        client = socket.create_connection(("10.0.0.2", port_number))
    server, _ = listener.accept()
    listener.close()
    return client, server


def transfer(client, server, size):
    """Move size bytes; neither end ever makes a system call that fails."""
    block = memoryview(bytes(min(size, 1 << 20)))
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1 << 18)
    sent = received = 0
    poll = select.epoll()
    poll.register(server.fileno(), select.EPOLLIN)
    poll.register(client.fileno(), select.EPOLLOUT)
    while received < size:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, min(1 << 18, size - received))
        for fd, _ in poll.poll():
            if fd == client.fileno():
                sent += client.send(block[: size - sent], socket.MSG_DONTWAIT)
                if sent == size:
                    poll.unregister(fd)
            else:
                received += server.recv_into(memoryview(SINK), 0, socket.MSG_TRUNC)


SINK = bytearray(4 << 20)


class NoPytest:
    """In pytest's place in the lab: its import takes longer than most tests here."""

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **_):
        return args[0] if len(args) == 1 and callable(args[0]) else self


# The first line of a complaint.
REPORT = re.compile(r"BUG:|WARNING:|UBSAN:|INFO: possible|INFO: trying")


def kernel_reports():
    """What the kernel complained about; in the debug lab that includes locks, memory errors and leaks."""
    leaks = ""
    if os.path.isdir("/sys/kernel/debug") and not os.path.ismount("/sys/kernel/debug"):
        mount("debugfs", "/sys/kernel/debug")
    if os.path.exists("/sys/kernel/debug/kmemleak"):
        for _ in range(2):
            time.sleep(10)  # it does not report what is younger than 5 s
            write("/sys/kernel/debug/kmemleak", "scan")
        leaks = read("/sys/kernel/debug/kmemleak")
    log = ctypes.create_string_buffer(1 << 20)
    libc.klogctl(3, log, len(log))
    reports = []
    for line in log.value.decode(errors="replace").splitlines():
        if REPORT.search(line):
            reports.append([])
        if reports:
            reports[-1].append(line)
    # User-Mode Linux itself walks the memory map without its lock in a new process.
    reports = ["\n".join(lines[:60]) for lines in reports if not any("force_flush_all" in line for line in lines)]
    return "\n".join(reports) + leaks


def mount_tmp():
    """A tmpfs over /tmp.  A project that lives below it stays there."""
    project = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
    below = project.startswith("/tmp/")
    folder = os.open(project, os.O_PATH) if below else None
    mount("tmpfs", "/tmp")
    if below:
        os.makedirs(project)
        check(libc.mount(f"/proc/self/fd/{folder}".encode(), project.encode(), None, 4096, None), f"mount {project}")  # MS_BIND
        os.close(folder)


def main():
    try:
        # Before anything is mounted: the modules may lie below /tmp.
        insmod(os.environ["LAB_PORT_MODULE"])
        script, function = os.environ["LAB_TEST"].rsplit(":", 1)
        sys.path.insert(0, os.path.dirname(script))
        sys.modules["pytest"] = NoPytest()
        module = __import__(os.path.basename(script)[:-3])
        for kind, where in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run")):
            mount(kind, where)
        mount_tmp()
        libc.prctl(29, 1, 0, 0, 0)  # PR_SET_TIMERSLACK: sleep exactly
        result = {"result": getattr(module, function)(*json.loads(os.environ.get("LAB_ARGS", "[]")))}
        result["reports"] = kernel_reports()
    except BaseException:  # an init that ends is a kernel panic
        result = {"error": traceback.format_exc()}
    # Not the console: it drops what its reader does not take at once.
    mount("hostfs", "/run", os.environ["LAB_OUT"])
    write("/run/result.json", json.dumps(result))
    libc.reboot(0x4321FEDC)  # RB_POWER_OFF


if __name__ == "__main__":
    main()
