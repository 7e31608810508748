# SPDX-License-Identifier: Apache-2.0
"""Requests and responses: what an application and a receiver hold back is no queue, and whatever is set, they are answered."""

import heapq
import select
import socket
import time

import inlab
import pytest
from modules import DCC, algorithms, in_lab, load, use

pytestmark = pytest.mark.ci

SO_PRIORITY = 12
SERVICE_NS, THINK_NS = 50_000, 20_000


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Path:
    """A client on a and a server on b, whose ports are the only links."""

    def __init__(self, rate_bps, delay_ns, base_rtt_ns=0, noise=()):
        link = {"rate_bps": rate_bps, "delay_ns": delay_ns, "noise": noise}
        self.a, self.b = inlab.pair(left=link, right=link)
        for ns, name in ((self.a, "a0"), (self.b, "b0")):
            with ns:
                inlab.gso_max_segs(name, 1)
                inlab.write(DCC + "line_rate_mbps", str(rate_bps // 10**6))
                inlab.write(DCC + "base_rtt_ns", str(base_rtt_ns))

    def open(self, algorithm, priority=0):
        with self.b:
            listener = socket.create_server(("10.0.0.2", 5001))
        use(listener, algorithm)
        with self.a:
            client = socket.socket()
            use(client, algorithm)
            client.setsockopt(socket.SOL_SOCKET, SO_PRIORITY, priority)
            client.connect(("10.0.0.2", 5001))
        server, _ = listener.accept()
        listener.close()
        server.setsockopt(socket.SOL_SOCKET, SO_PRIORITY, priority)
        # The server's send() never waits: the client is the same process.
        server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        for sock in (client, server):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return client, server


class Exchange:
    """Requests one after the other; a response is one write for each of its sizes."""

    def __init__(self, client, server, request, response, think_ns=THINK_NS):
        self.client, self.server = client, server
        self.request, self.response, self.think_ns = request, response, think_ns
        self.timers = []
        self.asked = self.got = 0
        self.took_ns = []

    def later(self, wait_ns, act):
        heapq.heappush(self.timers, (now_ns() + wait_ns, len(self.took_ns), act))

    def ask(self):
        self.begin = now_ns()
        self.client.send(bytes(self.request))

    def answer(self):
        for size in self.response:
            self.server.send(bytes(size))

    def run(self, seconds, most=1 << 30):
        self.later(0, self.ask)
        end = now_ns() + int(seconds * 1e9)
        while now_ns() < end and len(self.took_ns) < most:
            left = max(0, min(end, self.timers[0][0] if self.timers else end) - now_ns())
            # select() because epoll counts milliseconds
            for sock in select.select((self.client, self.server), (), (), left / 1e9)[0]:
                size = len(sock.recv(1 << 20))
                if sock is self.server:
                    self.asked += size
                    if self.asked == self.request:
                        self.asked = 0
                        self.later(SERVICE_NS, self.answer)
                else:
                    self.got += size
                    if self.got == sum(self.response):
                        self.got = 0
                        self.took_ns.append(now_ns() - self.begin)
                        self.later(self.think_ns, self.ask)
            while self.timers and self.timers[0][0] <= now_ns():
                heapq.heappop(self.timers)[2]()
        return self.took_ns


def in_lab_short_responses(response, think_ns, seconds):
    """algorithm -> responses in this time, over a path with up to 100 us of noise each way."""
    load()
    answered = {}
    for algorithm in ("cubic", *algorithms()):
        path = Path(200_000_000, 100_000, noise=((0, 0), (1_000_000, 100_000)))
        if algorithm.startswith("prio"):
            module = {"prioplus_paper": "prioplus", "prioledb_paper": "prioplus_ledbat"}.get(algorithm, algorithm)
            for ns in (path.a, path.b):
                with ns:  # the noise of both ways
                    inlab.write(DCC + module + "/channel_b_ns", "200000")
        answered[algorithm] = len(Exchange(*path.open(algorithm), 100, response, think_ns).run(seconds))
    return answered


# A head and a body, each less than a packet; a packet and a part; a client that answers only after a while.
@pytest.mark.parametrize("response,think_ns", (
    pytest.param((238, 615), THINK_NS, id="two writes"),
    pytest.param((2000,), THINK_NS, id="two packets"),
    pytest.param((238, 615), 3_000_000, id="two writes, then a pause")))
def test_short_responses_do_not_wait_for_delayed_acknowledgments(lab, response, think_ns):
    answered = in_lab(lab, "in_lab_short_responses", response, think_ns, 0.5, seconds=400)
    assert len(answered) >= 10
    for algorithm, count in answered.items():
        # PrioPlus begins with an eighth of a BDP, here less than a packet: one RTT more for a second packet.
        least = 0.45 if algorithm.startswith("prio") else 0.85
        assert count > least * answered["cubic"], (algorithm, answered)


def in_lab_settings(algorithm, cases):
    """What responses of these sizes take with these rates, base RTTs set, and delays."""
    load(*("tcp_" + name for name in ("prioplus", "prioplus_ledbat")))
    took = []
    for rate_bps, delay_ns, base_rtt_ns, response, priority in cases:
        path = Path(rate_bps, delay_ns, base_rtt_ns)
        sockets = path.open(algorithm, priority)
        # 37 bytes: with so many iperf3 begins.
        took.append(Exchange(*sockets, 37, (response,)).run(10, most=2))
        for sock in sockets:
            sock.close()
    return took


@pytest.mark.parametrize("algorithm", ("prioplus", "prioplus_ledbat"))
def test_with_the_base_rtt_measured_a_stopping_flow_starts_and_uses_any_line(lab, algorithm):
    cases = [(mbps * 10**6, 500_000, 0, size, priority)
             for mbps, size in ((10, 20_000), (100, 1), (100, 100_000), (1000, 100_000), (10_000, 100_000))
             for priority in (0, 6)]
    for case, took in zip(cases, in_lab(lab, "in_lab_settings", algorithm, cases)):
        rate_bps, delay_ns, _, size, _ = case
        line_ns = 1.05 * size * 8 * 10**9 / rate_bps
        # Its window grows from one packet, in eighths of a BDP.
        assert len(took) == 2 and took[1] < 3 * line_ns + 12 * 2 * delay_ns, (case, took)


@pytest.mark.parametrize("algorithm", ("prioplus", "prioplus_ledbat"))
def test_with_a_wrong_base_rtt_a_stopping_flow_still_moves(lab, algorithm):
    # Below the true RTT by more than a channel, so that there always seems to be a queue; and above it.
    cases = [(10**9, 500_000, int(1_000_000 * part), size, 0) for part in (0.8, 0.95, 1.05, 1.2) for size in (1, 30_000)]
    cases += [(10**8, 2_500_000, 4_000_000, 2000, 0), (10**10, 25_000, 40_000, 2000, 0)]
    for case, took in zip(cases, in_lab(lab, "in_lab_settings", algorithm, cases)):
        # A packet of the request and each of the response waits 20 ms and a probe's RTT; every second one is held back.
        packets = 1 + -(-case[3] // 1448)
        assert len(took) == 2 and max(took) < packets * 70_000_000, (case, took)
