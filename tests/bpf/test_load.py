#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`delaycc load` and what belongs to it, on the running kernel: docs/operate/bpf.md.

Each case runs in a network and mount namespace of its own, as a program: `test_load.py CASE` prints what it saw as JSON. Names of algorithms are the
kernel's, not a namespace's: nothing here runs beside another test of BPF.
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading

import pytest

from programs import BUILD, DELAYCC, ROOT, delaycc

pytestmark = pytest.mark.alone
LINE = ("--set", "line_rate_mbps=10000")
# The loopback's queue is the processor's.
LONG = ("--set", "base_rtt_ns=10000000")
# What the verifier may have to look at, of its million for each program: twice today's most.
INSTRUCTIONS = 200000


@contextlib.contextmanager
def loaded(name="oscar", *options):
    delaycc("load", name, *options)
    try:
        yield
    finally:
        subprocess.run([DELAYCC, "unload", name], capture_output=True, check=False)


def status(name="oscar"):
    return next((a for a in json.loads(delaycc("status", "--json"))["algorithms"] if a["name"] == name), None)


def flows(*words):
    return json.loads(delaycc("top", "--count", 1, "--json", *words))["flows"]


def talk(client, server, times=4):
    for _ in range(times):
        client.sendall(bytes(1000))
        server.recv(1000, socket.MSG_WAITALL)


def connect(algorithm, address="127.0.0.1"):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.create_server((address, 0), family=family)
    client = socket.socket(family)
    if algorithm:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
    client.connect(listener.getsockname()[:2])
    server, _ = listener.accept()
    listener.close()
    talk(client, server)
    return client, server


def runs(client):
    return client.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()


def pace_bps(client):
    return 8 * struct.unpack_from("=Q", client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), 104)[0]


# ---- the cases, inside ----

def every_algorithm():
    seen = {}
    for file in sorted((BUILD / "bpf").glob("*.bpf.o")):
        name = file.name.removesuffix(".bpf.o")
        if name in ("cgroup", "count", "stamps"):
            continue
        with loaded(name, *LINE, *LONG):
            client, server = connect(status(name)["kernel_name"])
            talk(client, server, 20)
            seen[name] = {**status(name), "runs": runs(client), "flows": len(flows(name))}
            client.close()
            server.close()
    return seen


def settings():
    seen = {}
    with loaded("oscar", *LINE, *LONG, "--set", "tau_ns=7000"):
        seen["first"] = status()["settings"]
        client, server = connect("bpf_oscar")
        seen["line"] = flows()[0]["line_rate_bps"]
        delaycc("set", "oscar", "line_rate_mbps=1000", "tau_ns=8000")
        talk(client, server)
        seen["second"] = status()["settings"]
        seen["slower"] = [flow["line_rate_bps"] for flow in flows()]
        seen["errors"] = [delaycc("set", "oscar", *words, fails=True) for words in
                          (["colour=1"], ["tau_ns=9000", "link_overhead_bytes=129"], ["tau_ns"], ["tau_ns=-1"], ["tau_ns=4294967296"])]
        seen["third"] = status()["settings"]
    seen["errors"] += [delaycc("load", "oscar", *LINE, "--set", "tau_ns=1", fails=True), delaycc("load", "oskar", fails=True),
                       delaycc("set", "oscar", "tau_ns=9000", fails=True), delaycc("unload", "oscar", fails=True), delaycc("unload", fails=True)]
    seen["after"] = status()
    return seen


def paths():
    seen = {}
    with loaded("oscar", *LINE, *LONG):
        four, six = connect("bpf_oscar"), connect("bpf_oscar", "::1")

        def bases():
            talk(*four)
            talk(*six)
            return {f["flow"].split(" > ")[1].rpartition(":")[0]: f["base"] for f in flows("--filter", "> ")
                    if f["flow"].split(" > ")[1].rpartition(":")[2] in (str(four[0].getpeername()[1]), str(six[0].getpeername()[1]))}

        seen["none"] = bases()
        delaycc("paths", "oscar", "127.0.0.0/8=4000000", "127.0.0.1=3000000", "::/0=2000000")
        seen["listed"] = delaycc("paths", "oscar").split()
        seen["set"] = bases()
        delaycc("paths", "oscar", "--delete", "127.0.0.1/32")
        seen["shorter"] = bases()
        delaycc("paths", "oscar", "--delete", "127.0.0.0/8")
        seen["other family's"] = bases()
        delaycc("paths", "oscar", "127.0.0.0/8=4000000")
        seen["errors"] = [delaycc("paths", "oscar", *words, fails=True) for words in
                          (["10.0.0.1/8=4000"], ["10.0.0.0/33=4000"], ["host=4000"], ["::ffff:10.0.0.0/104=4000"], ["10.0.0.0/8=999"],
                           ["10.0.0.0/8=0"], ["11.0.0.0/8=4000", "fd00::1/64=4000"])]
        seen["kept"] = delaycc("paths", "oscar").split()
        delaycc("paths", "oscar", "--clear")
        seen["cleared"] = delaycc("paths", "oscar").split()
    return seen


def memory():
    def learnt():
        return [line.split() for line in delaycc("paths", "oscar", "--learnt").splitlines()]

    def first_base():
        """Before the first packet of data."""
        pair = connect("bpf_oscar")
        port = str(pair[0].getsockname()[1])
        return next(f["base"] for f in flows("--filter", ":" + port + " ") if f["flow"].split(" > ")[0].endswith(":" + port))

    seen = {}
    # With the loopback's own MTU packets are as large as the window allows. At this rate what it measures may be a handshake's.
    subprocess.run(["ip", "link", "set", "lo", "mtu", "1500"], check=True)
    with loaded("oscar", "--set", "line_rate_mbps=100"):
        seen["at first"] = learnt()
        client, server = connect("bpf_oscar")
        for _ in range(4):
            client.sendall(bytes(50000))
            server.recv(50000, socket.MSG_WAITALL)
        seen["learnt"] = learnt()
        seen["bases"] = [first_base() for _ in range(20)]
        delaycc("paths", "oscar", "--learnt", "--clear")
        client.close()
        server.close()
        seen["told again"] = learnt()
        delaycc("paths", "oscar", "--learnt", "--clear")
        seen["cleared"] = learnt()
        seen["errors"] = [delaycc("paths", "oscar", "--learnt", *words, fails=True) for words in (["10.0.0.0/8=4000"], ["--delete"])]
        delaycc("set", "oscar", "path_memory_s=0")
        client, server = connect("bpf_oscar")
        client.sendall(bytes(50000))
        server.recv(50000, socket.MSG_WAITALL)
        seen["off"] = learnt()
    return seen


def trace():
    # Packets enough that ACKs are not held back.
    subprocess.run(["ip", "link", "set", "lo", "mtu", "1500"], check=True)
    subprocess.run(["mount", "-t", "tracefs", "tracing", "/sys/kernel/tracing"], check=True)
    instance = pathlib.Path(f"/sys/kernel/tracing/instances/delaycc-{os.getpid()}")
    instance.mkdir()
    try:
        (instance / "events/bpf_trace/bpf_trace_printk/enable").write_text("1", encoding="ascii")

        def lines(client, server):
            before = status("swift")["counters"]["decisions"]
            (instance / "trace").write_text("", encoding="ascii")
            reader = threading.Thread(target=server.recv, args=(4000000, socket.MSG_WAITALL))
            reader.start()
            client.sendall(bytes(4000000))
            reader.join()
            while struct.unpack("=i", fcntl.ioctl(client, termios.TIOCOUTQ, bytes(4)))[0]:
                os.sched_yield()
            text = (instance / "trace").read_text(encoding="utf-8")
            return {"lines": [line for line in text.splitlines() if not line.startswith("#")],
                    "decisions": status("swift")["counters"]["decisions"] - before}

        seen = {}
        with loaded("swift", *LINE, "--set", "base_rtt_ns=100000"):
            client, server = connect("bpf_swift")
            seen["ports"] = [client.getsockname()[1], client.getpeername()[1]]
            seen["off"] = lines(client, server)
            delaycc("set", "swift", "trace=1")
            seen["on"] = lines(client, server)
            seen["error"] = delaycc("set", "swift", "trace=2", fails=True)
            delaycc("set", "swift", "trace=0")
            seen["off again"] = lines(client, server)
        return seen
    finally:
        instance.rmdir()


def life():
    seen = {}
    with loaded("oscar", *LINE, *LONG, "--pin"):
        seen["pins"] = sorted(os.listdir("/sys/fs/bpf/delaycc/oscar"))
        seen["twice"] = delaycc("load", "oscar", *LINE, fails=True)
        client, server = connect("bpf_oscar")
        seen["users"] = status()["users"]
        delaycc("unload", "oscar")
        seen["gone"] = status()
        seen["pins_gone"] = os.path.exists("/sys/fs/bpf/delaycc/oscar")
        before = pace_bps(client)
        talk(client, server)
        seen["kept"] = [runs(client), pace_bps(client) == before]
        # Another build of it, under traffic.
        delaycc("load", "oscar", *LINE, "--set", "base_rtt_ns=5000000")
        new, peer = connect("bpf_oscar")
        talk(client, server)
        seen["both"] = [runs(client), runs(new), status()["counters"]["sockets"], len(flows())]
        for end in (client, server, new, peer):
            end.close()
        default = pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control")
        was = default.read_text(encoding="ascii")
        default.write_text("bpf_oscar", encoding="ascii")
        seen["default"] = delaycc("unload", "oscar", fails=True)
        default.write_text(was, encoding="ascii")
    return seen


@contextlib.contextmanager
def to_other():
    """A connection to a peer in another namespace."""
    accepts = "import socket; s = socket.create_server(('10.9.0.2', 5000)); print(flush=True); s.accept()[0].recv(1)"
    with subprocess.Popen(["ip", "netns", "exec", "other", sys.executable, "-c", accepts], stdout=subprocess.PIPE) as peer:
        peer.stdout.readline()
        with socket.socket() as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"bpf_oscar")
            client.connect(("10.9.0.2", 5000))
            yield client


def link(words):
    subprocess.run(words, shell=True, check=True)


def link_to_other():
    link("ip netns add other && ip link add va type veth peer vb netns other && ip addr add 10.9.0.1/24 dev va && ip link set va up"
         " && ip -n other addr add 10.9.0.2/24 dev vb && ip -n other link set vb up")


def namespaces():
    """A flow of this namespace, one of another that has a name, and one of a namespace that a process is in."""
    link_to_other()
    connects = ("import socket, sys; s = socket.socket(); s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'bpf_oscar'); "
                "s.connect((sys.argv[1], 5001)); print(flush=True); sys.stdin.read()")
    listens = "import socket; t = socket.create_server(('127.0.0.1', 5001)); "
    places = ((["ip", "netns", "exec", "other"], connects, "10.9.0.1"),
              (["unshare", "-n", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"], listens + connects, "127.0.0.1"))
    with loaded("oscar", *LINE, *LONG), socket.create_server(("10.9.0.1", 5001)), contextlib.ExitStack() as stack:
        own = connect("bpf_oscar")
        for enter, words, server in places:
            peer = stack.enter_context(subprocess.Popen([*enter, sys.executable, "-c", words, server], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            peer.stdout.readline()
        seen = [flow["netns"] for flow in flows()]
        for end in own:
            end.close()
    return {"netns": seen, "own": os.stat("/proc/self/ns/net").st_ino}


def speeds():
    """A device that says 10 Gbit/s, one that nothing is known of, as it came later, and the loopback."""
    link_to_other()
    seen = {}
    with loaded("oscar", *LONG):
        seen["loopback"] = runs(connect("bpf_oscar")[0])
        seen["counters"] = status()["counters"]
        with to_other() as client:
            seen["said"] = [runs(client), flows()[0]["line_rate_bps"]]
        seen["settings"] = status()["settings"]["line_rate_mbps"]
        delaycc("set", "oscar", "line_rate_mbps=5000")
        seen["told"] = runs(connect("bpf_oscar")[0])
    link("ip link set va down")
    seen["load"] = delaycc("load", "oscar")
    link("ip link set va up")
    with to_other() as client:
        seen["unsaid"] = [runs(client), flows()[0]["line_rate_bps"]]
    delaycc("unload", "oscar")
    return seen


def thousand():
    ends = []
    with loaded("oscar", *LINE, *LONG):
        for _ in range(1000):
            ends.append(connect("bpf_oscar"))
        client, server = ends[500]
        talk(client, server, 100)
        own = f"127.0.0.1:{client.getsockname()[1]} > 127.0.0.1:{client.getpeername()[1]}"
        seen = {"users": status()["users"], "flows": len(flows()), "one": flows("--filter", own)}
        seen["csv"] = delaycc("top", "--count", 2, "--interval", 0.05, "--csv", "--filter", own, "--sort", "rtt").splitlines()
        seen["table"] = delaycc("top", "--count", 1, "--rows", 5).splitlines()
        delaycc("top", "--count", 1, "--prometheus", "/tmp/metrics.prom")
        with open("/tmp/metrics.prom", encoding="ascii") as file:
            seen["prometheus"] = file.read()
    return seen


def broken_object(folder):
    """oscar.bpf.o with another first instruction in .ssthresh: the verifier knows nothing of register 9."""
    image = bytearray((BUILD / "bpf" / "oscar.bpf.o").read_bytes())
    at, size, count, names = struct.unpack_from("=Q", image, 40) + struct.unpack_from("=HHH", image, 58)
    sections = [struct.unpack_from("=IIQQQQ", image, at + size * i) for i in range(count)]
    start = sections[names][4]
    for name, _, _, _, offset, _ in sections:
        if image[start + name:].startswith(b"struct_ops/ssthresh\0"):
            image[offset:offset + 8] = bytes.fromhex("bf90000000000000")  # r0 = r9
    os.makedirs(folder)
    (pathlib.Path(folder) / "oscar.bpf.o").write_bytes(image)


def refused():
    seen = {}
    broken_object("/tmp/objects")
    os.environ["DELAYCC_BPF"] = "/tmp/objects"
    seen["verifier"] = delaycc("load", "oscar", *LINE, fails=True)
    os.environ["DELAYCC_BPF"] = "/tmp"
    seen["no_object"] = delaycc("load", "oscar", *LINE, fails=True)
    pathlib.Path("/tmp/oscar.bpf.o").write_bytes(b"nothing")
    seen["no_elf"] = delaycc("load", "oscar", *LINE, fails=True)
    del os.environ["DELAYCC_BPF"]
    seen["none"] = status()
    subprocess.run(["mount", "-t", "tmpfs", "tmp", "/sys/kernel/btf"], check=True)
    seen["no_btf"] = delaycc("load", "oscar", *LINE, fails=True)
    return seen


def unmounted():
    """Without /sys/fs/bpf: mounted by --pin; and where no file system may be mounted."""
    subprocess.run(["umount", "/sys/fs/bpf"], check=True)
    seen = {}

    def mounted():
        return [line.split()[1:3] for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()].count(["/sys/fs/bpf", "bpf"])

    # The one below this /sys is listed, too.
    before = mounted()
    with loaded("oscar", *LINE, "--pin"):
        seen["pins"] = sorted(os.listdir("/sys/fs/bpf/delaycc/oscar"))
    seen["mounted"] = mounted() - before
    subprocess.run(["umount", "/sys/fs/bpf"], check=True)
    # No mount point any more.
    subprocess.run(["mount", "-t", "tmpfs", "tmp", "/sys/fs"], check=True)
    seen["refused"] = delaycc("load", "oscar", *LINE, "--pin", fails=True)
    seen["after"] = status()
    return seen


def inside(case):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["mount", "-t", "bpf", "bpf", "/sys/fs/bpf"], check=True)
    for place in ("/tmp", "/run"):
        subprocess.run(["mount", "-t", "tmpfs", "tmp", place], check=True)
    # Of this namespace's devices.
    subprocess.run(["mount", "-t", "sysfs", "sys", "/sys"], check=True)
    subprocess.run(["mount", "-t", "bpf", "bpf", "/sys/fs/bpf"], check=True)
    print(json.dumps(globals()[case]()))


# ---- the tests ----

def seen_in(case):
    import owned  # not where this runs as a program

    missing = BUILD / "bpf_transfer.missing"
    if missing.exists():
        pytest.skip(f"BPF programs cannot be built here; missing: {missing.read_text().strip()}")
    if os.geteuid():
        pytest.skip("loading BPF programs needs root")
    done = owned.run([*owned.with_own_mounts("--net"), sys.executable, __file__, case])
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_every_object_loads_serves_and_goes():
    seen = seen_in("every_algorithm")
    assert {"oscar", "ccc", "sqcc", "prioplus", "swift"} <= set(seen)
    for name, a in seen.items():
        assert a["runs"] == a["kernel_name"], name
        assert 0 < a["verified_instructions"] < INSTRUCTIONS, (name, a["verified_instructions"])
        assert a["counters"]["sockets"] == 1 and a["counters"]["acks"] > 0 and a["counters"]["refused"] == 0, (name, a["counters"])
        assert a["flows"] == 1


def test_settings_are_the_modules_and_open_sockets_follow():
    seen = seen_in("settings")
    assert seen["first"]["tau_ns"] == 7000 and seen["first"]["link_overhead_bytes"] == 14 and seen["first"]["u_hai_ppm"] > 0
    assert seen["second"] == {**seen["first"], "line_rate_mbps": 1000, "tau_ns": 8000}
    assert seen["line"] == 10**10 and 10**9 in seen["slower"]
    # All or nothing.
    assert seen["third"] == seen["second"] and seen["after"] is None
    for error, wanted in zip(seen["errors"], (
            '"colour" is no parameter, there are line_rate_mbps', "link_overhead_bytes is 129, allowed is 0 to 128", "KEY=NUMBER", "KEY=NUMBER",
            "KEY=NUMBER", "tau_ns is 1, allowed is 500 to", 'the nearest is "oscar"', "is not loaded", "is not loaded", "name an algorithm"),
            strict=True):
        assert wanted in error


def test_settings_have_the_names_of_the_modules_sysctls():
    text = (ROOT / "kernel" / "core" / "dcc_swift.h").read_text(encoding="utf-8")
    fields = re.findall(r"^\tX\((\w+),", text, re.MULTILINE)
    shown = seen_in("every_algorithm")["swift"]["settings"]
    assert set(fields) | {"line_rate_mbps", "base_rtt_ns", "link_overhead_bytes", "path_memory_s", "noise_ns", "trace"} == set(shown)


def test_the_longest_prefix_has_the_base_rtt_and_open_sockets_follow():
    seen = seen_in("paths")
    assert seen["none"] == {"127.0.0.1": 10000, "[::1]": 10000}
    assert seen["listed"] == ["::/0=2000000", "127.0.0.0/8=4000000", "127.0.0.1/32=3000000"]
    assert seen["set"] == {"127.0.0.1": 3000, "[::1]": 2000}
    assert seen["shorter"] == {"127.0.0.1": 4000, "[::1]": 2000}
    # As with the modules' table.
    assert seen["other family's"] == {"127.0.0.1": 10000, "[::1]": 2000}
    wanted_words = ("bits behind", "length is 0 to 32", "no prefix", "no prefix", "allowed is 1000 to", "--delete", "bits behind")
    for error, wanted in zip(seen["errors"], wanted_words, strict=True):
        assert wanted in error
    assert seen["kept"] == ["::/0=2000000", "127.0.0.0/8=4000000"] and seen["cleared"] == []


def test_decisions_are_lines_of_the_kernels_trace_where_that_is_set():
    seen = seen_in("trace")
    assert "trace is 2, allowed is 0 to 1" in seen["error"]
    assert seen["off"]["lines"] == seen["off again"]["lines"] == [] and seen["off"]["decisions"] > 0
    # The receiver's end is a socket of the default algorithm.
    assert len(seen["on"]["lines"]) == seen["on"]["decisions"] > 0
    number = r"(-?\d+)"
    for line in seen["on"]["lines"]:
        sport, dport, rtt_ns, _, cwnd_milli, pacing_bps, _, _ = map(int, re.search(
            rf": bpf_trace_printk: ack: name=bpf_swift sport={number} dport={number} rtt_ns={number} gradient_q16={number} cwnd_milli={number}"
            rf" pacing_bps={number} branch={number} flows={number}$", line).groups())
        assert [sport, dport] == seen["ports"] and 1000 < rtt_ns < 10**9 and cwnd_milli > 0 and pacing_bps > 0


def test_connections_leave_what_they_have_measured_for_later_ones():
    seen = seen_in("memory")
    assert seen["at first"] == seen["cleared"] == seen["off"] == []
    [[address, base_ns, noise_ns, _, age_s, _]] = seen["learnt"]
    assert (address, age_s) == ("127.0.0.1", "0")
    # A handshake that took three times as long does not believe it.
    base_us = (int(base_ns) + int(noise_ns)) / 1000
    assert sum(base == base_us for base in seen["bases"]) >= 10, (base_us, seen["bases"])
    # An open connection knows it still, and tells it when it ends.
    assert [line[0] for line in seen["told again"]] == ["127.0.0.1"]
    assert all("excludes --learnt" in error for error in seen["errors"])


def test_open_sockets_keep_an_algorithm_that_is_unloaded_or_swapped():
    seen = seen_in("life")
    assert "dcc_settings" in seen["pins"] and not seen["pins_gone"]
    assert "registered already: delaycc unload oscar" in seen["twice"]
    assert seen["users"] == 1 and seen["gone"] is None
    assert seen["kept"] == ["bpf_oscar", True]
    assert seen["both"] == ["bpf_oscar", "bpf_oscar", 1, 1]
    assert "is the default of this namespace" in seen["default"]


def test_without_a_line_rate_the_device_says_it_or_ten_gigabits_are_taken_and_the_loopback_has_reno():
    seen = seen_in("speeds")
    assert seen["loopback"] == "reno" and seen["counters"]["refused"] == 1 and seen["counters"]["sockets"] == 0
    assert seen["said"] == ["bpf_oscar", 10**10]
    assert seen["settings"] == 0 and seen["told"] == "bpf_oscar"
    assert "line rate of va" not in seen["load"] and "line rate of any other device: 10000 Mbit/s, a guess" in seen["load"]
    assert seen["unsaid"] == ["bpf_oscar", 10**10]


def test_flows_of_all_namespaces_are_seen_once():
    seen = seen_in("namespaces")
    assert len(seen["netns"]) == len(set(seen["netns"])) == 3 and seen["own"] in seen["netns"]


def test_what_the_kernel_or_the_object_lacks_is_said():
    seen = seen_in("refused")
    assert "the kernel refuses bpf_oscar" in seen["verifier"] and "R9 !read_ok" in seen["verifier"], seen["verifier"]
    assert len(seen["verifier"].splitlines()) < 20
    assert "no BPF objects in /tmp" in seen["no_object"]
    assert "/tmp/oscar.bpf.o: cannot be opened as a BPF object" in seen["no_elf"]
    assert seen["none"] is None
    assert "CONFIG_DEBUG_INFO_BTF" in seen["no_btf"]


def test_a_thousand_sockets_are_seen():
    seen = seen_in("thousand")
    assert seen["users"] == seen["flows"] == 1000
    [one] = seen["one"]
    assert one["algorithm"] == "bpf_oscar" and one["base"] == 10000 and one["state"] in ("idle", "sends")
    assert seen["csv"][0].startswith("look,flow,algorithm,state,rate") and len(seen["csv"]) == 3
    assert seen["table"][0].startswith("1000 flows, 5 shown") and len(seen["table"]) == 7
    assert 'delaycc_flows{algorithm="bpf_oscar"} 1000\n' in seen["prometheus"]
    assert re.search(r'^delaycc_acks_total\{algorithm="bpf_oscar"\} \d+$', seen["prometheus"], re.MULTILINE)


def without_bpf():
    """Has bpf(2) of this process fail as on a kernel that lacks it (seccomp)."""
    load_syscall, if_equal, give_back, enosys_or_all = 0x20, 0x15, 0x06, (0x00050000 | errno.ENOSYS, 0x7FFF0000)
    number = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
    program = b"".join(struct.pack("=HBBI", *instruction) for instruction in (
        (load_syscall, 0, 0, 0), (if_equal, 0, 1, number), (give_back, 0, 0, enosys_or_all[0]), (give_back, 0, 0, enosys_or_all[1])))
    image = ctypes.create_string_buffer(program)
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    instructions = struct.pack("@HP", len(program) // 8, ctypes.addressof(image))
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(set_seccomp, filter_mode, instructions, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def test_a_kernel_without_it_is_told_which_one_has_it():
    if not (BUILD / "bpf" / "oscar.bpf.o").exists():
        pytest.skip("the BPF programs are not built")
    for words in (("load", "oscar", *LINE), ("status",)):
        done = subprocess.run([DELAYCC, *words], capture_output=True, text=True, check=False, preexec_fn=without_bpf)
        assert done.returncode == 1 and "this kernel cannot do it (needs 6.1 or later with CONFIG_BPF_JIT)" in done.stderr, done


def test_pins_are_made_where_no_bpf_file_system_is_mounted():
    seen = seen_in("unmounted")
    assert "dcc_settings" in seen["pins"]
    assert seen["mounted"] == 1
    assert "no BPF file system is at /sys/fs/bpf, and none may be mounted here" in seen["refused"]
    assert seen["after"] is None


def test_without_permission_it_says_what_is_needed():
    if not (BUILD / "bpf" / "oscar.bpf.o").exists() or os.geteuid():
        pytest.skip("needs the BPF programs, and root to give it up")
    done = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", "--bounding-set", "-all", DELAYCC, "load", "oscar", *LINE],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "run it as root" in done.stderr, done.stderr


def test_what_a_killed_session_of_tests_had_registered_is_unloaded_by_the_next(tmp_path):
    if not (BUILD / "bpf" / "oscar.bpf.o").exists() or os.geteuid():
        pytest.skip("needs the BPF programs, and root")
    import conftest
    import owned

    file = tmp_path / "held"
    killed = ("import os, conftest, programs\n"
              f"with conftest.kernel_held({str(file)!r}):\n"
              f"    programs.delaycc('load', 'oscar', *{LINE})\n"
              "    os.kill(os.getpid(), 9)\n")
    done = owned.run([sys.executable, "-c", killed], cwd=pathlib.Path(__file__).parent)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert status()
    with conftest.kernel_held(file):
        assert status() is None
    assert file.read_text(encoding="utf-8") == ""


if __name__ == "__main__":
    inside(sys.argv[1])
