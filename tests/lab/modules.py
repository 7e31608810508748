# SPDX-License-Identifier: Apache-2.0
"""What the tests of the kernel modules share: loading them in the lab, and their switches."""

import ctypes
import errno
import os
import pathlib
import socket
import time

import inlab

# What all need, or some; then one for each algorithm's source.
COMMON = ("delaycc", "delaycc_count")
MODULES = tuple(sorted(path.stem for path in (pathlib.Path(__file__).parents[2] / "kernel").glob("tcp_*.c")))
NAMES = (*COMMON, *MODULES)
DCC = "/proc/sys/net/ipv4/delaycc/"
TRACING = "/sys/kernel/tracing/"

MAINLINE = ("bbr", "cdg", "cubic", "dctcp", "nv", "reno", "vegas", "westwood")

TCP_CONGESTION = 13
SYS_INIT_MODULE, SYS_DELETE_MODULE = 175, 176

# Inside the lab, where this is init's, a tmpfs over /tmp may hide the project later: read the files now.
FILES = {}
if os.getpid() == 1:
    FILES = {name: pathlib.Path(os.environ["MODULES_DIR"], name + ".ko").read_bytes() for name in NAMES}


def in_lab(lab, function, *args, **options):
    """Runs a function of the test's file in the lab, the modules at hand."""
    from outside import LAB

    return lab(function, *args, options=(f"MODULES_DIR={LAB.resolve()}",), mem="1G", **options)


def load(*modules):
    """What they need and these modules, by default all of them."""
    for name in (*COMMON, *(modules or MODULES)):
        image = FILES[name]
        inlab.check(inlab.libc.syscall(SYS_INIT_MODULE, image, ctypes.c_ulong(len(image)), b""), f"init_module {name}")


def remove(name):
    """0, or the error's number."""
    if inlab.libc.syscall(SYS_DELETE_MODULE, name.encode(), os.O_NONBLOCK) == 0:
        return 0
    return ctypes.get_errno()


def algorithms():
    """Those that the loaded modules have registered."""
    available = inlab.read("/proc/sys/net/ipv4/tcp_available_congestion_control").split()
    return [name for name in available if name not in MAINLINE]


def extremes(name):
    """What may be written to a parameter: 0 if it may, the ends of its range, its value."""

    def taken(value):
        try:
            inlab.write(DCC + name, str(value))
        except OSError:
            return False
        return True

    before = int(inlab.read(DCC + name))
    good = before if before else next(1 << i for i in range(31) if taken(1 << i))
    top, above = good, 1 << 31  # taken, refused
    while above - top > 1:
        middle = (top + above) // 2
        top, above = (middle, above) if taken(middle) else (top, middle)
    low, below = good, 0  # taken, refused or automatic
    while low - below > 1:
        middle = (low + below) // 2
        low, below = (middle, below) if taken(middle) else (low, middle)
    found = {low, top, before} | ({0} if taken(0) else set())
    assert taken(before)
    return sorted(found)


def remove_all():
    for name in reversed(NAMES):
        if not os.path.exists("/sys/module/" + name):
            continue
        for _ in range(100):
            error = remove(name)
            if not error:
                break
            assert error in (errno.EAGAIN, errno.EBUSY), f"rmmod {name}: {os.strerror(error)}"
            time.sleep(0.1)  # sockets and namespaces are cleaned up behind our back
        assert not error, f"rmmod {name}: {os.strerror(error)} after 10 s"


def use(sock, algorithm):
    sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, algorithm.encode())


def used(sock):
    return sock.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16).split(b"\0")[0].decode()


def refused(sysctl, text, number=errno.EINVAL):
    """The write of one of our sysctls fails and changes nothing."""
    before = inlab.read(DCC + sysctl)
    try:
        inlab.write(DCC + sysctl, text)
    except OSError as error:
        return error.errno == number and inlab.read(DCC + sysctl) == before
    return False


def mount_tracing():
    inlab.mount("tracefs", TRACING)


def tracing(on):
    inlab.write(TRACING + "events/delaycc/ack/enable", str(int(on)))


def traced():
    """The events delaycc:ack so far, as dicts of strings."""
    return [dict(field.split("=") for field in line.split(" ack: ")[1].split())
            for line in inlab.read(TRACING + "trace").splitlines() if " ack: " in line]
