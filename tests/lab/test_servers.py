# SPDX-License-Identifier: Apache-2.0
"""The backend `hosts`: trials between two servers by ssh, and what is left there however they end. Function only: no figure of time is tested."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

import owned
import servers
from outside import BUILD, delaycc

pytestmark = pytest.mark.ci

# Paced flows, so that a trial takes next to no processor time.
SCENARIO = """
name = "two-servers"
trials = 1
cc = ["cubic", "reno"]
[topology]
kind = "dumbbell"
senders = 1
receivers = 1
base_rtt_ns = 1000000
[[flows]]
name = "long"
from = "senders"
to = "receivers"
pacing_gbps = 0.1
[[flows]]
name = "short"
from = "senders"
to = "receivers"
size_bytes = 20000
start_us = 5000
[[flows]]
name = "stopped"
from = "senders"
to = "receivers"
pacing_gbps = 0.01
stop_us = 20000
[measure]
duration_us = 50000
"""
LONG = ["--cc", "cubic", "--set", "measure.duration_us=200000000", "--out", "long", "case.toml"]
RUNNER = BUILD / "delaycc-host-runner"
SBIN = "/usr/sbin:/usr/bin:/sbin:/bin"


@pytest.fixture(scope="module", name="bed")
def two_servers(tmp_path_factory):
    with servers.bed(tmp_path_factory.mktemp("servers")) as bed:
        (bed.folder / "case.toml").write_text(SCENARIO)
        yield bed


@pytest.fixture(autouse=True)
def ordinary(request):
    """Each test begins with the inventory and the key that work."""
    if "bed" in request.fixturenames:
        bed = request.getfixturevalue("bed")
        bed.write_config("user")
        bed.write_inventory()


def test_a_trial_runs_between_two_servers_and_leaves_them_as_they_were(bed):
    before = bed.state()
    done = bed.run("--keep", "--out", "out", "case.toml")
    assert done.returncode == 0, done.stderr
    summary = json.loads((bed.folder / "out/summary.json").read_text())
    for algorithm in ("cubic", "reno"):
        found = summary["algorithms"][algorithm]
        assert {"goodput_gbps", "rtt_p50_us", "rtt_p99_us", "retransmits", "path_rtt_us", "noise_p99_us", "clock_error_us"} <= set(found)
        assert not {"fct_p50_us", "queue_mean_bytes", "drops", "recover_us", "floor_p50_us"} & set(found)
        assert found["flows"]["mean"] == 1 and found["unfinished"]["mean"] == 0
        assert min(found[metric]["mean"] for metric in ("goodput_gbps", "rtt_p50_us", "path_rtt_us", "clock_error_us")) > 0
    assert any("fct_mean_us" in note and "clocks of two hosts, which are not known to be in step" in note for note in summary["notes"])
    assert any("queue_mean_bytes" in note and "which the hosts do not see" in note for note in summary["notes"])
    # A veth has no stamps.
    assert not {"rtt_nic_p50_us", "host_noise_p50_us"} & set(summary["algorithms"]["cubic"])
    assert any("rtt_nic_p50_us" in note and "senders[0] (data)" in note and "it has no hardware stamps" in note for note in summary["notes"])
    assert (bed.folder / "out/report.html").exists()
    assert bed.state() == before and not bed.runners()
    again = bed.run("--out", "out", "case.toml")
    assert "0 trials run, 2 taken from" in again.stdout, again.stderr
    replayed = delaycc("run", bed.folder / "case.toml", "--backend", "replay", bed.folder / "out", "--json", "--quiet", "--out",
                       bed.folder / "replayed")
    figures = json.loads(replayed.stdout)["algorithms"]
    assert figures == summary["algorithms"]
    flows = json.loads((bed.folder / "out/trials/case0-cubic-0/flows.json").read_text())["flows"]
    long, short, stopped = flows
    assert long["stop_ns"] == long["received_ns"] == -1
    assert short["received_bytes"] == 20000 and short["received_ns"] > 0
    assert stopped["stop_ns"] >= 20_000_000


def begun(bed, before, more=""):
    """A long trial that has changed both servers."""
    bed.write_inventory(more)
    process = subprocess.Popen(owned.owned(*bed.command(*LONG), end="INT"), cwd=bed.folder, stderr=subprocess.PIPE, text=True)
    owned.wait_for(lambda: process.poll() is not None or all(bed.state()[name] != before[name] for name in before), "a trial that begins")
    assert process.poll() is None, process.stderr.read()
    return process


def test_the_interrupted_command_restores_the_servers(bed):
    before = bed.state()
    with begun(bed, before, 'qdisc = "pfifo"\n') as process:
        during = bed.state()
        assert all(during[name][-1] == "pfifo" and during[name][0] == "1" for name in during), during
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130 and "interrupted" in process.stderr.read()
        assert bed.state() == before and not bed.runners()


def test_a_killed_command_restores_the_servers(bed):
    before = bed.state()
    with begun(bed, before) as process:
        process.kill()
    owned.wait_for(lambda: bed.state() == before and not bed.runners(), lambda: f"{before} and no runner, found {bed.state()}, {bed.runners()}")


def test_a_trial_s_process_that_is_killed_there_restores_the_server_and_is_told(bed):
    before = bed.state()
    with begun(bed, before) as process:
        killed = set()

        def ended():
            for pid in set(bed.workers("a")) - killed:
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
            return process.poll() is not None

        owned.wait_for(ended, "the command's end")
        # A trial that fails is run once more.
        assert process.returncode == 1 and len(killed) == 2
        assert "failed twice: cubic trial 0: senders[0] (server-a): the process of the trial was ended" in process.stderr.read()
    assert bed.state() == before and not bed.runners()


def connection(process, name):
    """The ssh of the command to this server."""
    found = [pid for pid in owned.family(process.pid) if f"server-{name}" in pathlib.Path("/proc", str(pid), "cmdline").read_text().split("\0")]
    assert len(found) == 1, found
    return found[0]


def test_a_server_restores_itself_when_the_connection_is_lost(bed):
    before = bed.state()
    try:
        with begun(bed, before) as process:
            # The command's own end of the connection finds the loss 5 to 10 s later, or as early where the machine stood still: stopped, never.
            os.kill(connection(process, "a"), signal.SIGSTOP)
            bed.ip("me", "link", "set", "toa", "down")
            owned.wait_for(lambda: bed.state()["a"] == before["a"], "a server that nobody speaks to")
            assert bed.state()["b"] != before["b"]
            process.send_signal(signal.SIGINT)
            assert process.wait() == 130
        assert bed.state() == before and not bed.runners()
    finally:
        # The tests after this one have the same servers.
        bed.ip("me", "link", "set", "toa", "up")


def fails(bed, *options, code=1, case="case.toml"):
    before = bed.state()
    done = bed.run("--trials", "1", "--cc", "cubic", "--out", f"out{len(list(bed.folder.iterdir()))}", *options, case)
    assert done.returncode == code and bed.state() == before and not bed.runners(), done.stderr
    return done.stderr


def test_a_key_that_the_server_does_not_take_is_told_with_the_host(bed):
    bed.write_config("other")
    said = fails(bed)
    assert "senders[0] (server-a): ssh: " in said and "Permission denied (publickey" in said


def test_an_installed_runner_of_another_build_is_refused(bed):
    shutil.copy(RUNNER, bed.folder / "runner")
    bed.write_inventory(f'runner = "{bed.folder}/runner"\n')
    done = bed.run("--cc", "reno", "--out", "installed", "case.toml")
    assert done.returncode == 0, done.stderr
    with open(bed.folder / "runner", "ab") as file:
        file.write(b"\0")
    said = fails(bed)
    assert f"senders[0] (server-a): the runner {bed.folder}/runner there is of another build than this delaycc" in said


def test_a_login_that_prints_is_told_with_what_it_printed(bed):
    keys = bed.folder / "authorized_keys"
    before = keys.read_text()
    keys.write_text('command="echo Welcome" ' + before)
    try:
        assert 'said "Welcome" in place of what a runner says' in fails(bed)
    finally:
        keys.write_text(before)


REFUSED = {("--set", "bottleneck.loss_ppm=100"): "loss_ppm", ("--set", "link.jitter_ns=100"): "noise_ns or jitter_ns",
           ("--set", 'host=[{ hosts = "senders", interrupt_gap_ns = 100 }]'): "interrupt_gap_ns",
           ("--set", "bottleneck.extra_delay_steps=[[5, 100]]"): "extra_delay_steps",
           ("--set", "hosts.rto_min_ms=5"): "hosts.rto_min_ms"}


@pytest.mark.parametrize("options, why", REFUSED.items(), ids=REFUSED.values())
def test_what_a_network_as_it_is_does_not_do_is_refused_by_name(bed, options, why):
    said = fails(bed, *options)
    assert "backend hosts: " in said and why in said and "the network between real hosts is as it is" in said


def test_a_fabric_is_refused(bed):
    fabric = SCENARIO.replace("dumbbell", "leaf-spine").replace("senders = 1\nreceivers = 1", "leaves = 2\nspines = 2\nhosts = 1")
    (bed.folder / "fabric.toml").write_text(fabric.replace('"senders"', '"hosts[0]"').replace('"receivers"', '"hosts[1]"'))
    bed.write_inventory(names=("hosts[0]", "hosts[1]"))
    assert "backend hosts: topology: several switches (4 links between them)" in fails(bed, case="fabric.toml")


def test_a_host_of_the_scenario_without_a_server_is_named(bed):
    bed.write_inventory(names=("senders[0]", "receivers[1]"))
    said = fails(bed, code=2)
    assert "hosts.toml: hosts: there is none for receivers[0] of the scenario" in said and "it has senders[0], receivers[1]" in said


def test_a_device_that_is_not_the_scenario_s_is_refused(bed):
    assert "device data has an MTU of 1500, hosts.mtu of the scenario is 9000" in fails(bed, "--set", "hosts.mtu=9000")
    text = (bed.folder / "hosts.toml").read_text()
    (bed.folder / "hosts.toml").write_text(text.replace('"10.8.0.2"', '"10.8.0.3"'))
    assert "device data does not have the address 10.8.0.3" in fails(bed)


def test_a_qdisc_that_somebody_has_set_stays(bed):
    shaper = "tbf rate 1gbit burst 64kb limit 1mb".split()
    subprocess.run([*bed.inside("a"), "tc", "qdisc", "add", "dev", "data", "root", *shaper], check=True)
    bed.write_inventory('qdisc = "pfifo"\n')
    assert "data: somebody has set its qdisc tbf" in fails(bed)
    subprocess.run([*bed.inside("a"), "tc", "qdisc", "del", "dev", "data", "root"], check=True)


# What pmc prints of the ptp4l of a grandmaster, and of one that follows it.
PTP = """sending: GET PARENT_DATA_SET
\t525400.fffe.000001-0 seq 0 RESPONSE MANAGEMENT PARENT_DATA_SET
\t\tgrandmasterIdentity                   {grandmaster}
sending: GET CURRENT_DATA_SET
\t525400.fffe.000001-0 seq 1 RESPONSE MANAGEMENT CURRENT_DATA_SET
\t\tstepsRemoved     {steps}
\t\toffsetFromMaster {offset_ns}
sending: GET PORT_PROPERTIES_NP
\t525400.fffe.000001-1 seq 2 RESPONSE MANAGEMENT PORT_PROPERTIES_NP
\t\tportState               {state}
\t\ttimestamping            {stamping}
\t\tinterface               data
"""
FOLLOWS = dict(grandmaster="525400.fffe.000001", steps=1, offset_ns=-120.0, state="SLAVE", stamping="SOFTWARE")
LEADS = {**FOLLOWS, "steps": 0, "offset_ns": 0.0, "state": "MASTER"}
OF_TWO_CLOCKS = {"fct_mean_us", "fct_p50_us", "slowdown_p99"}


def keep_clocks(bed, **otherwise):
    """The servers have a ptp4l each, of which pmc says this: both have one clock, as after hours of PTP."""
    (bed.folder / "bin/pmc").write_text('#!/bin/sh\nwhile [ "$1" != -s ]; do shift; done\ncat "$2"\n')
    (bed.folder / "bin/pmc").chmod(0o755)
    sockets = [bed.folder / f"ptp-{name}" for name in servers.CONTROL]
    sockets[0].write_text(PTP.format(**LEADS))
    sockets[1].write_text(PTP.format(**{**FOLLOWS, **otherwise}))
    bed.write_inventory(ptp=sockets)


def test_figures_of_two_clocks_are_there_where_ptp_keeps_the_clocks(bed):
    before = bed.state()
    keep_clocks(bed)
    done = bed.run("--cc", "cubic", "--out", "ptp", "case.toml")
    assert done.returncode == 0, done.stderr
    summary = json.loads((bed.folder / "ptp/summary.json").read_text())
    found = summary["algorithms"]["cubic"]
    assert OF_TWO_CLOCKS <= set(found), summary
    assert 0 < found["fct_p50_us"]["mean"] < 45_000 and found["clock_error_us"]["mean"] > 0.1
    assert any("by clocks that PTP keeps in step" in note for note in summary["notes"])
    assert not any("not known to be in step" in note for note in summary["notes"])
    assert "queue_mean_bytes" not in found, "the hosts still do not see a switch's queue"
    # What was measured without PTP is another trial.
    bed.write_inventory()
    assert "1 trials run, 0 taken from" in bed.run("--cc", "cubic", "--out", "ptp", "case.toml").stdout
    assert not OF_TWO_CLOCKS & set(json.loads((bed.folder / "ptp/summary.json").read_text())["algorithms"]["cubic"])
    assert bed.state() == before and not bed.runners()


NOT_KEPT = {
    "no port of ptp4l is SLAVE: data is UNCALIBRATED": {"state": "UNCALIBRATED"},
    "receivers[0] has its time of the grandmaster 525400.fffe.000009, senders[0] of 525400.fffe.000001": {"grandmaster": "525400.fffe.000009"},
    "ptp4l says that data has a clock of its own, and its driver names none": {"stamping": "HARDWARE"},
    "by what PTP says two clocks may be ": {"offset_ns": 5e6},
}


@pytest.mark.parametrize("said, otherwise", NOT_KEPT.items(), ids=("uncalibrated", "grandmaster", "hardware", "offset"))
def test_clocks_that_ptp_does_not_keep_are_refused(bed, said, otherwise):
    keep_clocks(bed, **otherwise)
    error = fails(bed)
    assert "ptp = true" in error and said in error, error


def test_a_ptp4l_that_is_not_there_or_silent_is_told_with_the_host(bed):
    keep_clocks(bed)
    bed.write_inventory(ptp=(bed.folder / "ptp-a", bed.folder / "nowhere"))
    assert "receivers[0] (server-b): ptp = true, and PTP does not keep its clock: no ptp4l is there: " in fails(bed)
    keep_clocks(bed)
    (bed.folder / "ptp-a").write_text("sending: GET PARENT_DATA_SET\n")
    assert f"senders[0] (server-a): ptp = true, and PTP does not keep its clock: the ptp4l at {bed.folder}/ptp-a does not answer" in fails(bed)


# It must not touch the machine's clock, so it does not lock: its port stays uncalibrated, while all else is as with any other.
PTP4L = "[global]\nfree_running 1\ntime_stamping software\nslaveOnly {}\nuds_address {}\nlogAnnounceInterval -3\nlogSyncInterval -3\n"


@pytest.mark.skipif(not shutil.which("ptp4l", path=SBIN), reason="linuxptp is missing: make setup-test")
def test_a_real_ptp4l_is_asked(bed, tmp_path):
    sockets = {name: tmp_path / name for name in servers.CONTROL}
    with contextlib.ExitStack() as stack:
        for name, socket in sockets.items():
            (tmp_path / f"{name}.conf").write_text(PTP4L.format(int(name == "b"), socket))
            command = [*bed.inside(name), shutil.which("ptp4l", path=SBIN), "-i", "data", "-f", tmp_path / f"{name}.conf"]
            process = subprocess.Popen(owned.owned(*command), stdout=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.kill)
        ask = ["pmc", "-u", "-b", "0", "-s", str(sockets["b"]), "GET CURRENT_DATA_SET"]

        def follows():
            done = subprocess.run(ask, capture_output=True, text=True, check=False, env={**os.environ, "PATH": SBIN})
            return re.search(r"stepsRemoved +1\n", done.stdout)

        owned.wait_for(follows, "a ptp4l that follows the other")
        (bed.folder / "bin/pmc").unlink(missing_ok=True)
        bed.write_inventory(ptp=sockets.values())
        assert "receivers[0] (server-b): ptp = true, and PTP does not keep its clock: no port of ptp4l is SLAVE: data is UNCALIBRATED" in fails(bed)


ONE = '[[hosts]]\nname = "senders[0]"\nssh = "root@one"\ndevice = "eth1"\naddress = "10.0.0.1"\n'
WRONG = {
    "": "hosts.toml:1: hosts: is missing",
    "[[hosts]\n": "hosts.toml:1: syntax: ",
    ONE.replace('name = "senders[0]"\n', ""): "hosts.toml:1: hosts[0].name: is missing, allowed is a host of the scenario, such as senders[0]",
    ONE.replace("senders[0]", "one"): 'hosts.toml:2: hosts[0].name: "one", allowed is a host of the scenario',
    ONE.replace("10.0.0.1", "10.0.0"): 'hosts.toml:5: hosts[0].address: "10.0.0", allowed is an IPv4 address',
    ONE.replace("root@one", "-oProxyCommand=x"): 'hosts.toml:3: hosts[0].ssh: "-oProxyCommand=x", allowed is a destination of ssh',
    ONE + 'qdisc = "cake"\n': 'hosts.toml:6: hosts[0].qdisc: "cake" is unknown, allowed is one of keep, fq, pfifo',
    ONE + 'runner = "runner"\n': 'hosts.toml:6: hosts[0].runner: "runner", allowed is the absolute path',
    ONE + "nic_stamps = 1\n": "hosts.toml:6: hosts[0].nic_stamps: is not a boolean",
    "ptp = 1\n" + ONE: "hosts.toml:1: ptp: is not a boolean",
    ONE + 'ptp_socket = "ptp4l"\n': 'hosts.toml:6: hosts[0].ptp_socket: "ptp4l", allowed is the absolute path',
    ONE + "sudo = 3\n": "hosts.toml:6: hosts[0].sudo: is not a boolean",
    ONE + 'adress = "10.0.0.1"\n': "hosts.toml:6: hosts[0].adress: unknown key",
    ONE + ONE.replace("senders", "receivers").replace("10.0.0.1", "10.0.0.2"):
        'hosts.toml:8: hosts[1].ssh: "root@one" is that of another host, allowed is a machine for each host',
    'ssh_config = "nowhere"\n' + ONE: "hosts.toml:1: ssh_config: there is no file ",
}


@pytest.mark.parametrize("text, mistake", WRONG.items(), ids=map(str, range(len(WRONG))))
def test_a_mistake_of_the_inventory_is_told_with_file_line_and_field(tmp_path, text, mistake):
    (tmp_path / "case.toml").write_text(SCENARIO)
    (tmp_path / "hosts.toml").write_text(text)
    command = [BUILD / "delaycc", "run", "--backend", "hosts", "--inventory", "hosts.toml", "case.toml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and mistake in done.stderr, done.stderr


def test_inventory_and_backend_belong_together(tmp_path):
    (tmp_path / "case.toml").write_text(SCENARIO)
    for options, said in ((["--backend", "hosts"], "--backend hosts: needs the file with the hosts"),
                          (["--inventory", "hosts.toml"], "--inventory hosts.toml: is for --backend hosts only"),
                          (["--backend", "hosts", "--inventory", pathlib.Path("/nowhere")], "--inventory: open(/nowhere): No such file")):
        done = delaycc("run", *options, tmp_path / "case.toml")
        assert done.returncode == 2 and said in done.stderr, done.stderr
