# SPDX-License-Identifier: Apache-2.0
"""PrioPlus behind fq and with segmentation offload: a higher priority has the link while it sends, a lower one before and after."""

import ctypes
import select
import socket
import struct
import time

import inlab
import pytest
from modules import DCC, in_lab, load, use

pytestmark = pytest.mark.ci

RATE_BPS = 10**10
DELAY_NS = 24_000
BASE_NS = 53_000
SO_PRIORITY = 12


def route(network, gateway):
    """network/24 through the gateway."""
    body = struct.pack("=BBBBBBBBI", socket.AF_INET, 24, 0, 0, 254, 3, 0, 1, 0)
    body += inlab.attr(1, socket.inet_aton(network)) + inlab.attr(5, socket.inet_aton(gateway))
    inlab.netlink(24, inlab.NLM_CREATE, body)


class Path:
    """A sender with one host queue for all its sockets, a router whose port is the bottleneck, a receiver."""

    def __init__(self, fq, offload):
        load("tcp_prioplus")
        inlab.write("/proc/sys/net/ipv4/tcp_mem", "4000000 4000000 4000000")
        self.s, self.r, self.d = inlab.Netns(), inlab.Netns(), inlab.Netns()
        with self.s:
            inlab.veth("s0", "r0", self.r)
            inlab.up("s0", "10.0.1.1/24")
            if fq:
                inlab.netlink(inlab.RTM_NEWQDISC, inlab.NLM_CREATE | inlab.NLM_REPLACE,
                              inlab.tcmsg("s0", 0x20000) + inlab.attr(1, "fq"))
            if not offload:
                inlab.gso_max_segs("s0", 1)
        with self.r:
            inlab.veth("r1", "d0", self.d)
            inlab.up("r0", "10.0.1.2/24")
            inlab.up("r1", "10.0.2.2/24")
            inlab.write("/proc/sys/net/ipv4/ip_forward", "1")
            inlab.port("r1", rate_bps=RATE_BPS, delay_ns=DELAY_NS, limit_bytes=4_000_000)
        with self.d:
            inlab.up("d0", "10.0.2.1/24")
            inlab.port("d0", rate_bps=RATE_BPS, delay_ns=DELAY_NS)
            route("10.0.1.0", "10.0.2.2")
        with self.s:
            route("10.0.2.0", "10.0.1.2")
        for ns in (self.s, self.d):
            with ns:
                inlab.write("/proc/sys/net/ipv4/tcp_rmem", "4096 4194304 4194304")
                inlab.write("/proc/sys/net/ipv4/tcp_wmem", "4096 4194304 4194304")
        with self.s:
            inlab.write(DCC + "line_rate_mbps", str(RATE_BPS // 10**6))
            inlab.write(DCC + "base_rtt_ns", str(BASE_NS))
            # A burst of 64 KB takes 52 us: that is noise.
            inlab.write(DCC + "prioplus/channel_a_ns", "48000" if offload else "24000")
            inlab.write(DCC + "prioplus/channel_b_ns", "32000" if offload else "6000")
        self.port_number = 5000

    def open(self, priority):
        self.port_number += 1
        with self.d:
            listener = socket.socket()
            listener.bind(("10.0.2.1", self.port_number))
            listener.listen(1)
        with self.s:
            client = socket.socket()
            use(client, "prioplus")
            client.setsockopt(socket.SOL_SOCKET, SO_PRIORITY, priority)
            client.connect(("10.0.2.1", self.port_number))
        server, _ = listener.accept()
        listener.close()
        return client, server


def run(flows, seconds, data=bytes(1 << 17)):
    """Bytes that each flow delivers in this time."""
    poll = select.epoll()
    by_fd, got = {}, [0] * len(flows)
    for i, (client, server) in enumerate(flows):
        by_fd[client.fileno()] = by_fd[server.fileno()] = i
        poll.register(client.fileno(), select.EPOLLOUT)
        poll.register(server.fileno(), select.EPOLLIN)
    end = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + int(seconds * 1e9)
    while (rest := end - time.clock_gettime_ns(time.CLOCK_MONOTONIC)) > 0:
        for fd, events in poll.poll(rest / 1e9):
            i = by_fd[fd]
            client, server = flows[i]
            if events & select.EPOLLOUT:
                client.send(data, socket.MSG_DONTWAIT)
            else:
                got[i] += len(server.recv(1 << 20, socket.MSG_DONTWAIT))
    poll.close()
    return got


def in_lab_priorities(fq, offload):
    path = Path(fq, offload)
    low = [path.open(0) for _ in range(2)]
    high = [path.open(3) for _ in range(2)]
    shares = []
    run(low, 0.02)
    shares.append(run(low, 0.01))
    run(low + high, 0.02)
    shares.append(run(low + high, 0.01))
    for client, server in high:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 0))
        client.close()
        server.close()
    run(low, 0.005)
    shares.append(run(low, 0.01))
    return shares


@pytest.mark.parametrize("fq, offload", (
    pytest.param(False, True, id="no qdisc-super-packets"),
    pytest.param(True, False, id="fq-packets"),
    pytest.param(False, False, id="no qdisc-packets"),
    pytest.param(True, True, id="fq-super-packets")))
def test_the_higher_priority_has_the_link_while_it_sends(lab, fq, offload):
    before, during, after = in_lab(lab, "in_lab_priorities", fq, offload)
    line = RATE_BPS / 8 * 0.01 * 1448 / 1514  # payload in 10 ms
    assert sum(before) > 0.9 * line
    assert sum(during[2:]) > 0.9 * line
    assert sum(during[:2]) < 0.05 * line
    assert sum(after) > 0.9 * line


def kernel_log():
    log = ctypes.create_string_buffer(1 << 20)
    inlab.libc.klogctl(3, log, len(log))
    return log.value.decode(errors="replace")


def in_lab_noise(configured):
    """What the log says of priorities once two flows have run in noise of up to 20 us."""
    path = Path(fq=False, offload=False)
    for ns in (path.s, path.d):
        with ns:
            inlab.write(DCC + "noise_ns", str(configured))
    with path.s:
        inlab.write(DCC + "base_rtt_ns", "0")
    with path.d:
        inlab.port("d0", change=True, rate_bps=RATE_BPS, delay_ns=DELAY_NS, noise=[(0, 0), (1_000_000, 20_000)])
    flows = [path.open(priority) for priority in (0, 3)]
    run(flows, 0.05)
    return [line for line in kernel_log().splitlines() if "priorities may mix" in line]


def test_priorities_in_noise_that_is_not_configured_are_named_once(lab):
    said = in_lab(lab, "in_lab_noise", 0)
    assert len(said) == 1
    assert "set net.ipv4.delaycc.noise_ns on all hosts" in said[0]


def test_with_noise_that_is_configured_nothing_is_said(lab):
    assert in_lab(lab, "in_lab_noise", 10_000) == []
