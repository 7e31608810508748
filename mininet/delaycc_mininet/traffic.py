#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""TCP flows that start and stop at given times.

    for flow in run_flows(net, [{"id": 0, "from": "h1", "to": "h2", "start_ns": 0, "size_bytes": 100_000}], duration_ns=2_000_000):
        print(flow["id"], flow["received_bytes"], flow["done_ns"])

A flow has id, from, to, start_ns, and may have size_bytes, stop_ns, cc, priority, dscp, pacing_bps (of payload), pacing_steps
([[ns, bps], ...]). ack_dscp is of what receivers send. All connections are made before time 0 and carry warm_bytes, so that receive
windows are open; then they rest until slow start begins anew. Run as a program, this file is what one host does; it gets its part as
JSON on standard input.
"""

import ctypes
import heapq
import json
import select
import socket
import struct
import subprocess
import sys
import time

PORT = 5001
SO_MAX_PACING_RATE, TCP_NOTSENT_LOWAT = 47, 25
CHUNK = bytes(1 << 18)
# From the hosts' start to the first connection, between two, and from the last to time 0.
SETTLE_NS, SPACING_NS, QUIET_NS = 2_000_000_000, 200_000, 2_000_000_000
CLOCK_MONOTONIC, TFD_TIMER_ABSTIME = 1, 1


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Agent:
    """One host: its listener, the flows that it sends, and those that it gets."""

    def __init__(self, job):
        self.job = job
        self.zero_ns = job["zero_ns"]
        self.timed = []
        self.epoll = select.epoll()
        self.sending, self.receiving, self.results = {}, {}, {}
        self.libc = ctypes.CDLL(None, use_errno=True)
        # epoll itself waits for whole milliseconds.
        self.timer = self.libc.timerfd_create(CLOCK_MONOTONIC, 0)
        self.epoll.register(self.timer, select.EPOLLIN)
        self.listener = socket.create_server(("", PORT), backlog=4096)
        self.epoll.register(self.listener, select.EPOLLIN)
        for flow in job["sends"]:
            heapq.heappush(self.timed, (job["connect_ns"] + flow["id"] * SPACING_NS, flow["id"], "connect", 0, flow))

    def connect(self, flow):
        s = socket.socket()
        if "cc" in flow:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, flow["cc"].encode())
        if flow.get("dscp"):
            s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, flow["dscp"] << 2)
        if flow.get("priority", -1) >= 0:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, flow["priority"])
        if flow.get("pacing_bps"):
            self.set_pace(s, flow["pacing_bps"])
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        s.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, len(CHUNK))
        s.connect((flow["address"], PORT))
        s.sendall(struct.pack("!I", flow["id"]) + bytes(self.job["warm_bytes"]))
        s.setblocking(False)
        flow["socket"], flow["left"] = s, flow.get("size_bytes")
        heapq.heappush(self.timed, (self.zero_ns + flow["start_ns"], flow["id"], "start", 0, flow))
        for number, (from_ns, _) in enumerate(flow.get("pacing_steps", ())):
            heapq.heappush(self.timed, (self.zero_ns + from_ns, flow["id"], "pace", number, flow))
        if "stop_ns" in flow:
            heapq.heappush(self.timed, (self.zero_ns + flow["stop_ns"], flow["id"], "stop", 0, flow))

    @staticmethod
    def set_pace(s, bps):
        s.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("=Q", bps // 8))

    def pace(self, flow):
        if flow["socket"].fileno() >= 0:
            self.set_pace(flow["socket"], flow["pacing_steps"].pop(0)[1])

    def start(self, flow):
        self.sending[flow["socket"].fileno()] = flow
        self.epoll.register(flow["socket"], select.EPOLLOUT)

    def stop(self, flow):
        self.sending.pop(flow["socket"].fileno(), None)
        # An abort: what waits to be sent is not sent any more.
        flow["socket"].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        flow["socket"].close()

    def send(self, fd):
        flow = self.sending[fd]
        size = len(CHUNK) if flow["left"] is None else min(len(CHUNK), flow["left"])
        try:
            sent = flow["socket"].send(memoryview(CHUNK)[:size])
        except BlockingIOError:
            return
        if flow["left"] is not None:
            flow["left"] -= sent
            if flow["left"] == 0:
                self.epoll.unregister(fd)
                del self.sending[fd]

    def accept(self):
        s, _ = self.listener.accept()
        if self.job["ack_dscp"]:
            s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, self.job["ack_dscp"] << 2)
        number = struct.unpack("!I", s.recv(4, socket.MSG_WAITALL))[0]
        s.setblocking(False)
        self.results[number] = {"id": number, "received_bytes": -self.job["warm_bytes"], "done_ns": None}
        self.receiving[s.fileno()] = (s, self.results[number])
        self.epoll.register(s, select.EPOLLIN)

    def receive(self, fd):
        s, result = self.receiving[fd]
        try:
            # TCP drops the data without a copy.
            n = self.libc.recv(fd, None, ctypes.c_size_t(1 << 30), socket.MSG_TRUNC)
            if n < 0 and ctypes.get_errno() in (11, 4):
                return
        except OSError:
            n = -1
        if n <= 0:
            self.epoll.unregister(fd)
            s.close()
            del self.receiving[fd]
            return
        result["received_bytes"] += n
        if result["received_bytes"] == self.job["sizes"].get(str(result["id"])):
            result["done_ns"] = now_ns() - self.zero_ns

    def run(self):
        end_ns = self.zero_ns + self.job["duration_ns"]
        while (now := now_ns()) < end_ns:
            while self.timed and self.timed[0][0] <= now:
                _, _, action, _, flow = heapq.heappop(self.timed)
                getattr(self, action)(flow)
            at_ns = min([end_ns] + [at[0] for at in self.timed[:1]])
            when = struct.pack("=qqqq", 0, 0, *divmod(at_ns, 10**9))
            # What is set anew is not expired any more.
            self.libc.timerfd_settime(self.timer, TFD_TIMER_ABSTIME, when, None)
            for fd, _ in self.epoll.poll():
                if fd == self.listener.fileno():
                    self.accept()
                elif fd in self.sending:
                    self.send(fd)
                elif fd in self.receiving:
                    self.receive(fd)
        return list(self.results.values())


def run_flows(net, flows, duration_ns, warm_bytes=300_000, ack_dscp=0):
    """Runs the flows between the network's hosts; returns id, received_bytes and done_ns (since time 0; None: not complete) of each."""
    hosts = {}
    for flow in flows:
        for end in (flow["from"], flow["to"]):
            hosts.setdefault(end, {"sends": [], "sizes": {}})
        hosts[flow["from"]]["sends"].append({**flow, "address": net[flow["to"]].IP()})
        if "size_bytes" in flow:
            hosts[flow["to"]]["sizes"][str(flow["id"])] = flow["size_bytes"]
    connect_ns = now_ns() + SETTLE_NS
    times = {"connect_ns": connect_ns, "zero_ns": connect_ns + len(flows) * SPACING_NS + QUIET_NS, "duration_ns": duration_ns,
             "warm_bytes": warm_bytes, "ack_dscp": ack_dscp}
    running = []
    for name, job in hosts.items():
        child = net[name].popen([sys.executable, __file__], stdin=subprocess.PIPE)
        child.stdin.write(json.dumps({**job, **times}).encode())
        child.stdin.close()
        running.append((name, child))
    results = []
    for name, child in running:
        said, errors = child.stdout.read(), child.stderr.read()
        if child.wait() != 0:
            raise RuntimeError(f"{name}: {errors.decode().strip()}")
        results += json.loads(said)
    return sorted(results, key=lambda flow: flow["id"])


if __name__ == "__main__":
    print(json.dumps(Agent(json.load(sys.stdin)).run()))
