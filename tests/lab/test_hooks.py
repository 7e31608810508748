# SPDX-License-Identifier: Apache-2.0
"""Which function of a core TCP's events reach, and how often; what TCP refuses.

hooked/tcp_hooked.c is a test's algorithm that counts the calls. The events are those of the scripts in behaviour/.
"""

import ctypes
import errno
import os
import pathlib
import socket

import inlab
import packetdrill
import pytest
from modules import FILES, load, use, used

HERE = pathlib.Path(__file__).resolve().parent
PARAMETERS = "/sys/module/tcp_hooked/parameters/"
COUNTS = ("inits", "acks", "losses", "rtos", "restarts")

if os.getpid() == 1:
    FILES["tcp_hooked"] = pathlib.Path(os.environ["HOOKED_MODULE"]).read_bytes()
    for path in (HERE / "behaviour").iterdir():
        packetdrill.TEXTS["behaviour", path.name] = path.read_text()


@pytest.fixture(scope="module", name="hooked")
def fixture_hooked():
    from outside import build_module

    return build_module("tcp_hooked", HERE / "hooked")


@pytest.fixture(name="run")
def fixture_run(lab, hooked):
    from outside import LAB

    def run(function, *args):
        return lab(function, *args, mem="1G", options=(f"MODULES_DIR={LAB.resolve()}", f"HOOKED_MODULE={hooked}"))

    return run


def load_hooked():
    load()
    image = FILES["tcp_hooked"]
    inlab.check(inlab.libc.syscall(175, image, ctypes.c_ulong(len(image)), b""), "init_module tcp_hooked")


def in_lab_counts():
    """{script: (outcome, {count: calls})}"""
    load_hooked()
    found = {}
    for folder, name in sorted(packetdrill.TEXTS):
        for count in COUNTS:
            inlab.write(PARAMETERS + count, "0")
        settings = {"line_rate_mbps": 10000, "base_rtt_ns": 100_000_000}
        outcome = packetdrill.run(folder, name, "hooked", settings=settings)
        outcome.pop("worker")
        found[name.removesuffix(".pkt")] = outcome, {count: int(inlab.read(PARAMETERS + count)) for count in COUNTS}
    return found


def test_each_event_reaches_the_core_once(run):
    found = run("in_lab_counts")
    wrong = {name: outcome for name, (outcome, _) in found.items() if outcome["result"] != "same"}
    assert not wrong
    seen = {name: tuple(counts[count] for count in ("acks", "losses", "rtos")) for name, (_, counts) in found.items()}
    assert seen == {
        # Each ACK or SACK that delivers something; not those that only open a window or repeat themselves.
        "cork": (1, 0, 0), "fast_open": (3, 0, 0), "path_mtu": (2, 0, 0), "zero_window": (2, 0, 0), "keepalive": (1, 0, 0),
        # Once per recovery, also where a mark is echoed (CWR), a probe of the tail finds the loss, or TCP undoes it all.
        "recovery": (6, 1, 0), "ecn": (3, 1, 0), "tail_loss_probe": (2, 1, 0), "undo_dsack": (4, 1, 0), "undo_eifel": (4, 1, 0),
        # Once per series of timeouts, also where it was spurious.
        "rto": (2, 0, 1), "rto_eifel": (2, 0, 1), "rto_frto": (2, 0, 1),
        # What a peer takes back is a timeout, in the middle of a recovery too.
        "reneging": (3, 1, 1),
    }
    for name, (_, counts) in found.items():
        assert counts["inits"] == 1 and counts["restarts"] == 0, name


def in_lab_refused():
    """What TCP_CONGESTION and the sysctl say to names, and what a socket then uses."""
    load_hooked()
    seen = {}
    with socket.socket() as sock:
        for name in ("hooked", "oscar", "Oscar", "oscar2", "hooked-reno", "", "x" * 15, "x" * 16, "cubic"):
            try:
                use(sock, name)
                seen[name] = used(sock)
            except OSError as error:
                seen[name] = errno.errorcode[error.errno]
    with inlab.Netns():
        for name in ("hooked", "hooked-reno", "oscar_paper", "nobody"):
            try:
                inlab.write("/proc/sys/net/ipv4/tcp_congestion_control", name)
                seen["sysctl " + name] = inlab.read("/proc/sys/net/ipv4/tcp_congestion_control").strip()
            except OSError as error:
                seen["sysctl " + name] = errno.errorcode[error.errno]
    # A second module of the same name.
    image = FILES["tcp_hooked"]
    seen["again"] = inlab.libc.syscall(175, image, ctypes.c_ulong(len(image)), b"") and errno.errorcode[ctypes.get_errno()]
    return seen


def test_names_that_are_none_are_refused_and_the_socket_keeps_its_own(run):
    assert run("in_lab_refused") == {
        "hooked": "hooked", "oscar": "oscar", "Oscar": "ENOENT", "oscar2": "ENOENT", "hooked-reno": "ENOENT", "": "EINVAL",
        "x" * 15: "ENOENT", "x" * 16: "ENOENT", "cubic": "cubic", "sysctl hooked": "hooked", "sysctl hooked-reno": "ENOENT",
        "sysctl oscar_paper": "oscar_paper", "sysctl nobody": "ENOENT", "again": "EEXIST"}
