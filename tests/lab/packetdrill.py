# SPDX-License-Identifier: Apache-2.0
"""An interpreter of packetdrill scripts, for the lab: the host under test and a scripted peer, in virtual time.

A script is a list of events with times: system calls of the host, packets that the peer sends (<), packets that the
host has to send (>), assertions on TCP_INFO (%{ }%) and commands (`...`). docs/develop/packetdrill.md says which
part of the language is understood. What is not raises NotRun, which names the word; it is never passed over.

The host has one end of a veth pair, called tun0 as in packetdrill; the peer is a packet socket at the other end.
Super-packets pass it whole, in both directions. The packets' times are those of the kernel's receive stamps.
"""

import ctypes
import dataclasses
import errno
import fcntl
import os
import re
import select
import socket
import struct
import subprocess
import textwrap
import threading
import time
import typing

import inlab

MS = 10**6
SECOND = 10**9
# As packetdrill's own default, of a single event; the kernel's timer wheel may be late by an eighth of the time.
TOLERANCE_NS = 4 * MS
WHEEL = 8
ANY_TIME_NS = 100 * SECOND
SERVER_PORT = 8080
FIRST_REMOTE_PORT = 32768
WRAP = 1 << 32


class NotRun(Exception):
    """The script uses something that this interpreter or the lab's kernel does not have."""


class Differs(Exception):
    """The host did something else than the script says."""


# ---- the language ---------------------------------------------------------


@dataclasses.dataclass
class Segment:
    """A TCP segment, in the script's numbers."""

    flags: str
    seq: int
    size: int
    ack: typing.Optional[int] = None
    win: typing.Optional[int] = None
    urg: int = 0
    # None: any.  Each is a tuple that begins with the option's name.
    options: typing.Optional[list] = dataclasses.field(default_factory=list)
    ecn: typing.Optional[int] = None


@dataclasses.dataclass
class Icmp:
    kind: str
    code: str
    mtu: int
    seq: int


@dataclasses.dataclass
class Call:
    name: str
    args: list
    value: typing.Any
    error: typing.Optional[str]


@dataclasses.dataclass
class Event:
    line: int
    # "absolute", "relative" or "any"
    time: str
    start_ns: int
    end_ns: int
    # A system call that has to block until end_ns.
    blocks: bool
    # "in", "out", "call", "code", "command"
    kind: str
    body: typing.Any


@dataclasses.dataclass
class Script:
    options: dict
    events: list


NUMBER = r"\d*\.\d+|\d+"
TIME = re.compile(rf"(?P<any>\*)|(?P<plus>\+)?\s*(?P<start>{NUMBER})"
                  rf"(?:\s*(?P<dots>\.\.\.)\s*(?P<until>{NUMBER})|\s*~\s*\+?\s*(?P<range>{NUMBER}))?")
SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)+", re.S)
TOKEN = re.compile(r'\s*(?://[^\n]*\s*)*(\.\.\.|"(?:[^"\\]|\\.)*"|0x[0-9a-fA-F]+|-?\d+|[A-Za-z_]\w*|[()\[\]{}=,|])')
FLAGS = "FSRP.UEWA"
# Accurate ECN's counter: the bits of AE, CWR and ECE.
ACE = {str(value): "".join(name for bit, name in ((4, "A"), (2, "W"), (1, "E")) if value & bit) for value in range(8)}
ECN = {"noecn": 0, "ect1": 1, "ect0": 2, "ce": 3}
ICMP_CODES = {"unreachable": {"net_unreachable": 0, "host_unreachable": 1, "protocol_unreachable": 2, "port_unreachable": 3, "frag_needed": 4,
                              "": 0}, "packet_too_big": {"": 0}}


def seconds_to_ns(text):
    return round(float(text) * 1e9)


class Parser:
    def __init__(self, text, defines):
        self.text, self.defines = text, defines
        self.at = 0

    def line(self):
        return self.text.count("\n", 0, self.at) + 1

    def space(self):
        found = SPACE.match(self.text, self.at)
        if found:
            self.at = found.end()

    def script(self):
        options, events = {}, []
        while True:
            self.space()
            found = re.compile(r"--(\w+)(?:=(\S+))?").match(self.text, self.at)
            if not found:
                break
            options[found[1]] = found[2]
            self.at = found.end()
        # Commands without a time: before all, and at the end.
        while self.at < len(self.text):
            if self.text[self.at] == "`":
                events.append(Event(self.line(), "any", 0, 0, False, "command", self.quoted("`", "`")))
            else:
                events.append(self.event())
            self.space()
        return Script(options, events)

    def quoted(self, opening, closing):
        end = self.text.find(closing, self.at + len(opening))
        if end < 0:
            raise NotRun(f"line {self.line()}: {opening} without an end")
        inner = self.text[self.at + len(opening):end]
        self.at = end + len(closing)
        return inner

    def event(self):
        line = self.line()
        found = TIME.match(self.text, self.at)
        if not found:
            raise NotRun(f"line {line}: no time: {self.rest_of_line()!r}")
        self.at = found.end()
        if found["any"]:
            when, start, end = "any", 0, ANY_TIME_NS
        else:
            when = "relative" if found["plus"] else "absolute"
            start = seconds_to_ns(found["start"])
            end = seconds_to_ns(found["until"] or found["range"] or found["start"])
        blocks = bool(found["dots"])
        self.space()
        first = self.text[self.at]
        if first in "<>":
            self.at += 1
            kind, body = ("in" if first == "<" else "out"), self.packet()
        elif first == "`":
            kind, body = "command", self.quoted("`", "`")
        elif self.text.startswith("%{", self.at):
            kind, body = "code", self.quoted("%{", "}%")
        else:
            kind, body = "call", self.call()
        return Event(line, when, start, end, blocks, kind, body)

    def rest_of_line(self):
        end = self.text.find("\n", self.at)
        return self.text[self.at:end if end >= 0 else len(self.text)].split("//")[0].strip()

    # ---- packets

    def packet(self):
        text, line = self.rest_of_line(), self.line()
        self.at = self.text.find("\n", self.at) if "\n" in self.text[self.at:] else len(self.text)
        if text.startswith("icmp"):
            found = re.fullmatch(r"icmp\s+(\w+)\s*([a-z_]*?)\s*(?:mtu (\d+))?\s*\[(\d+):\d+\(\d+\)\]", text)
            if not found or found[2] not in ICMP_CODES.get(found[1], ()):
                raise NotRun(f"line {line}: {text}")
            return Icmp(found[1], found[2], int(found[3] or 0), int(found[4]))
        found = re.fullmatch(r"(?:\[(?P<ip>[a-z0-9 ,]+)\]\s*)?(?P<flags>-|[A-Z.0-7]+)\s+(?P<seq>\d+):(?P<end>\d+)\((?P<size>\d+)\)"
                             r"(?:\s+ack\s+(?P<ack>\d+))?(?:\s+win\s+(?P<win>\d+))?(?:\s+urg\s+(?P<urg>\d+))?(?:\s*<(?P<options>.*)>)?", text)
        if not found:
            raise NotRun(f"line {line}: {text}")
        flags = "" if found["flags"] == "-" else "".join(ACE.get(flag, flag) for flag in found["flags"])
        if set(flags) - set(FLAGS):
            raise NotRun(f"line {line}: flags {flags}")
        if found["ip"] and found["ip"] not in ECN:
            raise NotRun(f"line {line}: [{found['ip']}]")
        if (int(found["seq"]) + int(found["size"]) - int(found["end"])) % WRAP:
            raise NotRun(f"line {line}: {text}: the numbers do not add up")
        return Segment(sorted_flags(flags), int(found["seq"]), int(found["size"]), found["ack"] and int(found["ack"]),
                       found["win"] and int(found["win"]), int(found["urg"] or 0),
                       self.tcp_options(found["options"], line), ECN.get(found["ip"]))

    def tcp_options(self, text, line):
        if text is None:
            return []
        if text.strip() == "...":
            return None
        options = []
        for one in filter(None, (word.strip() for word in text.split(","))):
            words = one.split()
            name = words[0]
            try:
                if name in ("nop", "eol", "sackOK") and len(words) == 1:
                    options.append((name,))
                elif name in ("mss", "wscale"):
                    options.append((name, int(words[1])))
                elif name == "TS" and words[1] == "val" and words[3] == "ecr":
                    options.append((name, int(words[2]), int(words[4])))
                elif name == "sack":
                    options.append((name, *(tuple(map(int, block.split(":"))) for block in words[1:])))
                elif name in ("FO", "FOEXP"):
                    cookie = self.defines.get(words[1], words[1]) if len(words) > 1 else ""
                    options.append((name, bytes.fromhex(cookie)))
                elif name == "ECN":
                    options.append((name, *zip(words[1::2], map(int, words[2::2]))))
                else:
                    raise NotRun(f"line {line}: option {name}")
            except (IndexError, ValueError):
                raise NotRun(f"line {line}: option {one}") from None
        return options

    # ---- system calls

    def token(self, wanted=None):
        found = TOKEN.match(self.text, self.at)
        if not found or (wanted and found[1] != wanted):
            raise NotRun(f"line {self.line()}: {self.rest_of_line()!r}" + (f": no {wanted}" if wanted else ""))
        self.at = found.end()
        return found[1]

    def peek(self):
        found = TOKEN.match(self.text, self.at)
        return found[1] if found else ""

    def call(self):
        name = self.token()
        self.token("(")
        args = self.values(")")
        self.token("=")
        value = Ellipsis if self.peek() == "..." and self.token() else self.atom(self.token())
        rest = re.compile(r"[ \t]*([A-Z]\w+)?[ \t]*(\([^)\n]*\))?").match(self.text, self.at)
        self.at = rest.end()
        return Call(name, args, value, rest[1])

    def values(self, closing):
        found = []
        while self.peek() != closing:
            found.append(self.value())
            if self.peek() == ",":
                self.token()
        self.token(closing)
        return found

    def value(self):
        word = self.token()
        if word == "...":
            return Ellipsis
        if word == "[":
            return self.values("]")
        if word == "{":
            inner = self.values("}")
            named = [pair for pair in inner if isinstance(pair, Named)]
            return {pair.name: pair.value for pair in named} if named else tuple(inner)
        if re.match(r"[A-Za-z_]", word) and self.peek() in ("=", "("):
            if self.peek() == "(":
                self.token()
                self.values(")")
            self.token("=")
            return Named(word, self.value())
        value = self.atom(word)
        while self.peek() == "|":
            self.token()
            value |= self.atom(self.token())
        return value

    def atom(self, word):
        if word[0] == '"':
            return word[1:-1].encode().decode("unicode_escape").encode("latin-1")
        if word == "NULL":
            return None
        if re.match(r"-?\d", word):
            return int(word, 0)
        word = self.defines.get(word, word)
        value = constant(word)
        if value is None:
            raise NotRun(f"line {self.line()}: {word}")
        return value


@dataclasses.dataclass
class Named:
    name: str
    value: typing.Any


def sorted_flags(flags):
    return "".join(flag for flag in FLAGS if flag in flags)


# What Python's modules of Debian 12 do not know.
CONSTANTS = {
    "SOL_TCP": 6, "SOL_IP": 0, "SOL_IPV6": 41, "TCP_USER_TIMEOUT": 18, "TCP_FASTOPEN": 23, "TCP_FASTOPEN_CONNECT": 30,
    "TCP_FASTOPEN_KEY": 33, "TCP_INQ": 36, "TCP_CM_INQ": 36, "TCP_CONGESTION": 13, "SO_ZEROCOPY": 60, "SO_TIMESTAMPING": 37,
    "SCM_TIMESTAMPING": 37, "MSG_ZEROCOPY": 1 << 26, "MSG_FASTOPEN": 1 << 29, "MSG_MORE": 0x8000, "SIOCINQ": 0x541B,
    "SIOCOUTQ": 0x5411, "SOF_TIMESTAMPING_TX_SOFTWARE": 1 << 1, "SOF_TIMESTAMPING_SOFTWARE": 1 << 4, "SOF_TIMESTAMPING_OPT_ID": 1 << 7,
    "SOF_TIMESTAMPING_TX_SCHED": 1 << 8, "SOF_TIMESTAMPING_TX_ACK": 1 << 9, "SCM_TSTAMP_SND": 0, "SCM_TSTAMP_SCHED": 1,
    "SCM_TSTAMP_ACK": 2, "SO_EE_ORIGIN_TIMESTAMPING": 4, "SO_EE_ORIGIN_ZEROCOPY": 5, "SO_EE_CODE_ZEROCOPY_COPIED": 1,
    "IP_RECVERR": 11, "IPV6_RECVERR": 25, "IP_MTU_DISCOVER": 10, "IP_PMTUDISC_DONT": 0, "IP_TOS": 1, "IP_FREEBIND": 15,
    "AF_UNSPEC": 0, "F_GETFL": 3, "F_SETFL": 4, "SHUT_RD": 0, "SHUT_WR": 1, "SHUT_RDWR": 2, "EPOLL_CTL_ADD": 1, "EPOLL_CTL_DEL": 2,
    "EPOLL_CTL_MOD": 3,
}


def constant(name):
    if name in CONSTANTS:
        return CONSTANTS[name]
    for module in (socket, os, select, errno):
        value = getattr(module, name, None)
        if isinstance(value, int):
            return int(value)
    return None


# ---- TCP_INFO -------------------------------------------------------------

INFO_BYTES = "state ca_state retransmits probes backoff options".split()
INFO_WORDS = ("rto ato snd_mss rcv_mss unacked sacked lost retrans fackets last_data_sent last_ack_sent last_data_recv last_ack_recv pmtu "
              "rcv_ssthresh rtt rttvar snd_ssthresh snd_cwnd advmss reordering rcv_rtt rcv_space total_retrans").split()
INFO_REST = (("Q", "pacing_rate"), ("Q", "max_pacing_rate"), ("Q", "bytes_acked"), ("Q", "bytes_received"), ("I", "segs_out"),
             ("I", "segs_in"), ("I", "notsent_bytes"), ("I", "min_rtt"), ("I", "data_segs_in"), ("I", "data_segs_out"),
             ("Q", "delivery_rate"), ("Q", "busy_time"), ("Q", "rwnd_limited"), ("Q", "sndbuf_limited"), ("I", "delivered"),
             ("I", "delivered_ce"), ("Q", "bytes_sent"), ("Q", "bytes_retrans"), ("I", "dsack_dups"), ("I", "reord_seen"))
INFO_FORMAT = "=6BBx24I" + "".join(kind for kind, _ in INFO_REST)
INFO_NAMES = {"TCP_CA_Open": 0, "TCP_CA_Disorder": 1, "TCP_CA_CWR": 2, "TCP_CA_Recovery": 3, "TCP_CA_Loss": 4,
              "TCPI_OPT_TIMESTAMPS": 1, "TCPI_OPT_SACK": 2, "TCPI_OPT_WSCALE": 4, "TCPI_OPT_ECN": 8, "TCPI_OPT_ECN_SEEN": 16,
              "TCPI_OPT_SYN_DATA": 32, **{name: i + 1 for i, name in enumerate(
                  "TCP_ESTABLISHED TCP_SYN_SENT TCP_SYN_RECV TCP_FIN_WAIT1 TCP_FIN_WAIT2 TCP_TIME_WAIT TCP_CLOSE TCP_CLOSE_WAIT "
                  "TCP_LAST_ACK TCP_LISTEN TCP_CLOSING".split())}}


def unpack_info(data):
    values = struct.unpack_from(INFO_FORMAT, data)
    names = [*INFO_BYTES, "wscales", *INFO_WORDS, *(name for _, name in INFO_REST)]
    info = dict(zip(names, values))
    info["snd_wscale"], info["rcv_wscale"] = info["wscales"] & 15, info["wscales"] >> 4
    return info


# ---- packets on the wire ---------------------------------------------------

BITS = {"F": 1, "S": 2, "R": 4, "P": 8, ".": 16, "U": 32, "E": 64, "W": 128, "A": 256}
# virtio_net_hdr: the checksum is to be filled in; super-packets as such.
VNET = struct.Struct("=BBHHHH")
NEEDS_CSUM, GSO_V4, GSO_V6, GSO_ECN = 1, 1, 4, 0x80
PACKET_VNET_HDR, SOL_PACKET = 15, 263


def pack_options(options):
    data = b""
    for name, *values in options:
        if name == "nop":
            data += b"\1"
        elif name == "eol":
            data += b"\0"
        elif name == "mss":
            data += struct.pack("!BBH", 2, 4, *values)
        elif name == "wscale":
            data += struct.pack("!BBB", 3, 3, *values)
        elif name == "sackOK":
            data += b"\4\2"
        elif name == "sack":
            data += struct.pack("!BB", 5, 2 + 8 * len(values)) + b"".join(struct.pack("!II", a % WRAP, b % WRAP) for a, b in values)
        elif name == "TS":
            data += struct.pack("!BBII", 8, 10, *(value % WRAP for value in values))
        elif name == "FO":
            data += struct.pack("!BB", 34, 2 + len(values[0])) + values[0]
        elif name == "FOEXP":
            data += struct.pack("!BBH", 254, 4 + len(values[0]), 0xF989) + values[0]
        elif name == "ECN":
            kind = 174 if values[0][0] == "e1b" else 172
            data += struct.pack("!BB", kind, 2 + 3 * len(values)) + b"".join(struct.pack("!I", value)[1:] for _, value in values)
    return data + b"\0" * (-len(data) % 4)


def unpack_options(data):
    options = []
    while data:
        kind = data[0]
        if kind < 2:
            options.append(("nop",) if kind else ("eol",))
            data = data[1:]
            continue
        size = data[1] if len(data) > 1 else 0
        if size < 2 or size > len(data):
            return [*options, ("broken", data)]
        inner, data = data[2:size], data[size:]
        if kind == 2:
            options.append(("mss", *struct.unpack("!H", inner)))
        elif kind == 3:
            options.append(("wscale", inner[0]))
        elif kind == 4:
            options.append(("sackOK",))
        elif kind == 5:
            options.append(("sack", *struct.iter_unpack("!II", inner)))
        elif kind == 8:
            options.append(("TS", *struct.unpack("!II", inner)))
        elif kind == 34:
            options.append(("FO", inner))
        elif kind == 254 and inner[:2] == b"\xf9\x89":
            options.append(("FOEXP", inner[2:]))
        elif kind in (172, 174):
            names = ("e1b", "ceb", "e0b") if kind == 174 else ("e0b", "ceb", "e1b")
            options.append(("ECN", *((names[i // 3], int.from_bytes(inner[i:i + 3], "big")) for i in range(0, len(inner), 3))))
        else:
            options.append((f"option {kind}", inner))
    return options


@dataclasses.dataclass
class Live:
    """A segment that the host has sent."""

    at_ns: int
    sport: int
    dport: int
    seq: int
    ack: int
    flags: str
    win: int
    urg: int
    size: int
    ecn: int
    options: list


def unpack_segment(at_ns, frame):
    """None: no TCP segment."""
    kind = struct.unpack_from("!H", frame, 12)[0]
    if kind == 0x0800 and frame[23] == 6:
        ecn, ip_size, total = frame[15] & 3, (frame[14] & 15) * 4, struct.unpack_from("!H", frame, 16)[0]
    elif kind == 0x86DD and frame[20] == 6:
        ecn, ip_size, total = struct.unpack_from("!I", frame, 14)[0] >> 20 & 3, 40, 40 + struct.unpack_from("!H", frame, 18)[0]
    else:
        return None
    tcp = 14 + ip_size
    sport, dport, seq, ack, bits, win, _, urg = struct.unpack_from("!HHIIHHHH", frame, tcp)
    header = (bits >> 12) * 4
    flags = "".join(flag for flag in FLAGS if bits & BITS[flag])
    return Live(at_ns, sport, dport, seq, ack, flags, win, urg, total - ip_size - header, ecn,
                unpack_options(frame[tcp + 20:tcp + header]))


def default_route(family, cwnd):
    """Over tun0.  cwnd: the largest window, in packets; 0: any."""
    message = struct.pack("=BBBBBBBBI", family, 0, 0, 0, 254, 3, 253, 1, 0)
    if cwnd:
        message += inlab.attr(8, inlab.attr(1, 1 << 7) + inlab.attr(7, cwnd))  # RTAX_LOCK of RTAX_CWND
    inlab.netlink(inlab.RTM_NEWROUTE, inlab.NLM_CREATE, message + inlab.attr(4, socket.if_nametoindex("tun0")))


def set_mtu(name, size):
    inlab.netlink(inlab.RTM_NEWLINK, 0, struct.pack("=BxHiII", 0, 0, socket.if_nametoindex(name), 0, 0) + inlab.attr(4, size))


class Wire:
    """tun0 in the host's namespace, and the peer at its other end."""

    LOCAL = {4: "192.168.0.1", 6: "fd3d:a0b:17d6::1"}
    REMOTE = {4: "192.0.2.1", 6: "fd3d:fa7b:d17d::1"}

    def __init__(self, version, mtu, cwnd):
        self.version = version
        self.family = socket.AF_INET if version == 4 else socket.AF_INET6
        self.local, self.remote = self.LOCAL[version], self.REMOTE[version]
        self.host, self.peer = inlab.Netns(), inlab.Netns()
        with self.host:
            inner = struct.pack("=BxHiII", 0, 0, 0, 0, 0) + inlab.attr(3, "peer0") + inlab.attr(28, self.peer.fd) + inlab.attr(4, 65535)
            info = inlab.attr(1, "veth") + inlab.attr(2, inlab.attr(1, inner))
            # IFF_NOARP: nobody answers.
            body = struct.pack("=BxHiII", 0, 0, 0, 0x80, 0x80) + inlab.attr(3, "tun0") + inlab.attr(4, mtu) + inlab.attr(18, info)
            inlab.netlink(inlab.RTM_NEWLINK, inlab.NLM_CREATE, body)
            inlab.up("lo")
        with self.peer:
            inlab.up("peer0")
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self.sock.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
            self.sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)  # SO_RCVBUFFORCE
            self.sock.setsockopt(socket.SOL_SOCKET, 32, 1 << 26)  # SO_SNDBUFFORCE
            self.sock.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
            self.sock.bind(("peer0", 0x0003))
        with self.host:
            inlab.up("tun0", self.local + ("/16" if version == 4 else "/64"))
            default_route(self.family, cwnd)
            with socket.socket() as sock:
                self.mac = fcntl.ioctl(sock, 0x8927, struct.pack("256s", b"tun0"))[18:24]  # SIOCGIFHWADDR
        self.sock.setblocking(False)
        # The kernel looks at links at most once a second; until then tun0 takes nothing.
        sleep_ns(2 * SECOND)

    def close(self):
        self.sock.close()
        os.close(self.host.fd)
        os.close(self.peer.fd)

    def receive(self, until_ns):
        """The next segment from the host that is there by then; None: none."""
        while True:
            try:
                data, ancillary, _, address = self.sock.recvmsg(1 << 17, 256)
            except BlockingIOError:
                left = until_ns - time.clock_gettime_ns(time.CLOCK_REALTIME)
                if left <= 0:
                    return None
                select.select([self.sock], [], [], left / 1e9)
                continue
            if address[2] == socket.PACKET_OUTGOING:
                continue
            seconds, ns = struct.unpack("=qq", ancillary[0][2][:16])
            segment = unpack_segment(seconds * SECOND + ns, data[VNET.size:])
            if segment:
                return segment

    def ip(self, size, protocol, ecn=0):
        if self.version == 6:
            return struct.pack("!IHBB", 0x60000000 | ecn << 20, size, protocol, 64) + socket.inet_pton(self.family, self.remote) + \
                socket.inet_pton(self.family, self.local)
        head = struct.pack("!BBHHHBBH", 0x45, ecn, 20 + size, 1, 0, 64, protocol, 0) + socket.inet_aton(self.remote) + socket.inet_aton(self.local)
        return head[:10] + struct.pack("!H", inlab.checksum(head)) + head[12:]

    def pseudo_sum(self, size, protocol, source, target):
        data = socket.inet_pton(self.family, source) + socket.inet_pton(self.family, target) + struct.pack("!II", size, protocol)
        return ~inlab.checksum(data) & 0xFFFF

    def send(self, sport, dport, seq, ack, segment, options, mss):
        """A segment to the host."""
        options = pack_options(options)
        bits = sum(BITS[flag] for flag in segment.flags) | (20 + len(options)) // 4 << 12
        size = 20 + len(options) + segment.size
        tcp = struct.pack("!HHIIHHHH", sport, dport, seq % WRAP, ack % WRAP, bits, segment.win or 0,
                          self.pseudo_sum(size, 6, self.remote, self.local), segment.urg) + options
        ip = self.ip(size, 6, segment.ecn or 0)
        kind = 0x0800 if self.version == 4 else 0x86DD
        head = self.mac + b"\2\0\0\0\0\1" + struct.pack("!H", kind) + ip + tcp
        gso = (GSO_V4 if self.version == 4 else GSO_V6) if mss and segment.size > mss else 0
        if gso and "W" in segment.flags:
            gso |= GSO_ECN
        vnet = VNET.pack(NEEDS_CSUM, gso, len(head) if gso else 0, mss if gso else 0, 14 + len(ip), 16)
        self.sock.send(vnet + head + bytes(segment.size))

    def send_icmp(self, icmp, sport, dport, seq):
        """About a segment of the host, sport -> dport."""
        tcp = struct.pack("!HHIIHHHH", sport, dport, seq % WRAP, 0, 0x5010, 0, 0, 0)
        code = ICMP_CODES[icmp.kind][icmp.code]
        addresses = [socket.inet_pton(self.family, address) for address in (self.local, self.remote)]
        if self.version == 4:
            inner = struct.pack("!BBHHHBBH", 0x45, 0, 1500, 1, 0x4000, 64, 6, 0) + b"".join(addresses)
            body = struct.pack("!BBHHH", 3, code, 0, 0, icmp.mtu) + inner + tcp
            body = body[:2] + struct.pack("!H", inlab.checksum(body)) + body[4:]
            frame = self.ip(len(body), 1) + body
        else:
            inner = struct.pack("!IHBB", 0x60000000, 1460, 6, 64) + b"".join(addresses)
            kind = 2 if icmp.kind == "packet_too_big" else 1
            body = struct.pack("!BBHI", kind, code, 0, icmp.mtu) + inner + tcp
            pseudo = socket.inet_pton(self.family, self.remote) + addresses[0] + struct.pack("!II", len(body), 58)
            body = body[:2] + struct.pack("!H", inlab.checksum(pseudo + body)) + body[4:]
            frame = self.ip(len(body), 58) + body
        kind = 0x0800 if self.version == 4 else 0x86DD
        self.sock.send(VNET.pack(0, 0, 0, 0, 0, 0) + self.mac + b"\2\0\0\0\0\1" + struct.pack("!H", kind) + frame)


# ---- system calls of the host ----------------------------------------------

libc = inlab.libc


MAY_BLOCK = {"accept", "connect", "epoll_wait", "read", "recv", "recvfrom", "recvmsg", "send", "sendfile", "sendmsg", "sendto", "splice", "write"}


class Worker(threading.Thread):
    """Makes the host's system calls that may block, one at a time.  Its namespace is another one: it makes no socket."""

    def __init__(self):
        super().__init__(daemon=True)
        self.wake = threading.Semaphore(0)
        self.pending = None
        self.start()

    def run(self):
        while True:
            self.wake.acquire()
            self.pending.make()

    def begin(self, function, args):
        self.pending = Task(function, args)
        self.wake.release()
        # Virtual time stands still while anything runs.
        sleep_ns(1000)
        return self.pending


class Task:
    """A system call."""

    def __init__(self, function, args):
        self.function, self.args, self.done = function, args, False

    def make(self):
        ctypes.set_errno(0)
        self.result = self.function(*self.args)
        self.errno = ctypes.get_errno()
        self.done_ns = time.clock_gettime_ns(time.CLOCK_REALTIME)
        self.done = True


def sleep_ns(ns):
    if ns > 0:
        inlab.sleep_until(time.clock_gettime_ns(time.CLOCK_MONOTONIC) + ns)


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Msghdr(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("namelen", ctypes.c_uint32), ("iov", ctypes.c_void_p), ("iovlen", ctypes.c_size_t),
                ("control", ctypes.c_void_p), ("controllen", ctypes.c_size_t), ("flags", ctypes.c_int)]


def control_messages(data):
    found = []
    while len(data) >= 16:
        size, level, kind = struct.unpack_from("=Qii", data)
        if size < 16:
            break
        found.append((level, kind, data[16:size]))
        data = data[(size + 7) & ~7:]
    return found


# ---- connections -------------------------------------------------------------


class Connection:
    """Numbers of one connection: those of the script and those on the wire."""

    def __init__(self, remote_port, local_port=None):
        self.remote_port, self.local_port = remote_port, local_port
        self.remote_isn = self.local_isn = None
        self.script_remote_isn = self.script_local_isn = 0
        # TSval of the script -> on the wire.
        self.stamps = {}
        self.first_stamp = None
        # Of the peer, on the wire: its next sequence number, its window, its clock, what it has acknowledged.
        self.next_seq, self.win, self.stamp, self.acked = 0, 0, 0, None


FIRST_CONNECTION = """
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 99
+0 fcntl(99, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0 connect(99, ..., ...) = -1
+0 > S 0:0(0) <...>
+0 < S. 0:0(0) ack 1 win 1000 <mss 1000>
+0 > . 1:1(0) ack 1
+0 close(99) = 0
+0 > F. 1:1(0) ack 1
+0 < F. 1:1(0) ack 2 win 1000
+0 > . 2:2(0) ack 2
"""


# ---- running -------------------------------------------------------------------

SHELL = ("/bin/rm", "/bin/dd")
EXPRESSION = re.compile(r"\$\(\(([0-9*+() ]+)\)\)")


class Runner:
    """Runs one script for one congestion control."""

    def __init__(self, folder, name, algorithm, settings=None, version=None, cwnd=0, worker=None):
        self.folder, self.name, self.algorithm = folder, name, algorithm
        self.settings = settings or {}
        self.cwnd = cwnd
        self.probes = 0
        # A script may be for one version alone.
        only = re.search(r"^--ip_version=ipv([46])$", read_text(folder, name), re.M)
        self.version = int(only[1]) if only else version or 4
        self.defines = runner_defines(folder, self.version)
        self.script = Parser(read_text(folder, name), self.defines).script()
        self.tolerance_ns = int(self.script.options.get("tolerance_usecs", TOLERANCE_NS // 1000)) * 1000
        self.mss = int(self.script.options.get("mss", 0))
        self.tick_ns = int(self.script.options.get("tcp_ts_tick_usecs", 0)) * 1000
        if unknown := set(self.script.options) - {"ip_version", "tolerance_usecs", "mss", "tcp_ts_tick_usecs", "send_omit_free"}:
            raise NotRun(f"--{sorted(unknown)[0]}")
        self.fds, self.active = {}, {}
        self.connection, self.accepting, self.info_fd = None, False, None
        self.remote_port = FIRST_REMOTE_PORT
        self.worker = worker or Worker()
        self.pending = None
        self.statistics = {}

    def run(self):
        """Raises Differs or NotRun; `line` is where."""
        self.line = 0
        self.wire = Wire(self.version, 1500 if self.version == 4 else 1520, self.cwnd)
        try:
            with self.wire.host:
                self.prepare()
                for name, value in self.settings.items():
                    inlab.write("/proc/sys/net/ipv4/delaycc/" + name, str(value))
                if self.cwnd:
                    self.limit_window()
                events = list(self.script.events)
                while events and events[0].kind == "command" and events[0].time == "any":
                    self.line = events[0].line
                    self.command(events.pop(0).body)
                self.zero_ns = self.base_ns = self.clock()
                for event in events:
                    self.line = event.line
                    self.event(event)
                self.finish_pending()
        finally:
            for fd in self.fds.values():
                # Resets what is left: an abandoned system call ends, too.
                libc.setsockopt(fd, 1, 13, struct.pack("=ii", 1, 0), 8)
                libc.shutdown(fd, 2)
                libc.close(fd)
            self.wire.close()

    def prepare(self):
        self.write_sysctl("net/ipv4/tcp_congestion_control", self.algorithm)
        used = inlab.read("/proc/sys/net/ipv4/tcp_congestion_control").strip()
        assert used == self.algorithm, used

    def limit_window(self):
        """TCP looks at the route's limit for peers that it has had a connection with."""
        self.zero_ns = self.base_ns = self.clock()
        for event in Parser(FIRST_CONNECTION, self.defines).script().events:
            self.event(event)
        self.connection, self.info_fd = None, None

    # ---- time

    @staticmethod
    def clock():
        return time.clock_gettime_ns(time.CLOCK_REALTIME)

    def event(self, event):
        self.allowed_ns = self.tolerance_ns
        if event.time == "relative":
            start, end = self.base_ns + event.start_ns, self.base_ns + event.end_ns
        elif event.time == "absolute":
            start, end = self.zero_ns + event.start_ns, self.zero_ns + event.end_ns
        else:
            start, end = self.clock(), self.clock() + ANY_TIME_NS
        if event.time != "any":
            self.allowed_ns = max(self.tolerance_ns, (start - self.base_ns) // WHEEL)
        if event.kind == "out":
            self.expect(event.body, start, end, event.time == "any")
        else:
            if event.time != "any":
                sleep_ns(start - self.clock())
            if event.kind == "in":
                self.inject(event.body)
            elif event.kind == "call":
                self.finish_pending()
                self.call(event.body, end if event.blocks else None)
            elif event.kind == "code":
                self.finish_pending()
                self.code(event.body)
            else:
                self.finish_pending()
                self.command(event.body)
        self.base_ns = max(self.clock(), start) if event.time != "any" else self.clock()

    # ---- commands

    def command(self, text):
        text = text.replace("\\\n", " ")
        for line in re.split(r"[\n;]", text):
            line = re.sub(r"\s#.*", "", line).strip()
            if line:
                self.one_command(line)

    def one_command(self, line):
        words = line.replace("2>/dev/null", "").replace(">/dev/null", "").replace("> /dev/null", "").replace("2>&1", "").split()
        name = words[0]
        if name == "./defaults.sh" and len(words) == 1:
            for one in read_text(self.folder, "defaults.sh").splitlines():
                one = one.split("#")[0].strip()
                # Its qdisc and its cache of metrics are those of a new namespace.
                if one and not one.startswith(("tc ", "ip tcp_metrics")):
                    self.one_command(one)
        elif name == "./set_sysctls.py":
            for word in words[1:]:
                path, value = word.split("=", 1)
                self.write_sysctl(path.removeprefix("/proc/sys/"), value, strict=True)
        elif name.startswith("/tmp/sysctl_restore_"):
            pass  # the namespace ends with the script
        elif name == "sysctl":
            self.sysctl(line)
        elif name == "nstat":
            self.nstat(line)
        elif words == ["ip", "tcp_metrics", "flush", "all"]:
            pass
        elif words[:6] == ["ip", "link", "set", "dev", "tun0", "mtu"]:
            set_mtu("tun0", int(words[6]))
        elif words[:3] == ["ethtool", "-K", "tun0"]:
            self.offloads(words[3:])
        elif words[:2] == ["tc", "qdisc"]:
            self.qdisc(words[2:])
        elif name in SHELL:
            if subprocess.run(["/bin/sh", "-c", line], cwd=self.folder, check=False).returncode:
                raise Differs(f"the command failed: {line}")
        else:
            raise NotRun(f"command {name}")

    def sysctl(self, line):
        line = EXPRESSION.sub(lambda found: str(eval(found[1])), line)  # digits and * + ( ) alone
        for name, quoted, bare in re.findall(r'([\w./]+)=(?:"([^"]*)"|(\S+))', line):
            self.write_sysctl(name if "/" in name else name.replace(".", "/"), quoted or bare)

    def write_sysctl(self, path, value, strict=False):
        if path.endswith("tcp_congestion_control"):
            value = self.algorithm
        try:
            inlab.write("/proc/sys/" + path, value)
        except FileNotFoundError:
            if strict:
                raise NotRun(f"{path.replace('/', '.')}: this kernel has no such sysctl") from None
        except OSError as error:
            # An older kernel's range is smaller; sysctl -q would have gone on.
            self.statistics["refused"] = f"{path}={value}: {error.strerror}"

    def offloads(self, words):
        commands = {"tso": 0x1F, "gso": 0x24, "gro": 0x2C}
        with socket.socket() as sock:
            for name, value in zip(words[::2], words[1::2]):
                if name == "lro":
                    continue
                if name not in commands:
                    raise NotRun(f"ethtool -K {name}")
                request = ctypes.create_string_buffer(struct.pack("=II", commands[name], value == "on"))
                fcntl.ioctl(sock, 0x8946, struct.pack("16sP", b"tun0", ctypes.addressof(request)).ljust(40, b"\0"))

    def qdisc(self, words):
        action, words = words[0], words[1:]
        if words[:3] != ["dev", "tun0", "root"]:
            raise NotRun("tc qdisc " + " ".join(words))
        if action in ("delete", "del"):
            return  # the next one replaces it
        kind, words = words[3], words[4:]
        options = b""
        if kind == "pfifo" and words[:1] == ["limit"]:
            options = inlab.attr(2, struct.pack("=I", int(words[1])))
            words = words[2:]
        if words or kind not in ("pfifo", "fq"):
            raise NotRun("tc qdisc " + " ".join([kind, *words]))
        message = struct.pack("=BxxxiIII", 0, socket.if_nametoindex("tun0"), 0x10000, 0xFFFFFFFF, 0)
        inlab.netlink(inlab.RTM_NEWQDISC, inlab.NLM_CREATE | inlab.NLM_REPLACE, message + inlab.attr(1, kind) + options)

    def counters(self):
        lines = inlab.read("/proc/thread-self/net/netstat").splitlines()
        found = {}
        for keys, values in zip(lines[::2], lines[1::2]):
            prefix = keys.split(":")[0]
            found.update((prefix + key, int(value)) for key, value in zip(keys.split()[1:], values.split()[1:]))
        return found

    def nstat(self, line):
        now = self.counters()
        words = line.split()
        wanted = re.fullmatch(r'nstat( -s)? \| grep (\w+) ?(?:> /dev/null|\| ?grep -q " (\d+) ")', line)
        if wanted:
            if wanted[2] not in now:
                raise NotRun(f"{wanted[2]}: this kernel does not count it")
            value = now[wanted[2]] - self.statistics.get(wanted[2], 0)
            if str(value) != wanted[3] if wanted[3] else not value:
                raise Differs(f"{wanted[2]} is {value}")
        elif set(words[1:]) - {"-n", ">", "/dev/null"}:
            raise NotRun(line)
        if not (wanted and wanted[1]):
            self.statistics.update(now)

    # ---- assertions

    def code(self, text):
        if self.info_fd is None:
            raise NotRun("TCP_INFO without a socket")
        buffer, size = ctypes.create_string_buffer(512), ctypes.c_uint32(512)
        inlab.check(libc.getsockopt(self.fds[self.info_fd], 6, 11, buffer, ctypes.byref(size)), "TCP_INFO")
        names = dict(INFO_NAMES)
        names.update(("tcpi_" + key, value) for key, value in unpack_info(buffer.raw).items())
        memory, size = ctypes.create_string_buffer(64), ctypes.c_uint32(64)
        if libc.getsockopt(self.fds[self.info_fd], 1, 55, memory, ctypes.byref(size)) == 0:  # SO_MEMINFO
            names["SK_MEMINFO_RCVBUF"] = struct.unpack_from("=9I", memory.raw)[1]
        try:
            exec(compile(textwrap.dedent(text).strip().rstrip("\\"), self.name, "exec"), names)
        except AssertionError as error:
            raise Differs(f"assertion: {error}") from None
        except NameError as error:
            raise NotRun(str(error)) from None
        except SyntaxError as error:
            raise NotRun(f"assertion: {error}") from None

    # ---- packets

    def inject(self, body):
        c = self.connection
        if isinstance(body, Icmp):
            self.wire.send_icmp(body, c.local_port, c.remote_port, c.local_isn + body.seq)
            return
        syn = "S" in body.flags
        if syn and "." not in body.flags and self.accepting:
            c = self.connection = Connection(self.remote_port, SERVER_PORT)
            self.remote_port += 1
            self.accepting = False
        if c is None:
            raise NotRun("a packet before there is a connection")
        if c.remote_isn is None:
            c.remote_isn = c.script_remote_isn = body.seq
        seq = body.seq - (c.script_remote_isn if syn else 0) + c.remote_isn
        ack = 0 if body.ack is None else body.ack - (c.script_local_isn if syn else 0) + (c.local_isn or 0)
        options = []
        for name, *values in body.options or ():
            if name == "TS":
                values[1] = c.stamps.get(values[1], values[1])
            elif name == "sack":
                values = [((a + c.local_isn) % WRAP, (b + c.local_isn) % WRAP) for a, b in values]
            options.append((name, *values))
        c.next_seq = max(c.next_seq, seq + body.size + syn + ("F" in body.flags))
        scale = next((option[1] for option in options if option[0] == "wscale"), 0) if syn else 0
        c.win = ((body.win or 0) + (1 << scale) - 1) >> scale
        c.stamp = next((option[1] for option in options if option[0] == "TS"), c.stamp)
        if "." in body.flags and (c.acked is None or (ack - c.acked) % WRAP < 1 << 31):
            c.acked = ack
        self.wire.send(c.remote_port, c.local_port, seq, ack, body, options, self.mss)

    def next_segment(self, until_ns):
        """The next segment of the connection under test."""
        while segment := self.wire.receive(until_ns):
            c = self.connection
            if c is None:
                continue
            if c.local_port is None and "S" in segment.flags and segment.dport == c.remote_port:
                c.local_port = segment.sport
            if (segment.sport, segment.dport) != (c.local_port, c.remote_port):
                continue
            if self.answer(c, segment):
                continue
            return segment
        return None

    def answer(self, c, segment):
        """Is it a probe (docs/operate/probe.md)?  Those are no part of the script; the peer answers with a D-SACK."""
        if segment.flags != "P." or segment.size > 1 or c.local_isn is None:
            return False
        if not segment.size:
            return True  # what leads a first probe, for servers with SYN cookies
        acked = c.local_isn + 1 if c.acked is None else c.acked
        if not 1 <= (acked - segment.seq) % WRAP <= 8:
            return False
        self.probes += 1
        options = [("nop",), ("nop",), ("sack", (segment.seq, segment.seq + 1))]
        if stamps := [option for option in segment.options if option[0] == "TS"]:
            options = [("nop",), ("nop",), ("TS", c.stamp, stamps[0][1]), *options]
        self.wire.send(c.remote_port, c.local_port, c.next_seq, acked, Segment(".", 0, 0, win=c.win), options, 0)
        return True

    def expect(self, body, start, end, any_time):
        while True:
            segment = self.next_segment(end + self.allowed_ns + SECOND)
            if segment is None:
                raise Differs("no packet came")
            c = self.connection
            syn = "S" in body.flags and "S" in segment.flags
            if syn and c.local_isn is None:
                c.local_isn, c.script_local_isn = segment.seq, body.seq
            if c.local_isn is None:
                raise Differs(f"flags {segment.flags}")
            # As packetdrill without --strict_segments: data may come in pieces, of which the last is as the script says.
            piece = 0 < segment.size < body.size and not syn
            expected = body
            if piece:
                flags = "P" if "P" in segment.flags else ""
                flags = sorted_flags(flags + "".join(set(body.flags) - set("PF")))
                expected = dataclasses.replace(body, size=segment.size, flags=flags)
                body = dataclasses.replace(body, seq=body.seq + segment.size, size=body.size - segment.size)
            self.compare(c, expected, segment, syn)
            self.on_time(segment, start, end, any_time)
            if not piece:
                return

    def on_time(self, segment, start, end, any_time):
        off = max(start - self.allowed_ns - segment.at_ns, segment.at_ns - end - self.allowed_ns)
        if off > 0 and not any_time:
            late = segment.at_ns - end if segment.at_ns > end else segment.at_ns - start
            raise Differs(f"{abs(late) / 1e6:.3f} ms {'late' if late > 0 else 'early'}")

    def compare(self, c, body, segment, syn):
        seq = (segment.seq - c.local_isn + (c.script_local_isn if syn else 0)) % WRAP
        ack = (segment.ack - (c.remote_isn or 0) + (c.script_remote_isn if syn else 0)) % WRAP
        seen = f"sent {segment.flags or '-'} {seq}:{(seq + segment.size) % WRAP}({segment.size})"
        if "." in segment.flags:
            seen += f" ack {ack}"
        if (sorted_flags(segment.flags), seq, segment.size) != (body.flags, body.seq, body.size):
            raise Differs(seen)
        if body.ack is not None and "." in segment.flags and ack != body.ack:
            raise Differs(seen)
        if body.win is not None and segment.win != body.win:
            raise Differs(f"{seen} win {segment.win}")
        if segment.urg != body.urg:
            raise Differs(f"{seen} urg {segment.urg}")
        if body.ecn is not None and segment.ecn != body.ecn:
            raise Differs(f"{seen} ECN {segment.ecn}")
        if body.options is not None:
            self.compare_options(c, body, segment, seen)
        for option in segment.options:
            if option[0] == "TS" and body.options is None:
                c.stamps.setdefault(option[1], option[1])

    def compare_options(self, c, body, segment, seen):
        live = []
        for name, *values in segment.options:
            if name == "sack":
                values = [((a - c.remote_isn) % WRAP, (b - c.remote_isn) % WRAP) for a, b in values]
            live.append((name, *values))
        if [option[0] for option in live] != [option[0] for option in body.options]:
            raise Differs(f"{seen} <{','.join(option[0] for option in live)}>")
        for wanted, got in zip(body.options, live):
            if wanted[0] == "TS":
                self.compare_stamps(c, wanted, got, segment, seen)
            elif wanted != got:
                raise Differs(f"{seen} <{' '.join(map(str, got))}>")

    def compare_stamps(self, c, wanted, got, segment, seen):
        if c.first_stamp is None:
            c.first_stamp = (wanted[1], got[1])
        c.stamps[wanted[1]] = got[1]
        if wanted[2] != got[2]:
            raise Differs(f"{seen} <TS ecr {got[2]}>")
        if self.tick_ns:
            off = (got[1] - c.first_stamp[1]) - (wanted[1] - c.first_stamp[0])
            if abs(off) * self.tick_ns > self.tolerance_ns + self.tick_ns:
                raise Differs(f"{seen} <TS val {off:+} ticks>")

    # ---- system calls

    def finish_pending(self):
        """A system call that had to block has to be over by its time."""
        if not self.pending:
            return
        (task, call, end, line), self.pending = self.pending, None
        if not task.done:
            sleep_ns(end + self.tolerance_ns - self.clock())
        here, self.line = self.line, line
        if not task.done:
            self.worker = Worker()
            raise Differs(f"{call.name}() still blocks")
        if abs(task.done_ns - end) > self.tolerance_ns:
            raise Differs(f"{call.name}() ended {(task.done_ns - end) / 1e6:.3f} ms after its time")
        self.returned(call, task)
        self.line = here

    def call(self, call, end):
        handler = getattr(self, "do_" + call.name, None)
        if not handler:
            raise NotRun(f"{call.name}()")
        if call.name in MAY_BLOCK:
            task = self.worker.begin(*handler(*call.args))
        else:
            task = Task(*handler(*call.args))
            task.make()
        if end is not None and not task.done:
            self.pending = (task, call, end, self.line)
            return
        if not task.done:
            sleep_ns(self.tolerance_ns)
        if not task.done:
            self.worker = Worker()
            raise Differs(f"{call.name}() blocks")
        if end is not None and abs(task.done_ns - end) > self.tolerance_ns:
            raise Differs(f"{call.name}() did not block")
        self.returned(call, task)

    def returned(self, call, task):
        name = errno.errorcode.get(task.errno, str(task.errno)) if task.result < 0 else None
        new = call.name in ("socket", "accept", "open", "epoll_create")
        if new and task.result >= 0 and isinstance(call.value, int) and call.value >= 0:
            self.fds[call.value] = task.result
            if call.name in ("socket", "accept"):
                self.info_fd = call.value
        elif call.value is not Ellipsis and task.result != call.value or (call.error and name != call.error):
            raise Differs(f"{call.name}() = {task.result}" + (f" {name}" if name else ""))
        check = getattr(self, "after_" + call.name, None)
        if check and task.result >= 0:
            check(call, task)

    def fd(self, number):
        if number not in self.fds:
            raise NotRun(f"file descriptor {number}")
        return self.fds[number]

    def do_socket(self, domain, kind, protocol):
        self.accepting = False
        return libc.socket, (int(self.wire.family), kind, protocol)

    def address(self, host, port):
        if self.version == 4:
            return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(host) + bytes(8)
        return struct.pack("=H", socket.AF_INET6) + struct.pack("!HI", port, 0) + socket.inet_pton(socket.AF_INET6, host) + bytes(4)

    def do_bind(self, fd, *_):
        data = self.address(self.wire.local, SERVER_PORT)
        return libc.bind, (self.fd(fd), data, len(data))

    def do_listen(self, fd, backlog):
        self.accepting = True
        return libc.listen, (self.fd(fd), backlog)

    def do_accept(self, fd, *_):
        return libc.accept, (self.fd(fd), None, None)

    def connects(self, fd):
        if self.active.get(fd) is None:
            self.connection = self.active[fd] = Connection(SERVER_PORT)
            self.info_fd = fd

    def do_connect(self, fd, address, _size):
        if address == 0:  # AF_UNSPEC
            self.active[fd] = None
            return libc.connect, (self.fd(fd), bytes(16), 16)
        self.connects(fd)
        data = self.address(self.wire.remote, SERVER_PORT)
        return libc.connect, (self.fd(fd), data, len(data))

    def buffer(self, data, size):
        if data is None:
            return None
        if data is not Ellipsis:
            raise NotRun("data")
        return bytes(size)

    def room(self, data, size):
        return None if data is None else ctypes.create_string_buffer(max(size, 1))

    def do_write(self, fd, data, size):
        return libc.write, (self.fd(fd), self.buffer(data, size), ctypes.c_size_t(size))

    def do_send(self, fd, data, size, flags):
        return libc.send, (self.fd(fd), self.buffer(data, size), ctypes.c_size_t(size), flags | 0x4000)  # MSG_NOSIGNAL

    def do_sendto(self, fd, data, size, flags, address, _size):
        target = b""
        if flags & CONSTANTS["MSG_FASTOPEN"]:
            self.connects(fd)
            target = self.address(self.wire.remote, SERVER_PORT)
        return libc.sendto, (self.fd(fd), self.buffer(data, size), ctypes.c_size_t(size), flags | 0x4000, target or None, len(target))

    def do_read(self, fd, data, size):
        return libc.read, (self.fd(fd), self.room(data, size), ctypes.c_size_t(size))

    def do_recv(self, fd, data, size, flags):
        return libc.recv, (self.fd(fd), self.room(data, size), ctypes.c_size_t(size), flags)

    def do_recvfrom(self, fd, data, size, flags, *_):
        return libc.recvfrom, (self.fd(fd), self.room(data, size), ctypes.c_size_t(size), flags, None, None)

    def message(self, fields, control):
        vectors = [(size if isinstance(size, int) else 0) for _, size in fields["msg_iov"]]
        buffers = [ctypes.create_string_buffer(max(size, 1)) for size in vectors]
        iov = (Iovec * len(vectors))(*(Iovec(ctypes.addressof(buffer), size) for buffer, size in zip(buffers, vectors)))
        space = ctypes.create_string_buffer(control) if control else None
        header = Msghdr(None, 0, ctypes.addressof(iov), len(vectors), space and ctypes.addressof(space), control, 0)
        # What it points to lives as long as it does.
        self.kept = (header, iov, buffers, space)
        return header

    def do_sendmsg(self, fd, fields, flags):
        if set(fields) - {"msg_name", "msg_iov", "msg_flags"}:
            raise NotRun("sendmsg() with a control message")
        return libc.sendmsg, (self.fd(fd), ctypes.byref(self.message(fields, 0)), flags | 0x4000)

    def do_recvmsg(self, fd, fields, flags):
        return libc.recvmsg, (self.fd(fd), ctypes.byref(self.message(fields, 512)), flags)

    def after_recvmsg(self, call, _task):
        header, _, _, space = self.kept
        fields = call.args[1]
        if header.flags != fields.get("msg_flags", 0):
            raise Differs(f"msg_flags {header.flags:#x}")
        wanted, got = fields.get("msg_control", []), control_messages(space.raw[:header.controllen])
        if [(one["cmsg_level"], one["cmsg_type"]) for one in wanted] != [one[:2] for one in got]:
            raise Differs(f"control messages {[one[:2] for one in got]}")
        for one, (_, kind, data) in zip(wanted, got):
            self.control(one["cmsg_data"], kind, data)

    def control(self, wanted, kind, data):
        if isinstance(wanted, int):
            value = struct.unpack_from("=i", data)[0]
            if value != wanted:
                raise Differs(f"control message {value}")
        elif "scm_sec" in wanted:
            seconds, ns = struct.unpack_from("=qq", data)
            at = self.zero_ns + wanted["scm_sec"] * SECOND + wanted["scm_nsec"]
            off = seconds * SECOND + ns - at
            if abs(off) > self.tolerance_ns:
                raise Differs(f"time stamp {off / 1e6:+.3f} ms")
        else:
            number, origin, error_type, code, info, value = struct.unpack_from("=IBBBxII", data)
            got = {"ee_errno": number, "ee_origin": origin, "ee_type": error_type, "ee_code": code, "ee_info": info, "ee_data": value}
            if got != wanted:
                raise Differs(f"error message {got}")

    def do_setsockopt(self, fd, level, option, value, size):
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], int):
            data = value[0].to_bytes(4, "little")
        elif isinstance(value, bytes):
            data = value
        else:
            raise NotRun(f"setsockopt() with {value}")
        return libc.setsockopt, (self.fd(fd), level, option, data or None, size)

    def do_getsockopt(self, fd, level, option, value, size):
        self.kept = ctypes.create_string_buffer(64), ctypes.c_uint32(size[0])
        return libc.getsockopt, (self.fd(fd), level, option, self.kept[0], ctypes.byref(self.kept[1]))

    def after_getsockopt(self, call, _task):
        value = int.from_bytes(self.kept[0].raw[:self.kept[1].value], "little")
        if call.args[3] != [value]:
            raise Differs(f"getsockopt(): {value}")

    def do_fcntl(self, fd, command, value=0):
        return libc.fcntl, (self.fd(fd), command, value)

    def do_ioctl(self, fd, request, value):
        self.kept = ctypes.c_int(0)
        return libc.ioctl, (self.fd(fd), ctypes.c_ulong(request), ctypes.byref(self.kept))

    def after_ioctl(self, call, _task):
        if call.args[2] != [self.kept.value]:
            raise Differs(f"ioctl(): {self.kept.value}")

    def do_close(self, fd):
        live = self.fd(fd)
        del self.fds[fd]
        self.active.pop(fd, None)
        return libc.close, (live,)

    def do_shutdown(self, fd, how):
        return libc.shutdown, (self.fd(fd), how)

    def do_open(self, path, flags):
        return libc.open, (path, flags)

    def do_sendfile(self, out, source, offset, size):
        return libc.sendfile, (self.fd(out), self.fd(source), ctypes.byref(ctypes.c_long(offset[0])), ctypes.c_size_t(size))

    def do_pipe(self, numbers):
        self.kept = (ctypes.c_int * 2)(), numbers
        return libc.pipe, (self.kept[0],)

    def after_pipe(self, _call, _task):
        pair, numbers = self.kept
        self.fds.update(zip(numbers, pair))

    def do_splice(self, source, _from, target, _to, size, flags):
        return libc.splice, (self.fd(source), None, self.fd(target), None, ctypes.c_size_t(size), flags)

    def do_epoll_create(self, size):
        return libc.epoll_create, (size,)

    def do_epoll_ctl(self, epoll, action, fd, event):
        data = struct.pack("=IQ", event["events"] % WRAP, event["fd"])
        return libc.epoll_ctl, (self.fd(epoll), action, self.fd(fd), data)

    def do_epoll_wait(self, epoll, _event, count, timeout):
        self.kept = ctypes.create_string_buffer(12 * count)
        return libc.epoll_wait, (self.fd(epoll), self.kept, count, timeout)

    def after_epoll_wait(self, call, task):
        wanted = call.args[1]
        if task.result and (wanted["events"], wanted["fd"]) != struct.unpack_from("=IQ", self.kept.raw):
            raise Differs(f"epoll_wait(): {struct.unpack_from('=IQ', self.kept.raw)}")


# ---- scripts ---------------------------------------------------------------------

TEXTS = {}


def read_text(folder, name):
    key = folder, name
    if key not in TEXTS:
        TEXTS[key] = inlab.read(os.path.join(folder, name))
    return TEXTS[key]


def runner_defines(folder, version):
    """-D NAME=VALUE of the scripts' own runner."""
    if (folder, "ksft_runner.sh") not in TEXTS:
        return {}
    block = re.search(rf"\[ipv{version}\]=\"(.*?)\"", TEXTS[folder, "ksft_runner.sh"], re.S)
    return dict(re.findall(r"-D (\w+)=(\w+)", block[1])) if block else {}


def run(folder, name, algorithm, **options):
    """{"result": "same" | "differs" | "not run", "line", "why"}"""
    runner = None
    try:
        runner = Runner(folder, name, algorithm, **options)
        runner.run()
    except Differs as error:
        return {"result": "differs", "line": runner.line, "why": str(error), "worker": runner.worker}
    except NotRun as error:
        return {"result": "not run", "line": runner.line if runner else 0, "why": str(error), "worker": runner and runner.worker}
    return {"result": "same", "line": 0, "why": "", "probes": runner.probes, "worker": runner.worker}


def run_all(folder, names, algorithm, **options):
    """{script: outcome} of all scripts, one after the other."""
    found, worker = {}, None
    for name in names:
        outcome = run(folder, name, algorithm, worker=worker, **options)
        worker = outcome.pop("worker")
        found[name] = outcome
    return found
