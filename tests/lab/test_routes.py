# SPDX-License-Identifier: Apache-2.0
"""What a socket takes from its route and its device, and what it leaves behind: limits, pacing, references."""

import ctypes
import errno
import os
import select
import socket
import struct
import time

import inlab
from modules import DCC, MODULES, in_lab, load, remove_all, use, used
from test_base_rtt import route

SO_MAX_PACING_RATE = 47
TCP_CC_INFO, MIN_RTT_US = 26, 8
AF_UNSPEC = bytes(16)


def base_us(sock):
    return struct.unpack_from("=I", sock.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 64), MIN_RTT_US)[0]


def connect(a, b, algorithm, address="10.0.0.2", port=5001, sock=None):
    with b:
        listener = socket.create_server((address, port))
    with a:
        client = sock or socket.socket()
        use(client, algorithm)
        client.connect((address, port))
    server, _ = listener.accept()
    listener.close()
    return client, server


def disconnect(sock):
    inlab.check(inlab.libc.connect(sock.fileno(), AF_UNSPEC, ctypes.c_int(len(AF_UNSPEC))), "connect(AF_UNSPEC)")


def in_lab_backlog():
    """Without a delay the SYN's answer comes while connect() still has the socket: TCP opens it in process context."""
    load()
    a, b = inlab.pair()
    with a:
        inlab.write(DCC + "line_rate_mbps", "0")
    names = []
    for i, module in enumerate(MODULES):
        client, server = connect(a, b, module.removeprefix("tcp_"), port=5001 + i)
        client.send(bytes(100000))
        server.recv(100000, socket.MSG_WAITALL)
        names.append(used(client))
        client.close()
        server.close()
    time.sleep(1)
    remove_all()
    return names


def test_a_device_is_looked_at_under_rcu(lab):
    # The debug lab's lockdep watches: without the lock it says "suspicious RCU usage".
    assert in_lab(lab, "in_lab_backlog", seconds=300) == [module.removeprefix("tcp_") for module in MODULES]


def backlog(a, client, server, seconds):
    """The most that waits in the sender's own port while the client sends all it may."""
    end = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + int(seconds * 1e9)
    poll = select.epoll()
    poll.register(client.fileno(), select.EPOLLOUT)
    poll.register(server.fileno(), select.EPOLLIN)
    most = 0
    while time.clock_gettime_ns(time.CLOCK_MONOTONIC) < end:
        for fd, _ in poll.poll(0.001):
            if fd == client.fileno():
                client.send(bytes(1 << 17), socket.MSG_DONTWAIT)
            else:
                server.recv_into(inlab.SINK, 1 << 20, socket.MSG_TRUNC | socket.MSG_DONTWAIT)
        with a:
            most = max(most, inlab.port_stats("a0")["backlog"])
    return most


def in_lab_reconnect():
    load("tcp_oscar")
    link = {"rate_bps": 10**9, "delay_ns": 10000}
    a, b = inlab.pair(left=link, right=link)
    most = []
    for again in (False, True):
        with a:
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, 32, 1 << 22)  # SO_SNDBUFFORCE
            # 1 us of its pace for the first connection, TCP's own limit for the next one of the same socket.
            inlab.write(DCC + "host_queue_ns", "1000" if again else "0")
        if again:
            client, server = connect(a, b, "oscar", sock=sock)
            client.send(bytes(10000))
            server.recv(10000, socket.MSG_WAITALL)
            disconnect(client)
            server.close()
        client, server = connect(a, b, "reno", port=5002, sock=sock)
        most.append(backlog(a, client, server, 0.02))
        client.close()
        server.close()
    remove_all()
    return most


def test_the_limit_of_the_host_queue_ends_with_the_connection(lab):
    fresh, again = in_lab(lab, "in_lab_reconnect")
    # TCP's own is 1 ms of its pace: 125 KB, not two packets.
    assert fresh > 50_000
    assert again == fresh


def in_lab_pacing():
    load("tcp_oscar")
    link = {"rate_bps": 10**10, "delay_ns": 10000}
    a, b = inlab.pair(left=link, right=link)
    # The connection begins with a window of its BDP. With TCP's own first one reno waits for ACKs that the peer holds back.
    with a:
        inlab.write(DCC + "line_rate_mbps", "10000")
    client, server = connect(a, b, "oscar")
    rate = 10**7
    client.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("=Q", rate))
    use(client, "reno")
    poll = select.epoll()
    poll.register(client.fileno(), select.EPOLLOUT)
    poll.register(server.fileno(), select.EPOLLIN)
    begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    received = 0
    while received < 10**6:
        for fd, _ in poll.poll():
            if fd == client.fileno():
                client.send(bytes(1 << 17), socket.MSG_DONTWAIT)
            else:
                received += server.recv_into(inlab.SINK, 1 << 20, socket.MSG_TRUNC | socket.MSG_DONTWAIT)
    took = time.clock_gettime_ns(time.CLOCK_MONOTONIC) - begin
    client.close()
    server.close()
    remove_all()
    return received * 1e9 / took / rate


def test_pacing_that_the_application_has_asked_for_outlives_the_algorithm(lab):
    assert 0.8 < in_lab(lab, "in_lab_pacing") < 1.2


def in_lab_reused_address(rounds):
    """A route goes, its memory is given to the next one: does the socket see another route?"""
    load("tcp_oscar")
    link = {"rate_bps": 10**10, "delay_ns": 10000}
    a, b = inlab.pair(left=link, right=link)
    wrong = []
    with a:
        route("10.0.0.2", {4: 8})
    client, server = connect(a, b, "oscar")
    for i in range(1, rounds + 1):
        # The socket lets go of its route, then the route goes, and RCU's time passes.
        client.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 4 * (1 + i % 7))
        with a:
            route("10.0.0.2", {4: 8 * (1 + i)})
        time.sleep(1)
        client.send(bytes(10000))
        server.recv(10000, socket.MSG_WAITALL)
        server.send(b"x")
        client.recv(1)
        if base_us(client) != 1000 * (1 + i):
            wrong.append([i, base_us(client)])
    client.close()
    server.close()
    remove_all()
    return wrong


def test_a_new_route_at_an_old_address_is_another_route(lab):
    assert in_lab(lab, "in_lab_reused_address", 20) == []


def in_lab_devices_go(rounds):
    """A device goes while sockets have its route; nothing may keep it."""
    load("tcp_oscar")
    for i in range(rounds):
        a, b = inlab.pair()
        client, server = connect(a, b, "oscar", port=6000 + i)
        client.send(bytes(100000))
        server.recv(100000, socket.MSG_WAITALL)
        client.send(bytes(100000))
        with a:
            index = socket.if_nametoindex("a0")
            inlab.netlink(17, 0, struct.pack("=BxHiII", 0, 0, index, 0, 0))  # RTM_DELLINK waits for the device's users
        try:
            client.send(bytes(1000))
        except OSError as error:
            assert error.errno == errno.ENETUNREACH, error
        use(client, "reno" if i % 2 else "oscar")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        server.close()
        os.close(a.fd)
        os.close(b.fd)
    time.sleep(5)
    remove_all()
    return rounds


def test_a_socket_does_not_keep_a_device(lab):
    assert in_lab(lab, "in_lab_devices_go", 20, seconds=300) == 20
