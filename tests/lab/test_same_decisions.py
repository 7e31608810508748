# SPDX-License-Identifier: Apache-2.0
"""Module, core in user space and BPF program decide the same.

A flow of each algorithm runs in the lab as a module, with competition, losses, reordering, timeouts, an application that pauses and one that is idle;
tests/replay/watched records every call of the module's hooks, and what it decided. tests/replay/replay.cc gives these calls to the core in user
space and to the BPF program (on the running kernel), and compares window, pace, RTT and base RTT after each.

bpf/delaycc_hooks.bpf.h lists what differs. Of that list the records have: no segmentation offload, and the module's limit of a TSO burst for both; no
pace below the program's least; the module's send times for both, once, and the program's own, once; and they end at the first stop of PrioPlus.
"""

import base64
import ctypes
import json
import os
import pathlib
import time
import zlib

import inlab
import pytest
from modules import FILES, load, use

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE.parent / "replay"
BUILD = pathlib.Path(os.environ.get("DELAYCC_BUILD", HERE.parents[1] / "build")).resolve()

if os.getpid() == 1:
    FILES["tcp_watched"] = pathlib.Path(os.environ["WATCHED_MODULE"]).read_bytes()

LINK = {"rate_bps": 10**10, "delay_ns": 10_000}


def in_lab_record(names):
    """{name: what tcp_watched has recorded of it}"""
    load()
    image = FILES["tcp_watched"]
    inlab.check(inlab.libc.syscall(175, image, ctypes.c_ulong(len(image)), b""), "init_module tcp_watched")
    return {name: base64.b64encode(zlib.compress(record(name, 5001 + 10 * i))).decode() for i, name in enumerate(names)}


def record(name, port):
    a, b = inlab.pair(left={**LINK, "limit_bytes": 60_000}, right=LINK)
    for namespace in (a, b):
        with namespace:
            inlab.write("/proc/sys/net/ipv4/delaycc/line_rate_mbps", "10000")

    with a:
        inlab.write("/proc/sys/net/ipv4/tcp_congestion_control", name)
        inlab.write("/proc/tcp_watched", "1")
    with b:
        listener = inlab.socket.create_server(("10.0.0.2", port))
    with a:
        client = inlab.socket.socket()
        use(client, "watched")
        client.setsockopt(inlab.socket.SOL_SOCKET, inlab.socket.SO_PRIORITY, 6)
        client.connect(("10.0.0.2", port))
    server = listener.accept()[0]
    other = inlab.connection(a, b, port + 1)
    use(other[0], "cubic")

    def link(**parms):
        with a:
            inlab.port("a0", change=True, **{**LINK, "limit_bytes": 60_000, **parms})

    inlab.transfer(client, server, 1_000_000)
    # Beside others, with overflows.
    sent = other[0].send(bytes(3_000_000), inlab.socket.MSG_DONTWAIT)
    inlab.transfer(client, server, 1_000_000)
    other[1].recv(sent, inlab.socket.MSG_WAITALL)
    link(loss_ppm=10_000, reorder_ppm=20_000, reorder_delay_ns=30_000)
    inlab.transfer(client, server, 1_000_000)
    link()
    # Requests: full and short packets, pauses shorter and longer than the idle rule's.
    for i in range(30):
        inlab.transfer(client, server, 400 + 1100 * i)
        time.sleep(1e-5 * (1 + i))
    time.sleep(1)
    inlab.transfer(client, server, 300_000)
    # A timeout: nothing comes through for a while.
    link(loss_ppm=1_000_000)
    sent = client.send(bytes(20_000), inlab.socket.MSG_DONTWAIT)
    time.sleep(0.5)
    link()
    server.setsockopt(inlab.socket.SOL_SOCKET, inlab.socket.SO_RCVLOWAT, sent)
    server.recv(sent, inlab.socket.MSG_WAITALL)
    inlab.transfer(client, server, 400_000)
    client.close()
    time.sleep(0.1)
    with open("/proc/tcp_watched", "rb") as file:
        return file.read()


# The object that has an algorithm, where it is not of its name.
OBJECTS = {"ccc_paper": "ccc", "oscar_paper": "oscar", "patched_timely": "timely", "prioledb_paper": "prioplus_ledbat", "prioplus_paper": "prioplus",
           "sqcc_paper": "sqcc"}
ALGORITHMS = ("ccc", "ledbat", "oscar", "prioplus", "prioplus_ledbat", "sqcc", "swift", "thetapowertcp", "timely", *OBJECTS)
INIT, RELEASE, MIN_TSO_SEGS, CONG_CONTROL, SET_STATE, CWND_EVENT, SSTHRESH, UNDO_CWND = map(str, range(1, 9))


@pytest.fixture(scope="module", name="replayed")
def fixture_replayed(request, tmp_path_factory):
    """{name: what replay_hooks has found}"""
    import outside
    import owned

    module = outside.build_module("tcp_watched", SOURCES / "watched")
    seen, _ = outside.boot("in_lab_record", ALGORITHMS, script=request.path,
                           options=(f"MODULES_DIR={outside.LAB.resolve()}", f"WATCHED_MODULE={module}"))
    folder = tmp_path_factory.mktemp("records")
    found = {}
    for name, packed in seen.items():
        (folder / name).write_bytes(zlib.decompress(base64.b64decode(packed)))
        core = OBJECTS.get(name, name)
        program = outside.BUILD / "replay" / f"{core}.bpf.o"
        objects = [program] if program.exists() and os.geteuid() == 0 else []
        replay = "replay_hooks_ledbat" if core == "prioplus_ledbat" else "replay_hooks"
        done = owned.run([outside.BUILD / replay, name, folder / name, "10000", *objects])
        assert done.returncode == 0, done.stdout + done.stderr
        found[name] = json.loads(done.stdout)
    return found


def bpf_of(replayed, leg):
    if not all(leg in found for found in replayed.values()):
        missing = BUILD / "bpf_transfer.missing"
        pytest.skip(f"BPF programs cannot be built here; missing: {missing.read_text().strip()}" if missing.exists()
                    else "loading BPF programs needs root")
    return {name: found[leg] for name, found in replayed.items()}


def test_the_flow_meets_every_hook(replayed):
    for name, found in replayed.items():
        calls = found["calls"]
        assert calls[INIT] == calls[RELEASE] == 1 and calls[MIN_TSO_SEGS] > 2000 and calls[CONG_CONTROL] > 2000, name
        assert all(calls[call] > 5 for call in (SET_STATE, CWND_EVENT, SSTHRESH)), name
        # A stopped flow is in the module's own hands (probes).
        assert found["core"]["compared"] == sum(calls.values()) or OBJECTS.get(name, name).startswith("prioplus") and found["core"]["compared"] > 1000
    assert sum(found["calls"].get(UNDO_CWND, 0) for found in replayed.values()) > 5


def test_the_core_in_user_space_decides_as_the_module(replayed):
    assert {name: found["core"]["first"] for name, found in replayed.items()} == dict.fromkeys(ALGORITHMS, "")
    assert not any(found["core"]["different"] for found in replayed.values())


def test_the_bpf_program_decides_as_the_module(replayed):
    found = bpf_of(replayed, "bpf")
    assert {name: leg["first"] for name, leg in found.items()} == dict.fromkeys(ALGORITHMS, "")
    assert all(leg["compared"] == replayed[name]["core"]["compared"] for name, leg in found.items())


def test_the_bpf_programs_own_send_times_are_within_the_rtts_microsecond(replayed):
    for name, leg in bpf_of(replayed, "bpf_own_notes").items():
        # Both agree with the kernel's RTT, whose ends are rounded to microseconds.
        assert leg["rtt_error_ns"] < 2000, name
        assert leg["same_notes"] >= 0.9 * leg["notes"] > 0.8 * 0.9 * leg["acks"], (name, leg)
