# SPDX-License-Identifier: Apache-2.0
"""A path between hosts whose NICs stamp packets (stamped/stamped.c), inside the lab."""

import ctypes
import fcntl
import os
import socket
import struct
import time

import inlab
from inlab import Netns, attr, netlink, port, up, write

PARAMETERS = "/sys/module/stamped/parameters/"
ALL, TX_ONLY, LIES, NONE = range(4)
A, B = "10.0.1.1", "10.0.2.1"
A6, B6 = "fd00:1::1", "fd00:2::1"
SIOCSHWTSTAMP, SIOCGHWTSTAMP = 0x89B0, 0x89B1


def load(**parameters):
    """The devices stamp0 to stamp3: two pairs. Of path()'s, those of the hosts have the noise."""
    with open(os.environ["STAMPED_MODULE"], "rb") as module:
        image = module.read()
    words = " ".join(f"{name}={value}" for name, value in {"pairs": 2, "noisy": 0b1001, **parameters}.items())
    inlab.check(inlab.libc.syscall(175, image, ctypes.c_ulong(len(image)), words.encode()), "init_module stamped")


def parameter(name, value):
    write(PARAMETERS + name, str(value))


def config_ioctl(sock, number, device, tx, rx):
    config = ctypes.create_string_buffer(struct.pack("=iii", 0, tx, rx))
    fcntl.ioctl(sock, number, struct.pack("16sP", device.encode(), ctypes.addressof(config)).ljust(40, b"\0"))
    return list(struct.unpack_from("=ii", config, 4))


def switch(sock, device, tx, rx):
    """0, or the error's number."""
    try:
        config_ioctl(sock, SIOCSHWTSTAMP, device, tx, rx)
    except OSError as error:
        return error.errno
    return 0


def switched(sock, device):
    """[tx, rx], or None for a device without hardware stamps."""
    try:
        return config_ioctl(sock, SIOCGHWTSTAMP, device, 0, 0)
    except OSError:
        return None


def config_socket():
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def move(device, namespace):
    body = struct.pack("=BxHiII", 0, 0, socket.if_nametoindex(device), 0, 0) + attr(28, namespace.fd)
    netlink(inlab.RTM_NEWLINK, 0, body)


def default_route(gateway, metrics=b"", device=None):
    family = socket.AF_INET6 if ":" in gateway else socket.AF_INET
    body = struct.pack("=BBBBBBBBI", family, 0, 0, 0, 254, 4, 0, 1, 0) + attr(5, socket.inet_pton(family, gateway))
    if device:
        body += attr(4, socket.if_nametoindex(device))
    netlink(inlab.RTM_NEWROUTE, inlab.NLM_CREATE, body + (attr(8, metrics) if metrics else b""))


def add_ipv6(a, b, router):
    """The same path for IPv6: A6 and B6 with the router's addresses fe80::fe of the link alone."""
    with router:
        write("/proc/sys/net/ipv6/conf/all/forwarding", "1")
        up("stamp1", "fe80::fe/64", "fd00:1::fe/64")
        up("stamp2", "fe80::fe/64", "fd00:2::fe/64")
    for namespace, device, address in ((a, "stamp0", A6), (b, "stamp3", B6)):
        with namespace:
            up(device, address + "/64")
            default_route("fe80::fe", device=device)


def path(wire_ns=3000, rate_bps=100_000_000_000, noise=(), loss_ppm=0, metrics=b""):
    """Hosts a (stamp0, address A) and b (stamp3, B) and a router between them, of namespaces: (a, b, router).

    Each of the router's ports has rate_bps and two wires of wire_ns, adds noise (quantiles) and loses loss_ppm. Those of the hosts have
    nothing: the lab's port takes a packet from its socket when it leaves, and its stamps with it. metrics: attributes (RTAX_) of the hosts' routes.
    """
    a, b, router = Netns(), Netns(), Netns()
    for device, namespace in (("stamp0", a), ("stamp1", router), ("stamp2", router), ("stamp3", b)):
        move(device, namespace)
    with router:
        write("/proc/sys/net/ipv4/ip_forward", "1")
        up("stamp1", "10.0.1.254/24")
        up("stamp2", "10.0.2.254/24")
        for device in ("stamp1", "stamp2"):
            port(device, rate_bps=rate_bps, delay_ns=2 * wire_ns, limit_bytes=16_000_000, noise=noise, loss_ppm=loss_ppm,
                 port_id=1 + (device == "stamp2"))
    for namespace, device, address in ((a, "stamp0", A), (b, "stamp3", B)):
        with namespace:
            up("lo")
            up(device, address + "/24")
            default_route(address.rsplit(".", 1)[0] + ".254", metrics)
    return a, b, router


def wait_for(condition):
    """For another process's doing, which nothing tells; the lab's time is short."""
    end = time.monotonic() + 100
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.0001)
