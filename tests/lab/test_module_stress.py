# SPDX-License-Identifier: Apache-2.0
"""The modules under traffic: loaded and removed, at their parameters' extremes, taken off live sockets.

Meant for the debug lab, whose kernel reports what a test cannot see:

  make lab-debug
  DELAYCC_LAB=build/lab-debug pytest tests/lab/test_module_stress.py

In the ordinary lab it runs too, faster, and sees only crashes and wrong results.
"""

import ctypes
import os
import random
import re
import select
import socket
import struct
import time

import inlab
import pytest
from modules import (
    DCC, MODULES, algorithms, extremes, in_lab, load, mount_tracing, remove, remove_all, tracing, use, used,
)

pytestmark = pytest.mark.ci

OTHERS = ("cubic", "bbr", "dctcp", "reno", "vegas")

LEAKS = "/sys/kernel/debug/kmemleak"

COMPLAINTS = re.compile(
    r"BUG|WARNING|KASAN|UBSAN|kmemleak: [1-9]|possible (circular|recursive)|inconsistent lock|bad unlock|refcount|"
    r"Call Trace|ODEBUG|use-after-free|leaked|scheduling while atomic|sleeping function|suspicious RCU|Oops|Kernel panic"
)

# ---- inside the lab ----


class Traffic:
    """Connections from a to b that send whatever the window takes."""

    BLOCK = bytes(1 << 16)

    def __init__(self, n, loss_ppm=0, rate_bps=10**10):
        # Small windows and slow ports keep the kernel's debugging affordable.
        link = {"rate_bps": rate_bps, "delay_ns": 10000, "limit_bytes": 200000}
        self.a, self.b = inlab.pair(left={**link, "loss_ppm": loss_ppm, "seed": 5}, right={**link, "port_id": 1})
        self.poll = select.epoll()
        self.ends = {}
        self.clients = []
        self.received = {}
        self.port = 6000
        for i in range(n):
            self.open("10.0.0.2" if i % 2 else "fd00::2")

    def open(self, address, algorithm=None):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.port += 1
        with self.b:
            listener = socket.socket(family)
            listener.bind((address, self.port))
            if algorithm:
                use(listener, algorithm)
            listener.listen(1)
        with self.a:
            client = socket.socket(family)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
            if algorithm:
                use(client, algorithm)
            client.connect((address, self.port))
        server, _ = listener.accept()
        listener.close()
        self.ends[client.fileno()] = client
        self.ends[server.fileno()] = server
        self.received[server.fileno()] = 0
        self.poll.register(client.fileno(), select.EPOLLOUT)
        self.poll.register(server.fileno(), select.EPOLLIN)
        self.clients.append((client, server))
        return client

    def run(self, seconds):
        """Keeps data flowing for so long in virtual time; returns the bytes received."""
        end = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + int(seconds * 1e9)
        before = sum(self.received.values())
        while True:
            left = end - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            if left <= 0:
                return sum(self.received.values()) - before
            for fd, _ in self.poll.poll(left / 1e9):
                if fd in self.received:
                    self.received[fd] += self.ends[fd].recv_into(inlab.SINK, 1 << 18, socket.MSG_TRUNC | socket.MSG_DONTWAIT)
                else:
                    self.ends[fd].send(self.BLOCK, socket.MSG_DONTWAIT)

    def stuck(self, size, seconds):
        """How many connections do not get size more bytes across in that time, nobody sending more."""
        end = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + int(seconds * 1e9)
        to_send = {client.fileno(): size for client, _ in self.clients}
        target = {server.fileno(): self.received[server.fileno()] + size for _, server in self.clients}
        while target:
            left = end - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            if left <= 0:
                break
            for fd, _ in self.poll.poll(left / 1e9):
                if fd in self.received:
                    self.received[fd] += self.ends[fd].recv_into(inlab.SINK, 1 << 18, socket.MSG_TRUNC | socket.MSG_DONTWAIT)
                    if self.received[fd] >= target.get(fd, 1 << 62):
                        del target[fd]
                else:
                    to_send[fd] -= self.ends[fd].send(self.BLOCK, socket.MSG_DONTWAIT)
                    if to_send[fd] <= 0:
                        self.poll.modify(fd, 0)
        return len(target)

    def close(self, client, server, abort=False):
        for end in (client, server):
            self.poll.unregister(end.fileno())
            self.received.pop(end.fileno(), None)
            del self.ends[end.fileno()]
            if abort:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.close()
        self.clients.remove((client, server))

    def close_all(self):
        for client, server in list(self.clients):
            self.close(client, server)


def prepare():
    mount_tracing()
    try:
        inlab.mount("debugfs", "/sys/kernel/debug")
    except OSError:
        return  # only the debug lab has it
    if os.path.exists(LEAKS):
        # Whatever boot has left behind is not ours.
        find_leaks()
        inlab.write(LEAKS, "clear")


def find_leaks():
    """An object is reported when two scans in a row, some time apart, find no pointer to it."""
    for _ in range(2):
        time.sleep(10)
        inlab.write(LEAKS, "scan")
    return inlab.read(LEAKS).splitlines()


def complaints():
    """What the kernel has to say against us, its leak detector included."""
    found = find_leaks()[:60] if os.path.exists(LEAKS) else []
    buffer = ctypes.create_string_buffer(1 << 20)
    size = inlab.check(inlab.libc.klogctl(3, buffer, len(buffer)), "klogctl")
    log = buffer.raw[:size].decode("utf-8", "replace").splitlines()
    for i, line in enumerate(log):
        if COMPLAINTS.search(line):
            found += log[i : i + 30]
            break
    return found


def in_lab_reload(times):
    prepare()
    traffic = Traffic(4)
    moved = 0
    refused = 0
    for i in range(times):
        load()
        ours = algorithms()
        algorithm = ours[i % len(ours)]
        if i % 5 == 0:
            tracing(True)
        inlab.write(DCC + "line_rate_mbps", str(1 + i))
        extra = inlab.Netns() if i % 3 == 0 else None
        with traffic.a:
            inlab.write(DCC + "line_rate_mbps", "10000")
        with traffic.b:
            inlab.write(DCC + "line_rate_mbps", "10000")
        for client, server in traffic.clients:
            use(client, algorithm)
            use(server, algorithm)
        moved += traffic.run(0.001)
        if i % 10 == 0:
            refused += remove("delaycc") != 0
        if i % 4 == 0:
            # One that ends while it is served, in the middle of its data.
            client = traffic.open("10.0.0.2", algorithm)
            moved += traffic.run(0.0005)
            server = next(s for c, s in traffic.clients if c is client)
            traffic.close(client, server, abort=True)
        for client, server in traffic.clients:
            use(client, OTHERS[i % len(OTHERS)])
            use(server, "cubic")
        if extra:
            os.close(extra.fd)
        remove_all()
        moved += traffic.run(0.0005)
    stuck = traffic.stuck(100000, 60)
    traffic.close_all()
    return {"moved": moved, "refused": refused, "stuck": stuck, "complaints": complaints()}


def in_lab_extremes(module, combinations, seed):
    prepare()
    load(module)
    tracing(True)
    generator = random.Random(seed)
    traffic = Traffic(6, loss_ppm=1000)
    ours = algorithms()
    with traffic.a:
        values = {}
        for folder in ("", module.removeprefix("tcp_") + "/"):
            for name in os.listdir(DCC + folder):
                if name not in ("base_rtt_paths", "path_memory", "device_rates") and not os.path.isdir(DCC + folder + name):
                    values[folder + name] = extremes(folder + name)
    names = sorted(values)
    settings = [{name: value} for name in names for value in values[name]]
    settings += [{name: generator.choice(values[name]) for name in names} for _ in range(combinations)]
    # Tables of base RTTs that name the peer, a few of its networks, or thousands of others.
    tables = ["", "10.0.0.2 1000", "fd00::/16 1000000000", "0.0.0.0/0 5000, 10.0.0.0/30 30000, ::/0 7000, fd00::2 1000",
              ",".join(f"10.{i >> 8}.{i & 255}.0/24 {1000 + i}" for i in range(4096))]
    memories = ["", "10.0.0.2 1000 0 1514", "10.0.0.2 1000000000 250000 1514, fd00::2 20000 250000 1514",
                ",".join(f"10.{i >> 8}.{i & 255}.1 {1000 + i} 0 1514" for i in range(1024))]
    for i, (client, _) in enumerate(traffic.clients):
        use(client, ours[i % len(ours)])
    moved = []
    defaults = {name: inlab.read(DCC + name) for name in names}
    for setting in settings:
        with traffic.a:
            inlab.write(DCC + "base_rtt_paths", generator.choice(tables) + "\n")
            inlab.write(DCC + "path_memory", generator.choice(memories) + "\n")
            for name, value in setting.items():
                inlab.write(DCC + name, str(value))
        # A new connection begins under these values, the old ones meet them on the way.
        client = traffic.open(generator.choice(("10.0.0.2", "fd00::2")), generator.choice(ours))
        moved.append(traffic.run(0.002))
        server = next(s for c, s in traffic.clients if c is client)
        traffic.close(client, server, abort=bool(generator.getrandbits(1)))
        with traffic.a:
            inlab.write(DCC + "base_rtt_paths", "\n")
            for name in setting:
                inlab.write(DCC + name, defaults[name])
    # With the defaults back, everyone gets on; a retransmission timer may be far out.
    stuck = traffic.stuck(100000, 60)
    in_use = [used(client) for client, _ in traffic.clients]
    traffic.close_all()
    time.sleep(60)
    remove_all()
    return {"settings": len(settings), "moved": sum(moved), "stuck": stuck, "ours": ours, "in_use": in_use,
            "complaints": complaints()}


def in_lab_switches(rounds, seed):
    prepare()
    load()
    generator = random.Random(seed)
    traffic = Traffic(8, loss_ppm=2000)
    ours = algorithms()
    with traffic.a:
        inlab.write(DCC + "line_rate_mbps", "10000")
    for i in range(rounds):
        for client, _ in generator.sample(traffic.clients, 4):
            use(client, generator.choice((*ours, *OTHERS)))
        if i % 7 == 0:
            # Gated for long, then taken off: nobody may wait for the old pace.
            with traffic.a:
                inlab.write(DCC + "line_rate_mbps", "1")
            traffic.run(0.005)
            with traffic.a:
                inlab.write(DCC + "line_rate_mbps", "10000")
            for client, _ in traffic.clients:
                use(client, "cubic")
        if i % 5 == 0:
            client, server = generator.choice(traffic.clients)
            traffic.close(client, server, abort=i % 2 == 0)
            traffic.open(generator.choice(("10.0.0.2", "fd00::2")), generator.choice(ours))
        traffic.run(0.001)
    for client, _ in traffic.clients:
        use(client, "cubic")
    stuck = traffic.stuck(100000, 60)
    traffic.close_all()
    time.sleep(60)
    remove_all()
    return {"stuck": stuck, "complaints": complaints()}


# ---- outside ----


def test_modules_load_and_go_200_times_under_traffic(lab):
    result = in_lab(lab, "in_lab_reload", 200, seconds=900)
    assert result["complaints"] == []
    assert result["refused"] == 20, "a module in use was removed"
    assert result["stuck"] == 0
    assert result["moved"] > 10_000_000


@pytest.mark.parametrize("module", MODULES)
def test_every_parameter_at_its_extremes_under_traffic(lab, module):
    result = in_lab(lab, "in_lab_extremes", module, 40, 3, seconds=900)
    assert result["complaints"] == []
    assert result["stuck"] == 0
    assert set(result["in_use"]) <= set(result["ours"])
    assert result["moved"] > 10_000_000


def test_algorithm_switches_under_traffic(lab):
    result = in_lab(lab, "in_lab_switches", 300, 3, seconds=900)
    assert result["complaints"] == []
    assert result["stuck"] == 0
