# SPDX-License-Identifier: Apache-2.0
"""The path memory: its sysctl, what connections leave in it, and what they begin with."""

import errno
import os
import socket
import struct

import pytest

import inlab
from modules import DCC, in_lab, load, refused, remove_all
from test_base_rtt import DELAY_NS, Paths

MEMORY = DCC + "path_memory"
ROOM = 1024
# A full packet of this link as the algorithms count it, and what it takes beside the wires' delay.
PACKET = 1514
BASE_NS = range(2 * DELAY_NS + 100, 2 * DELAY_NS + 1000)


def in_lab_lines():
    load("tcp_oscar")
    wrong = []

    def expect(what, got, wanted):
        if got != wanted:
            wrong.append([what, got, wanted])

    expect("at first", inlab.read(MEMORY), "")
    inlab.write(MEMORY, "10.0.0.2 12000 350 1514 42\n\nfd00::2\t9000 0 9014 , 10.0.0.2 1000 250000 64 86400")
    lines = "10.0.0.2 12000 350 1514 42\nfd00::2 9000 0 9014 0\n10.0.0.2 1000 250000 64 86400\n"
    expect("written", inlab.read(MEMORY), lines)
    expect("written back", (inlab.write(MEMORY, lines), inlab.read(MEMORY))[1], lines)
    for text in ("10.0.0.2", "10.0.0.2 12000", "10.0.0.2 12000 0", "12000 0 1514", "10.0.0.2/32 12000 0 1514", "10.0.0 12000 0 1514",
                 "10.0.0.2 999 0 1514", "10.0.0.2 1000000001 0 1514", "10.0.0.2 -1 0 1514", "10.0.0.2 12us 0 1514",
                 "10.0.0.2 12000 1000000001 1514", "10.0.0.2 12000 -1 1514", "10.0.0.2 12000 0 63", "10.0.0.2 12000 0 65536",
                 "10.0.0.2 12000 0 1514 86401", "10.0.0.2 12000 0 1514 -1", "10.0.0.2 12000 0 1514 1 1", "fd00::2::1 12000 0 1514",
                 "::ffff:10.0.0.2 12000 0 1514", "name 12000 0 1514", "10.0.0.2 12000 0 1514, nonsense", "10.0.0.2 12000 0 1514\0 1"):
        if not refused("path_memory", text):
            wrong.append(["taken", text])
    many = [f"10.{i >> 8}.{i & 255}.1 {1000 + i} 0 1514 0" for i in range(ROOM)]
    for text in ("\n".join([*many, "11.0.0.1 9000 0 1514"]), ",\n" * 10**6):
        if not refused("path_memory", text, errno.E2BIG):
            wrong.append(["more than the room taken", text[:40]])

    # A second write to the same open file adds; what is said again is replaced.
    with open(MEMORY, "wb", buffering=0) as file:
        file.write("\n".join(many[ROOM // 2:]).encode())
        file.write(("\n".join(many[:ROOM // 2]) + "\0").encode())
        file.write((many[0] + "\n").encode())
    expect("in pieces", inlab.read(MEMORY), "\n".join(many) + "\n")
    # Beyond the room the oldest goes.
    with open(MEMORY, "wb", buffering=0) as file:
        file.write("\n".join(many).encode())
        file.write(b"11.0.0.1 9000 0 1514 0\n")
    expect("one too many", inlab.read(MEMORY), "\n".join(["11.0.0.1 9000 0 1514 0", *many[:-1]]) + "\n")
    with open(MEMORY, "wb", buffering=0) as file:
        expect("nothing written", file.write(b""), 0)
    expect("after nothing", len(inlab.read(MEMORY).splitlines()), ROOM)

    other = inlab.Netns()
    with other:
        expect("another namespace", inlab.read(MEMORY), "")
        inlab.write(MEMORY, lines)
    os.close(other.fd)
    inlab.write(MEMORY, "\n")
    expect("forgotten", inlab.read(MEMORY), "")
    remove_all()
    return wrong


def test_the_memory_takes_lines_of_its_own_kind_and_nothing_else(lab):
    assert in_lab(lab, "in_lab_lines") == []


class Memory(Paths):
    """Of the host that sends."""

    def lines(self):
        with self.a:
            return [line.split() for line in inlab.read(MEMORY).splitlines()]

    def write(self, text):
        with self.a:
            inlab.write(MEMORY, text + "\n")

    def set(self, name, value):
        with self.a:
            inlab.write(DCC + name, str(value))

    def new_base_ns(self, address="10.0.0.2"):
        """The base RTT of a new connection, after some packets."""
        pair = self.open(address)
        ns = self.base_ns(*pair)
        self.end(*pair)
        return ns

    @staticmethod
    def end(client, server):
        """At once, so that no socket notes anything later."""
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 0))
        client.close()
        server.close()


def in_lab_learns():
    memory = Memory()
    seen = {"at first": memory.lines()}
    pair = memory.open("10.0.0.2")
    seen["without a packet"] = memory.lines()
    memory.base_ns(*pair)
    seen["alive"] = memory.lines()
    memory.end(*pair)
    seen["closed"] = memory.lines()
    memory.new_base_ns("fd00::2")
    memory.new_base_ns("::ffff:10.0.0.2")
    seen["two families"] = memory.lines()
    memory.write("")
    memory.set("base_rtt_ns", 20000)
    memory.new_base_ns()
    seen["told"] = memory.lines()
    memory.set("base_rtt_ns", 0)
    memory.set("path_memory_s", 0)
    memory.new_base_ns()
    seen["off"] = memory.lines()
    return seen


def test_connections_leave_what_they_have_measured(lab):
    seen = in_lab(lab, "in_lab_learns")
    for what in ("at first", "without a packet", "told", "off"):
        assert seen[what] == [], what
    for what in ("alive", "closed"):
        [[address, base_ns, noise_ns, packet, age_s]] = seen[what]
        assert (address, noise_ns, packet, age_s) == ("10.0.0.2", "0", str(PACKET), "0")
        assert int(base_ns) in BASE_NS
    assert sorted(line[0] for line in seen["two families"]) == ["10.0.0.2", "fd00::2"]


def in_lab_begins():
    memory = Memory()
    seen = {}

    def look(what, line, **sysctls):
        memory.write(line)
        for name, value in sysctls.items():
            memory.set(name, value)
        seen[what] = memory.new_base_ns()
        for name in sysctls:
            memory.set(name, {"path_memory_s": 600, "base_rtt_ns": 0}[name])

    look("nothing known", "")
    # Shorter than the path by what a queue would add.
    look("known", f"10.0.0.2 9000 0 {PACKET}")
    look("with noise", f"10.0.0.2 9000 2000 {PACKET}")
    look("nearly too old", f"10.0.0.2 9000 0 {PACKET} 590")
    look("too old", f"10.0.0.2 9000 0 {PACKET} 610")
    look("too old by the sysctl", f"10.0.0.2 9000 0 {PACKET} 10", path_memory_s=5)
    look("off", f"10.0.0.2 9000 0 {PACKET}", path_memory_s=0)
    look("another host", f"10.0.0.3 9000 0 {PACKET}")
    look("another packet", f"10.0.0.2 9000 0 {PACKET - 1}")
    look("the other family", f"fd00::2 9000 0 {PACKET}")
    look("a third of the handshake", f"10.0.0.2 3000 0 {PACKET}")
    look("longer than the path", f"10.0.0.2 30000 0 {PACKET}")
    look("told", f"10.0.0.2 9000 0 {PACKET}", base_rtt_ns=20000)
    return seen


def test_a_connection_begins_with_what_is_known(lab):
    seen = in_lab(lab, "in_lab_begins")
    # `ss` has microseconds.
    assert seen.pop("known") == seen.pop("nearly too old") == 9000
    assert seen.pop("with noise") == 11000
    assert seen.pop("told") == 20000
    assert {what: ns for what, ns in seen.items() if ns != 2 * DELAY_NS} == {}


def in_lab_refuted():
    """The path has become longer since: what a bulk flow makes of it, and the memory."""
    memory = Memory()
    memory.new_base_ns()  # and the neighbours' addresses
    memory.write(f"10.0.0.2 4500 0 {PACKET}")
    client, server = memory.open("10.0.0.2")
    first_ns = memory.base_ns(client, server)
    client.setblocking(False)
    left = 20_000_000
    data = bytes(1 << 20)
    while left > 0:
        try:
            client.send(data)
        except BlockingIOError:
            pass
        left -= len(server.recv(1 << 20))
    client.setblocking(True)
    return first_ns, memory.base_ns(client, server), memory.lines()


@pytest.mark.ci
def test_a_memory_that_starves_a_flow_is_forgotten(lab):
    first_ns, last_ns, [line] = in_lab(lab, "in_lab_refuted")
    assert first_ns == 4000
    assert last_ns == 2 * DELAY_NS
    assert int(line[1]) in BASE_NS
