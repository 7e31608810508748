# SPDX-License-Identifier: Apache-2.0
"""Time stamps of NICs: the test's own device (stamped/stamped.c), and what delaycc makes of honest and other devices."""

import contextlib
import errno
import json
import os
import pathlib
import socket
import struct
import subprocess
import time
import tomllib

import pytest

import calibrated as calibrated_paths
import stamps
from inlab import RTM_NEWLINK, attr, netlink
from stamps import B, B6, LIES, NONE, TX_ONLY, switch, switched, wait_for

pytestmark = pytest.mark.ci

COMMAND = os.environ.get("DELAYCC_COMMAND")
HERE = pathlib.Path(__file__).resolve().parent
SO_TIMESTAMPING = 37
RTM_DELROUTE = 25
TX_HARDWARE, TX_SOFTWARE, RX_HARDWARE, RX_SOFTWARE, SOFTWARE, RAW_HARDWARE, OPT_ID, OPT_TSONLY, OPT_TX_SWHW = (
    1 << bit for bit in (0, 1, 2, 3, 4, 6, 7, 11, 14))


@pytest.fixture(name="run", scope="module")
def fixture_run(request):
    from outside import DELAYCC, LAB, boot, build_module

    module = build_module("stamped", HERE / "stamped")
    options = (f"STAMPED_MODULE={module}", f"DELAYCC_COMMAND={DELAYCC}", f"MODULES_DIR={LAB.resolve()}")

    def run(function, *args):
        return boot(function, *args, script=request.path, options=options)[0]
    return run


# ---- the test's own device ----


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


# ---- delaycc calibrate --------------------------------------------------------

# Of the quiet path: wires, and the serialisation of a full packet there and of an ACK back.
TRUE_RTT_NS = 4 * 3000 + 8 * (1514 + 66) / 100


def command(arguments):
    return [COMMAND, "calibrate", *arguments]


def calibrated(cases):
    """For each (parameters of the devices, arguments): exit code, output, errors, and stamp0's settings before and after."""
    stamps.load()
    a, _, _ = stamps.path()
    results = []
    with a:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for parameters, arguments in cases:
            for name, value in parameters.items():
                stamps.parameter(name, value)
            before = switched(sock, "stamp0")
            done = subprocess.run(command(arguments), capture_output=True, text=True, check=False)
            results.append((done.returncode, done.stdout, done.stderr, before, switched(sock, "stamp0")))
            for name in parameters:
                stamps.parameter(name, 0)
    return results


def noise_written():
    """What --noise-out writes on a path whose hosts' noise is uniform up to 5000 ns each way."""
    stamps.load(noise_ns=5000)
    a, _, _ = stamps.path()
    with a:
        done = subprocess.run(command(["--count", "2000", "--noise-out", "/tmp/noise.toml", B]), capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr, pathlib.Path("/tmp/noise.toml").read_text()


def test_a_scenario_reads_the_noise_that_calibrate_writes(run, tmp_path):
    from outside import DELAYCC

    code, output, text = run("noise_written")
    assert code == 0 and "noise written to /tmp/noise.toml" in output
    found = tomllib.loads(text)
    assert set(found) == {"idle_noise_ns", "loaded_noise_ns", "host_noise_ns"}
    # The sum of two uniform times, above the least that came; and that of this host's receiving.
    idle, host = (dict(map(tuple, found[name])) for name in ("idle_noise_ns", "host_noise_ns"))
    assert idle[0] == host[0] == 0 and idle[500000] == pytest.approx(5000, abs=400) and 9000 < idle[1000000] <= 10000
    assert host[500000] == pytest.approx(2500, abs=400)
    (tmp_path / "noise.toml").write_text(text)
    (tmp_path / "case.toml").write_text('''name = "case"
cc = ["cubic"]
[topology]
kind = "dumbbell"
base_rtt_ns = 12000
[[host]]
hosts = "receivers"
noise = "noise.toml"
[[flows]]
from = "senders"
to = "receivers"
[measure]
duration_us = 10
''')
    done = subprocess.run([DELAYCC, "validate", tmp_path / "case.toml"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_calibrate_finds_what_the_path_is(run):
    arguments = ["--json", "--count", "1000", B]
    exact, noisy, *others = run("calibrated", [
        ({"clock_offset_ns": 10**12, "clock_drift_ppb": 20000}, arguments),
        ({"noise_ns": 5000}, ["--json", "--count", "2000", B]),
        *(({"mode": mode}, [*arguments, "--load", "0"]) for mode in (TX_ONLY, LIES, NONE))])
    for code, _, errors, before, after in (exact, noisy, *others):
        assert (code, errors, after) == (0, "", before)

    found = json.loads(exact[1])
    settings = {setting["name"].removeprefix("net.ipv4.delaycc."): setting["value"] for setting in found["settings"]}
    assert found["smallest_rtt_ns"] == found["base_rtt_ns"] == pytest.approx(TRUE_RTT_NS, abs=4)
    assert found["idle"]["nic_full"]["largest_ns"] == pytest.approx(found["idle"]["full"]["largest_ns"], abs=1)
    assert found["idle"]["host_noise"]["largest_ns"] <= 1
    assert found["clock"]["offset_ns"] == pytest.approx(10**12, abs=10**6)
    assert found["clock"]["drift_ppb"] == pytest.approx(20000, rel=0.01)
    assert settings["line_rate_mbps"] == "100000" and settings["oscar.tau_ns"] == str(found["base_rtt_ns"] // 2)
    assert found["loaded"]["sent_bps"] == pytest.approx(10e9, rel=0.01)
    # The load's packets stand in line before the echo, one on each way.
    assert found["spread_ns"] <= 2 * 8 * 1514 / 100

    # Each host's noise is uniform: the mean of two is 5000; 99.85 % of their sums are below 9726.
    found = json.loads(noisy[1])
    assert found["base_rtt_ns"] == pytest.approx(TRUE_RTT_NS, rel=0.04)
    # The smallest is not quite without noise.
    assert found["noise_ns"] == pytest.approx(5000, rel=0.06)
    assert found["spread_ns"] == pytest.approx(4726, rel=0.06)
    # What comes is late between NIC and kernel: the NIC's stamps have only the other host's noise.
    assert found["idle"]["host_noise"]["p50_ns"] == pytest.approx(2500, rel=0.1)
    assert found["idle"]["nic_full"]["p50_ns"] == pytest.approx(4 * 3000 + 16 * 1514 / 100 + 2500, rel=0.02)

    for result, kind, why in zip(others, ("tx-only", "software", "software"), (
            "refuses to stamp every packet that comes", "accepted hardware stamps, and they did not come", "it has no hardware stamps")):
        found = json.loads(result[1])
        assert found["stamps"]["kind"] == kind and why in found["stamps"]["why"]
        assert (found["stamps"]["sent"], found["stamps"]["came"]) == (50 if kind == "tx-only" else 0, 0)
        assert found["smallest_rtt_ns"] == pytest.approx(TRUE_RTT_NS, abs=4)


# Its ACK is 20 bytes longer.
TRUE_IPV6_RTT_NS = TRUE_RTT_NS + 8 * 20 / 100


def by_ipv6(cases):
    """For each list of arguments: exit code, output and errors of calibrate, and the table of paths; and at last behind a smaller MTU."""
    import modules

    modules.load("tcp_oscar")
    stamps.load()
    a, b, router = stamps.path()
    stamps.add_ipv6(a, b, router)
    results = []

    def calibrate(arguments):
        with a:
            done = subprocess.run(command([*arguments, "--json", "--count", "100"]), capture_output=True, text=True, check=False)
            results.append((done.returncode, done.stdout, done.stderr, pathlib.Path(modules.DCC, "base_rtt_paths").read_text()))

    for arguments in cases:
        calibrate(arguments)
    for namespace, device in ((router, "stamp2"), (b, "stamp3")):
        with namespace:
            netlink(RTM_NEWLINK, 0, struct.pack("=BxHiII", 0, 0, socket.if_nametoindex(device), 0, 0) + attr(4, 1400))
    calibrate([B6])
    with a:
        # Without IPv4's default route a device stands for the gateway of IPv6.
        netlink(RTM_DELROUTE, 0, struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, 254, 0, 0, 0, 0))
    calibrate(["stamp0"])
    return results


def test_calibrate_measures_paths_of_ipv6(run):
    plain, first, again, absent, mtu, device = run("by_ipv6", [
        [B6], ["--apply", "--prefix", "fd00:2::/64", B6], ["--apply", "--prefix", "FD00:0002:0::/64", B6], ["--prefix", "fd00:2::/64", "fd00:1::77"]])
    for code, output, errors, _ in (plain, first, again, mtu, device):
        assert (code, errors) == (0, ""), errors
        found = json.loads(output)
        assert found["stamps"]["kind"] == "hardware" and found["stamps"]["sent"] == found["stamps"]["came"] == 50
    found = json.loads(plain[1])
    assert (found["address"], found["device"], found["mtu_bytes"]) == (B6, "stamp0", 1500)
    assert found["smallest_rtt_ns"] == found["base_rtt_ns"] == pytest.approx(TRUE_IPV6_RTT_NS, abs=4)
    assert found["loaded"]["sent_bps"] == pytest.approx(10e9, rel=0.01) and found["spread_ns"] <= 2 * 8 * 1514 / 100
    assert found["train"]["came_bps"] == pytest.approx(100e9, rel=0.01)
    # The same prefix in other words takes the place of the first.
    tables = [" ".join(filter(None, ("fd00:2::/64", str(each["base_rtt_ns"]), each["noise_ns"] and str(each["noise_ns"])))) + "\n"
              for each in (json.loads(first[1]), json.loads(again[1]))]
    assert plain[3] == "" and [first[3], again[3]] == tables and str(found["base_rtt_ns"]) in tables[0]
    assert absent[0] == 1 and absent[2] == "delaycc: fd00:1::77: No route to host\n"
    assert json.loads(mtu[1])["mtu_bytes"] == 1400
    found = json.loads(device[1])
    assert found["address"] == "fe80::fe%stamp0" and found["smallest_rtt_ns"] < TRUE_IPV6_RTT_NS - 5000


def test_calibrate_says_what_is_wrong(run):
    cases = {"10.0.2.99": (1, "delaycc: 10.0.2.99: No route to host\n"),
             "stamp9": (2, "stamp9: is neither a network device here nor a host with an address: "),
             "lo": (2, "lo: has no default route to measure; name a host that is behind it\n"),
             "10.0.1.254 --load 91": (2, "--load: Value 91 not in range 0 to 90"),
             # Before anything is measured.
             "10.0.2.99 --prefix 10.0.2.1/24": (2, '--prefix: "10.0.2.1/24": has bits behind the prefix\'s 24\n'),
             "10.0.2.99 --prefix rack7": (2, '--prefix: "rack7": is no prefix such as 10.0.1.0/24 or fd00:1::/64\n'),
             "10.0.1.254 --cc cubic": (2, '--cc: "cubic" has no settings to calibrate, allowed is one of oscar, ccc, swift, prioplus, ')}
    for (code, words), (found, output, errors, _, _) in zip(cases.values(), run("calibrated", [({}, case.split()) for case in cases])):
        assert (found, output) == (code, "") and errors.startswith(words), errors


def in_other_ways():
    """Exit code, first two lines and errors of calibrate: of a device, behind a link with a small MTU, without rights, and with some."""
    stamps.load()
    a, b, router = stamps.path()
    for namespace, device in ((router, "stamp2"), (b, "stamp3")):
        with namespace:
            netlink(RTM_NEWLINK, 0, struct.pack("=BxHiII", 0, 0, socket.if_nametoindex(device), 0, 0) + attr(4, 1400))
    few = ["--count", "100", "--load", "0"]
    results = []
    with a:
        for words, rights in ((["stamp0"], []), ([B], []), ([B], ["setpriv", "--bounding-set=-net_raw"]),
                              ([B], ["setpriv", "--bounding-set=-net_admin"])):
            done = subprocess.run([*rights, *command([*few, *words])], capture_output=True, text=True, check=False)
            results.append((done.returncode, done.stdout.splitlines()[:2], done.stderr))
    return results


def test_calibrate_knows_devices_mtus_and_rights(run):
    device, mtu, nobody, some = run("in_other_ways")
    all_of_them = "stamps      hardware: 50 of 50 packets sent and 50 of their answers had the hardware's"
    none = "stamps      software: 0 of 50 packets sent and 0 of their answers had the hardware's; only root may switch its hardware stamps on"
    # A device stands for the gateway behind it.
    assert device == [0, ["path        10.0.1.254 through stamp0, packets of 1500 bytes", all_of_them], ""]
    assert mtu == [0, [f"path        {B} through stamp0, packets of 1400 bytes", all_of_them], ""]
    assert nobody == [1, [], "delaycc: echoes need root, or CAP_NET_RAW: sudo\n"]
    assert some == [0, [f"path        {B} through stamp0, packets of 1400 bytes", none], ""]


def killed(count):
    """stamp0's settings of stamps before, while calibrate runs, and after it was killed; what a second calibrate says meanwhile."""
    stamps.load()
    a, _, _ = stamps.path()
    with a:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        switch(sock, "stamp0", 0, 1)
        seen = [switched(sock, "stamp0")]
        with subprocess.Popen(command(["--count", str(count), B]), stdout=subprocess.PIPE) as process:
            wait_for(lambda: switched(sock, "stamp0") != seen[0])
            seen.append(switched(sock, "stamp0"))
            second = subprocess.run(command([B]), capture_output=True, text=True, check=False)
            process.kill()
            # Whoever reads its output need not wait for its guard.
            process.stdout.read()
        wait_for(lambda: switched(sock, "stamp0") == seen[0])
        again = subprocess.run(command(["--count", "100", B]), capture_output=True, check=False).returncode
        return [*seen, switched(sock, "stamp0")], (second.returncode, second.stderr), again


def test_stamps_are_set_back_when_calibrate_is_killed(run):
    seen, second, again = run("killed", 1000000)
    assert seen == [[0, 1], [1, 1], [0, 1]]
    assert second == [1, "delaycc: stamp0: another delaycc uses its time stamps\n"]
    assert again == 0


def applied(arguments):
    """Of each number of paths in the table and what is asked: exit code, errors, all sysctls before and after; the file that --sysctl.d made."""
    import modules

    modules.load("tcp_oscar", "tcp_prioplus")
    stamps.load(noise_ns=5000)
    a, _, _ = stamps.path()

    def values():
        files = [file for file in sorted(pathlib.Path(modules.DCC).rglob("*")) if file.is_file()]
        return {str(file.relative_to(modules.DCC)): file.read_text().strip() for file in files}

    results = []
    with a:
        for paths, more in arguments:
            if paths is not None:
                table = "".join(f"10.{64 + (i >> 8)}.{i & 255}.0/24 8000\n" for i in range(paths))
                pathlib.Path(modules.DCC, "base_rtt_paths").write_text(table or "\n", encoding="ascii")
            before = values()
            done = subprocess.run(command(["--count", "500", "--apply", "--sysctl.d", "/tmp/90.conf", *more, B]), capture_output=True, text=True,
                                  check=False)
            results.append((done.returncode, done.stderr, before, values(), pathlib.Path("/tmp/90.conf").read_text()))
    return results


def test_settings_are_applied_all_or_none(run):
    all_of_them, missing, refused, path, host, elsewhere = run("applied", [
        (None, []), (None, ["--cc", "oscar,prioplus_ledbat"]), (4096, ["--cc", "oscar", "--line-rate-mbps", "40000", "--prefix", "10.0.2.0/24"]),
        (0, ["--cc", "oscar", "--prefix", "10.0.2.0/24"]), (None, ["--cc", "oscar", "--prefix", "10.0.2.1"]),
        (None, ["--cc", "oscar", "--prefix", "10.0.3.0/24"])])
    code, errors, before, after, text = all_of_them
    assert code == 0, errors
    changed = {name: value for name, value in after.items() if before[name] != value}
    assert set(changed) == {"line_rate_mbps", "base_rtt_ns", "noise_ns", "oscar/tau_ns",
                            *(f"prioplus/{name}" for name in ("channel_a_ns", "channel_b_ns", "levels"))}
    for name, value in changed.items():
        # A host may boot without an algorithm's module.
        assert f"\n{'-' * ('/' in name)}net.ipv4.delaycc.{name.replace('/', '.')} = {value}\n" in text

    code, errors, before, after, _ = missing
    assert code == 1 and before == after
    assert errors.endswith("net.ipv4.delaycc.prioplus_ledbat.channel_a_ns: is not there: its module is not loaded; nothing was changed\n")

    code, errors, before, after, _ = refused
    assert code == 1 and before == after
    assert errors.endswith("base_rtt_paths): Argument list too long; the others have the values that they had\n")

    code, errors, before, after, _ = path
    assert code == 0, errors
    assert after["base_rtt_paths"].split()[0] == "10.0.2.0/24" and before["base_rtt_ns"] == after["base_rtt_ns"]

    code, errors, _, after, _ = host
    assert code == 0, errors
    assert {line.split()[0] for line in after["base_rtt_paths"].splitlines()} == {"10.0.2.0/24", "10.0.2.1/32"}

    # Perhaps these are as far away: it is done, and said.
    code, errors, _, after, _ = elsewhere
    assert code == 0 and "warning: 10.0.2.1 is not in 10.0.3.0/24, whose hosts get its base RTT\n" in errors
    assert {line.split()[0] for line in after["base_rtt_paths"].splitlines()} == {"10.0.2.0/24", "10.0.2.1/32", "10.0.3.0/24"}


def test_a_calibrated_path_stays_in_use_in_spite_of_noise():
    """Hosts that delay each packet by 0 to 5 us: eight flows at 100 Gbit/s and 12 us, of which five stop (the scenario host-noise)."""
    noise_ns, bytes_per_ns = 5000, 12.5
    found = calibrated_paths.find(noise_ns, options=["--count", "2000"])
    assert found["base_rtt_ns"] == pytest.approx(12000, rel=0.05)
    for algorithm in calibrated_paths.ALGORITHMS:
        _, noiseless = calibrated_paths.measure(algorithm, 0, ["--set", "base=path"])
        uncalibrated, _ = calibrated_paths.measure(algorithm, noise_ns, ["--set", "base=path"])
        used, queue = calibrated_paths.measure(algorithm, noise_ns, calibrated_paths.settings_of(found, algorithm))
        # Room for the noise, and twice as much for shares that it does not decide (docs/design/path-model.md).
        most = noiseless + 3 * noise_ns * bytes_per_ns
        assert uncalibrated < 0.7 and used > 0.92 and queue < most, (algorithm, uncalibrated, used, queue, most)
