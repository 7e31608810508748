# SPDX-License-Identifier: Apache-2.0
"""What Python programs in the lab need of the kernel: mounts, modules, netlink, the lab's port qdisc. Standard library only."""

import ctypes
import fcntl
import os
import socket
import struct

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
SYS_FINIT_MODULE = 313
DATA, ACKS, DROP_RST, DSCP_PRIORITY, SPRAY = 1, 2, 4, 8, 16

RTM_NEWLINK, RTM_NEWADDR, RTM_NEWROUTE, RTM_NEWQDISC, RTM_GETQDISC = 16, 20, 24, 36, 38
NLM_REQUEST, NLM_ACK, NLM_REPLACE, NLM_CREATE = 0x1, 0x4, 0x100, 0x400


def check(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def mount(kind, where, options=None):
    data = options.encode() if options else None
    check(libc.mount(kind.encode(), where.encode(), kind.encode(), 0, data), f"mount {where}")


def insmod(path):
    with open(path, "rb") as module:
        check(libc.syscall(SYS_FINIT_MODULE, module.fileno(), b"", 0), f"insmod {path}")


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


class Netns:
    """A network namespace, a new one or that of a process; `with ns:` enters it."""

    def __init__(self, pid=None):
        if pid is not None:
            self.fd = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            return
        mine = os.open("/proc/self/ns/net", os.O_RDONLY)
        check(libc.unshare(CLONE_NEWNET), "unshare")
        self.fd = os.open("/proc/self/ns/net", os.O_RDONLY)
        check(libc.setns(mine, CLONE_NEWNET), "setns")
        os.close(mine)

    def __enter__(self):
        self.back = os.open("/proc/self/ns/net", os.O_RDONLY)
        check(libc.setns(self.fd, CLONE_NEWNET), "setns")
        return self

    def __exit__(self, *_):
        check(libc.setns(self.back, CLONE_NEWNET), "setns")
        os.close(self.back)

    def close(self):
        os.close(self.fd)


# ---- netlink ----


def attr(kind, data):
    if isinstance(data, str):
        data = data.encode() + b"\0"
    elif isinstance(data, int):
        data = struct.pack("=I", data)
    size = 4 + len(data)
    return struct.pack("=HH", size, kind) + data + b"\0" * (-size % 4)


def netlink(kind, flags, body):
    """Send one request; returns its answer's body (b"" for a bare acknowledgment)."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        sock.bind((0, 0))
        sock.setsockopt(270, 11, 1)  # NETLINK_EXT_ACK
        size = 16 + len(body)
        sock.send(struct.pack("=IHHII", size, kind, flags | NLM_REQUEST | NLM_ACK, 1, 0) + body)
        answer = b""
        while True:
            data = sock.recv(65536)
            while data:
                size, got, got_flags, _, _ = struct.unpack_from("=IHHII", data)
                if got == 2:  # NLMSG_ERROR, also the acknowledgment
                    error = -struct.unpack_from("=i", data, 16)[0]
                    if error:
                        raise OSError(error, os.strerror(error) + ": " + ext_ack(data[:size], got_flags))
                    return answer
                answer = data[16:size]
                data = data[(size + 3) & ~3 :]


def ext_ack(message, flags):
    at = 20 + (16 if flags & 0x100 else struct.unpack_from("=I", message, 20)[0])
    at = (at + 3) & ~3
    while at + 4 <= len(message):
        size, kind = struct.unpack_from("=HH", message, at)
        if kind == 1:
            return message[at + 4 : at + size - 1].decode()
        at += (size + 3) & ~3
    return ""


def up(name, *addresses):
    index = socket.if_nametoindex(name)
    for address in addresses:
        host, bits = address.split("/")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        data = socket.inet_pton(family, host)
        # IFA_F_NODAD: usable at once
        body = struct.pack("=BBBBI", family, int(bits), 2, 0, index) + attr(2, data) + attr(1, data)
        netlink(RTM_NEWADDR, NLM_CREATE, body)
    netlink(RTM_NEWLINK, 0, struct.pack("=BxHiII", 0, 0, index, 1, 1))


def no_offload(name):
    with socket.socket() as sock:
        for command in (0x1F, 0x24, 0x2C):  # ETHTOOL_STSO, SGSO, SGRO
            value = ctypes.create_string_buffer(struct.pack("=II", command, 0))
            request = struct.pack("16sP", name.encode(), ctypes.addressof(value))
            fcntl.ioctl(sock, 0x8946, request.ljust(40, b"\0"))


def gso_max_segs(name, segments):
    """1: TCP builds no super-packets.  (Turning TSO and GSO off does not stop it.)"""
    index = socket.if_nametoindex(name)
    netlink(RTM_NEWLINK, 0, struct.pack("=BxHiII", 0, 0, index, 0, 0) + attr(40, segments))


# ---- the port qdisc (dccport.h) ----

PORT_DEFAULTS = dict(rate_bps=0, delay_ns=0, limit_bytes=0, ecn_bytes=0, reorder_delay_ns=0, seed=1,
                     loss_ppm=0, reorder_ppm=0, port_id=0, log_flags=0)


def tcmsg(name, handle):
    return struct.pack("=BxxxiIII", 0, socket.if_nametoindex(name), handle, 0xFFFFFFFF, 0)


def port(name, change=False, noise=(), delays=(), interrupt_gap_ns=0, **parms):
    """Put a dccport on the device, or change it.  noise: quantiles, (ppm, ns); delays: steps,
    (monotonic ns, delay ns); interrupt_gap_ns: of the NIC at the far end."""
    values = {**PORT_DEFAULTS, **parms}
    assert values.keys() == PORT_DEFAULTS.keys(), values
    packed = struct.pack("=QQQQQQIIII", *values.values())
    quantiles = b"".join(struct.pack("=II", *point) for point in noise)
    steps = b"".join(struct.pack("=QQ", *step) for step in delays)
    options = attr(1, packed) + (attr(3, quantiles) if noise else b"")
    options += (attr(4, interrupt_gap_ns) if interrupt_gap_ns else b"") + (attr(5, steps) if steps else b"")
    body = tcmsg(name, 0x10000) + attr(1, "dccport") + attr(2, options)
    netlink(RTM_NEWQDISC, 0 if change else NLM_CREATE | NLM_REPLACE, body)


def port_stats(name):
    """dict of bytes, packets, qlen, backlog, drops, overlimits, parms."""
    # NLM_F_ECHO: without it the answer goes to listeners only
    answer = netlink(RTM_GETQDISC, 8, tcmsg(name, 0x10000))
    out = {}
    for kind, data in attrs(answer[20:]):
        if kind == 2:
            options = dict(attrs(data))
            out["parms"] = dict(zip(PORT_DEFAULTS, struct.unpack("=QQQQQQIIII", options[1])))
            out["noise"] = [list(point) for point in struct.iter_unpack("=II", options.get(3, b""))]
            out["delays"] = [list(step) for step in struct.iter_unpack("=QQ", options.get(5, b""))]
            out["interrupt_gap_ns"] = struct.unpack("=I", options.get(4, bytes(4)))[0]
        if kind == 7:
            for inner, value in attrs(data):
                if inner == 1:
                    out["bytes"], out["packets"] = struct.unpack_from("=QI", value)
                if inner == 3:
                    out["qlen"], out["backlog"], out["drops"], _, out["overlimits"] = struct.unpack("=5I", value)
    return out


def attrs(data):
    while len(data) >= 4:
        size, kind = struct.unpack_from("=HH", data)
        yield kind & 0x3FFF, data[4:size]
        data = data[(size + 3) & ~3 :]
