# SPDX-License-Identifier: Apache-2.0
"""Time stamps of NICs: the test's own device (stamped/stamped.c), and what delaycc makes of honest and other devices."""

import contextlib
import ctypes
import errno
import fcntl
import pathlib
import socket
import struct
import time

import pytest

import stamps
from stamps import B, LIES, NONE, TX_ONLY

HERE = pathlib.Path(__file__).resolve().parent
SIOCSHWTSTAMP = 0x89B0
SO_TIMESTAMPING = 37
TX_HARDWARE, TX_SOFTWARE, RX_HARDWARE, RX_SOFTWARE, SOFTWARE, RAW_HARDWARE, OPT_ID, OPT_TSONLY, OPT_TX_SWHW = (
    1 << bit for bit in (0, 1, 2, 3, 4, 6, 7, 11, 14))


@pytest.fixture(name="run", scope="module")
def fixture_run(request):
    from outside import boot, build_module

    module = build_module("stamped", HERE / "stamped")

    def run(function, *args):
        return boot(function, *args, script=request.path, options=(f"STAMPED_MODULE={module}",))[0]
    return run


# ---- the test's own device ----


def switch(sock, device, tx, rx):
    """0, or the error's number."""
    config = ctypes.create_string_buffer(struct.pack("=iii", 0, tx, rx))
    try:
        fcntl.ioctl(sock, SIOCSHWTSTAMP, struct.pack("16sP", device.encode(), ctypes.addressof(config)).ljust(40, b"\0"))
    except OSError as error:
        return error.errno
    return 0


def stamps_of(messages):
    """(software, hardware) of control messages, in ns; 0: none."""
    for level, kind, data in messages:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPING:
            times = struct.unpack("=6q", data)
            return times[0] * 10**9 + times[1], times[4] * 10**9 + times[5]
    return 0, 0


def packets_with_stamps(count, parameters):
    """(errors of switching on, [hardware stamps of what is sent], [of what comes], software stamps of what is sent)"""
    stamps.load(**parameters)
    a, b, _ = stamps.path()
    flags = (TX_HARDWARE | TX_SOFTWARE | RX_HARDWARE | RX_SOFTWARE | SOFTWARE | RAW_HARDWARE | OPT_ID | OPT_TSONLY | OPT_TX_SWHW)
    ends = []
    for namespace in (a, b):
        with namespace:
            ends.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            ends[-1].setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, flags)
    with a:
        errors = [switch(ends[0], "stamp0", 1, 0)]
    with b:
        errors.append(switch(ends[1], "stamp3", 0, 1))
    ends[1].bind((B, 7))
    sent, came, software = [], [], []
    ends[0].sendto(b"neighbours", (B, 7))
    ends[1].recvmsg(2000, 512)
    time.sleep(1)
    with contextlib.suppress(BlockingIOError):
        while True:
            ends[0].recvmsg(2000, 512, socket.MSG_ERRQUEUE)
    for _ in range(count):
        ends[0].sendto(bytes(1000), (B, 7))
        came.append(stamps_of(ends[1].recvmsg(2000, 512)[1])[1])
        time.sleep(0.001)
        one = [stamps_of(ends[0].recvmsg(2000, 512, socket.MSG_ERRQUEUE)[1]) for _ in range(2 if parameters.get("mode", 0) < LIES else 1)]
        software.append(max(pair[0] for pair in one))
        sent.append(max(pair[1] for pair in one))
    return errors, sent, came, software


def test_the_device_stamps_each_packet_exactly(run):
    errors, sent, came, software = run("packets_with_stamps", 200, {})
    assert errors == [0, 0]
    # The router's wires and its serialisation.
    path_ns = 6000 + (1000 + 8 + 20 + 14) * 8 / 100
    assert {there - here for here, there in zip(sent, came)} <= {int(path_ns), int(path_ns) + 1}
    assert {here - there for here, there in zip(sent, software)} <= {0, -1, 1}


def test_the_device_has_a_clock_of_its_own(run):
    _, sent, _, software = run("packets_with_stamps", 2, {"clock_offset_ns": 10**12})
    assert {here - there for here, there in zip(sent, software)} <= {10**12 - 1, 10**12, 10**12 + 1}


@pytest.mark.parametrize("mode, errors, sends, receives", [
    (TX_ONLY, [0, errno.ERANGE], True, False), (LIES, [0, 0], False, False), (NONE, [errno.EOPNOTSUPP] * 2, False, False),
], ids=["tx-only", "lies", "none"])
def test_the_device_can_be_another(run, mode, errors, sends, receives):
    found, sent, came, software = run("packets_with_stamps", 5, {"mode": mode})
    assert found == errors
    assert {bool(stamp) for stamp in sent} == {sends} and {bool(stamp) for stamp in came} == {receives} and all(software)
