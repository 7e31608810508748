# SPDX-License-Identifier: Apache-2.0
"""The backend `hosts` with NICs that stamp packets (stamped/stamped.c), inside the lab: RTTs by the NICs, and what the hosts add.

The command, two hosts and a router between them are in one lab, and a script takes the place of ssh: everything else is as between servers.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

import stamps
from inlab import attr, gso_max_segs, read, write
from stamps import A, B, LIES, NONE, TX_ONLY, wait_for

pytestmark = pytest.mark.ci

COMMAND = os.environ.get("DELAYCC_COMMAND")
HERE = pathlib.Path(__file__).resolve().parent
# Of a full packet there and its ACK back, on the quiet path of stamps.path().
TRUE_RTT_US = (4 * 3000 + 8 * (1514 + 66) / 100) / 1000
# Each port rounds its time up to a nanosecond, and reading a clock takes one.
EXACT_US = 0.004
# A packet each 12 us, so that none waits for another.
SCENARIO = """
name = "two-hosts"
trials = 1
cc = ["cubic"]
[topology]
kind = "dumbbell"
senders = 1
receivers = 1
base_rtt_ns = 12000
[[flows]]
name = "paced"
from = "senders"
to = "receivers"
pacing_gbps = 1
[measure]
duration_us = 100000
"""
SSH = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
exec nsenter --net=/proc/1/fd/$2 sh -c "$3"
"""
HOST = '[[hosts]]\nname = "{}[0]"\nssh = "{}"\ndevice = "{}"\naddress = "{}"\nrunner = "{}"\n{}'
METRICS = {"rtt_nic_p50_us", "rtt_nic_p99_us", "rtt_nic_p999_us", "host_noise_p50_us", "host_noise_p99_us", "host_noise_p999_us", "rtt_nic_packets"}


@pytest.fixture(name="run", scope="module")
def fixture_run(request):
    from outside import BUILD, DELAYCC, boot, build_module

    module = build_module("stamped", HERE / "stamped")
    # The command reads itself whole for its hash, which is much with symbols, and the lab's /tmp is its own.
    bare = BUILD / "bare"
    bare.mkdir(exist_ok=True)
    subprocess.run(["strip", "-o", bare / "delaycc", DELAYCC], check=True)
    shutil.copy(BUILD / "delaycc-host-runner", bare)
    options = (f"STAMPED_MODULE={module}", f"DELAYCC_COMMAND={bare}/delaycc")

    def run(function, *args):
        return boot(function, *args, script=request.path, options=options)[0]
    return run


class Bed:
    def __init__(self, loss_ppm=0):
        stamps.load()
        # Each packet is acknowledged at once: what a delayed ACK waits for is in the RTT by NIC, too.
        self.a, self.b, _ = stamps.path(loss_ppm=loss_ppm, metrics=attr(15, b"\1\0\0\0"))
        os.makedirs("/tmp/bin", exist_ok=True)
        pathlib.Path("/tmp/bin/ssh").write_text(SSH, encoding="utf-8")
        os.chmod("/tmp/bin/ssh", 0o755)
        os.environ["PATH"] = "/tmp/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        pathlib.Path("/tmp/case.toml").write_text(SCENARIO, encoding="utf-8")
        self.inventory()
        with self.a:
            self.sock = stamps.config_socket()
            # Paced packets leave one by one.
            gso_max_segs("stamp0", 1)

    def inventory(self, more=""):
        runner = pathlib.Path(COMMAND).parent / "delaycc-host-runner"
        text = HOST.format("senders", self.a.fd, "stamp0", A, runner, more) + HOST.format("receivers", self.b.fd, "stamp3", B, runner, "")
        pathlib.Path("/tmp/hosts.toml").write_text(text, encoding="utf-8")

    @staticmethod
    def command(out, *more):
        return [COMMAND, "run", "--backend", "hosts", "--inventory", "/tmp/hosts.toml", "--quiet", "--out", out, *more, "/tmp/case.toml"]

    def begun(self):
        """Whether a trial has changed host a. The device was switched on before, too, to be tried."""
        with self.a:
            return read("/proc/sys/net/ipv4/tcp_no_metrics_save").strip() == "1"

    def switched(self):
        return stamps.switched(self.sock, "stamp0")


def trials(cases, loss_ppm=0):
    """For each {parameter of the devices: value, and inventory and options: more of both}: exit code, errors, summary, stamp0's settings after it."""
    bed = Bed(loss_ppm)
    results = []
    for number, case in enumerate(cases):
        bed.inventory(case.pop("inventory", ""))
        options = case.pop("options", [])
        for name, value in case.items():
            stamps.parameter(name, value)
        out = f"/tmp/out{number}"
        done = subprocess.run(bed.command(out, *options), capture_output=True, text=True, check=False)
        summary = pathlib.Path(out, "summary.json")
        results.append((done.returncode, done.stderr, json.loads(summary.read_text(encoding="utf-8")) if summary.exists() else None, bed.switched()))
        for name in case:
            stamps.parameter(name, 0b1001 if name == "noisy" else 0)
    return results


def figures(result):
    """Means of the trial's metrics; the devices are as they were."""
    code, errors, summary, after = result
    assert code == 0, errors
    assert after in ([0, 0], None)
    return {name: found["mean"] for name, found in summary["algorithms"]["cubic"].items()}


def test_rtts_by_nic_and_host_noise_are_the_true_ones(run):
    quiet, at_sender, at_receiver = map(figures, run("trials", [
        {"clock_offset_ns": 10**12, "clock_drift_ppb": 20000}, {"noise_ns": 5000, "noisy": 0b0001}, {"noise_ns": 5000, "noisy": 0b1000}]))
    # One stamp for each write of 128 KB, of which the warm-up's do not count.
    for found in (quiet, at_sender, at_receiver):
        assert 60 <= found["rtt_nic_packets"] <= 100
    # The last packet of a write may be a short one.
    short_us = 8 * 1448 / 100 / 1000
    for name in ("rtt_nic_p50_us", "rtt_nic_p99_us"):
        assert TRUE_RTT_US - short_us - EXACT_US <= quiet[name] <= TRUE_RTT_US + EXACT_US
        # What comes is late between NIC and kernel: the NIC's stamps do not have it.
        assert TRUE_RTT_US - short_us - EXACT_US <= at_sender[name] <= TRUE_RTT_US + EXACT_US
    assert quiet["rtt_nic_p50_us"] == pytest.approx(quiet["rtt_p50_us"], abs=EXACT_US)
    assert quiet["host_noise_p999_us"] <= EXACT_US
    # Uniform from 0 to 5 us.
    assert at_sender["host_noise_p50_us"] == pytest.approx(2.5, abs=0.8)
    assert 4.5 <= at_sender["host_noise_p999_us"] <= 5.002
    # The receiver's is in both.
    assert at_receiver["host_noise_p999_us"] <= EXACT_US
    assert at_receiver["rtt_nic_p50_us"] == pytest.approx(TRUE_RTT_US + 2.5, abs=0.8)


def test_a_stamp_is_of_the_transmission_that_the_kernel_has_seen(run):
    """Of what is lost and sent again there are two stamps, and no RTT."""
    found = figures(run("trials", [{"options": ["--set", "measure.duration_us=500000"]}], 10000)[0])
    assert found["retransmits"] >= 40 and found["rtt_nic_packets"] >= 40
    assert found["host_noise_p999_us"] <= EXACT_US


@pytest.mark.parametrize("case, why", [
    ({"mode": TX_ONLY}, "its driver refuses to stamp every packet that comes"),
    ({"mode": LIES}, "its driver accepted hardware stamps, and they did not come"),
    ({"mode": NONE}, "it has no hardware stamps"),
], ids=["tx-only", "lies", "none"])
def test_without_such_stamps_the_metrics_are_absent_with_the_reason(run, case, why):
    result, = run("trials", [case])
    assert not METRICS & set(figures(result))
    note, = [note for note in result[2]["notes"] if "rtt_nic_p50_us" in note]
    assert f"no NIC stamps all packets: receivers[0] (stamp3), senders[0] (stamp0): {why}" in note \
        or f"no NIC stamps all packets: senders[0] (stamp0), receivers[0] (stamp3): {why}" in note


def test_a_host_whose_stamps_are_left_alone_is_named(run):
    result, = run("trials", [{"inventory": "nic_stamps = false\n"}])
    assert not METRICS & set(figures(result))
    assert "rtt_nic_* and host_noise_* have no packets of these hosts: senders[0] (stamp0): nic_stamps = false in the inventory" in result[2]["notes"]


def ended(ways):
    """stamp0's settings before, during and after a trial that ends in each of the ways; what the device was set to before comes back."""
    bed = Bed()
    with bed.a:
        stamps.switch(bed.sock, "stamp0", 0, 1)
    seen = []
    for way in ways:
        with subprocess.Popen(bed.command("/tmp/long", "--set", "measure.duration_us=100000000"), stderr=subprocess.PIPE) as process:
            wait_for(lambda: bed.begun() and bed.switched() == [1, 1])
            for pid in runners() if way == "runner" else [process.pid]:
                os.kill(pid, signal.SIGINT if way == "interrupt" else signal.SIGKILL)
            process.wait()
        wait_for(lambda: not bed.begun() and bed.switched() == [0, 1] if way != "runner" else bed.switched() == [0, 1])
        with bed.a:
            write("/proc/sys/net/ipv4/tcp_no_metrics_save", "0")
        seen.append(bed.switched())
    return seen


def runners():
    """Those that speak to the command; what they have forked, the guard of the stamps too, has the same name."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if "--remote" in (folder / "cmdline").read_text(encoding="utf-8").split("\0"):
                found[int(folder.name)] = int((folder / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    return [pid for pid, parent in found.items() if parent not in found]


def test_stamps_are_set_back_however_a_trial_ends(run):
    assert run("ended", ["interrupt", "command", "runner"]) == [[0, 1]] * 3
