# SPDX-License-Identifier: Apache-2.0
"""The delaycc command, with whole experiments in the lab."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

from outside import DELAYCC, LAB, delaycc, run

SMALL = """
name = "small"
cc = ["oscar", "cubic"]
trials = 2
[topology]
kind = "dumbbell"
senders = 2
base_rtt_ns = 12000
[[flows]]
name = "long"
from = "senders[0]"
to = "receivers"
[[flows]]
name = "short"
from = "senders[1]"
to = "receivers"
start_us = 100
start_jitter_us = 10
size_bytes = 300000
[measure]
duration_us = 500
[algorithms.oscar.sysctl]
net.ipv4.delaycc.line_rate_mbps = 100000
net.ipv4.delaycc.base_rtt_ns = 12000
"""


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def test_two_runs_give_the_same_bytes(scenario, tmp_path):
    run(scenario, tmp_path / "a", "--keep")
    run(scenario, tmp_path / "b", "--keep", "--jobs", "1")
    for name in ["summary.json", "report.html"]:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    trials = sorted(p.name for p in (tmp_path / "a" / "trials").iterdir())
    assert len(trials) == 4
    for trial in trials:
        for name in ["ports.bin", "flows.json"]:
            one = tmp_path / "a" / "trials" / trial / name
            other = tmp_path / "b" / "trials" / trial / name
            assert one.read_bytes() == other.read_bytes(), (trial, name)


def test_summary_has_the_contract_s_keys(scenario, tmp_path):
    result = run(scenario, tmp_path / "out", "--json", "--seed", "5")
    summary = json.loads(result.stdout)
    assert summary == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["scenario"] == "small"
    assert summary["seed"] == 5
    assert set(summary["algorithms"]) == {"oscar", "cubic"}
    for metrics in summary["algorithms"].values():
        for name in ["goodput_gbps", "utilisation", "queue_mean_bytes", "rtt_p99_us", "fct_mean_us"]:
            assert metrics[name]["n"] == 2
            assert {"mean", "ci95", "unit"} <= set(metrics[name])
        assert "recover_us" not in metrics


def test_a_second_run_takes_its_trials_from_the_store(scenario, tmp_path):
    run(scenario, tmp_path / "out")
    before = (tmp_path / "out" / "summary.json").read_bytes()
    assert "0 trials run, 4 taken" in run(scenario, tmp_path / "out").stdout
    assert (tmp_path / "out" / "summary.json").read_bytes() == before
    assert "2 trials run, 4 taken" in run(scenario, tmp_path / "out", "--trials", "3").stdout


def stored_trials(out):
    try:
        database = sqlite3.connect(f"file:{out / 'results.sqlite'}?mode=ro", uri=True)
        return database.execute("SELECT count(*) FROM trials").fetchone()[0]
    except sqlite3.OperationalError:  # the run has not made it yet
        return 0


def test_an_interrupted_run_goes_on_where_it_was(scenario, tmp_path):
    out = tmp_path / "out"
    arguments = [DELAYCC, "run", scenario, "--quiet", "--trials", "40", "--out", out]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as process:
        while stored_trials(out) == 0:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "interrupted" in errors
    assert not (out / "summary.json").exists()
    done = stored_trials(out)
    assert 0 < done < 80
    result = run(scenario, out, "--trials", "40")
    assert f"{80 - done} trials run, {done} taken" in result.stdout
    run(scenario, tmp_path / "whole", "--trials", "40")
    assert (out / "summary.json").read_bytes() == (tmp_path / "whole" / "summary.json").read_bytes()


def test_a_trial_that_takes_too_long_fails_and_says_so(scenario, tmp_path):
    result = delaycc(
        "run", scenario, "--quiet", "--out", tmp_path / "out", "--cc", "cubic", "--trials", "1",
        "--timeout", "1", "--set", "measure.duration_us=400000",
    )
    assert result.returncode == 1
    assert "failed twice: cubic trial 0: the trial took more than 1 s" in result.stderr


def test_an_unknown_algorithm_is_named(scenario, tmp_path):
    result = delaycc("run", scenario, "--quiet", "--out", tmp_path / "out", "--cc", "nosuch", "--trials", "1")
    assert result.returncode == 1
    assert "TCP_CONGESTION = nosuch" in result.stderr


def test_a_sysctl_out_of_range_is_named(scenario, tmp_path):
    result = delaycc(
        "run", scenario, "--quiet", "--out", tmp_path / "out", "--cc", "oscar", "--trials", "1",
        "--set", "algorithms.oscar.sysctl.net.ipv4.delaycc.line_rate_mbps=-1",
    )
    assert result.returncode == 1
    assert "net.ipv4.delaycc.line_rate_mbps = -1" in result.stderr


def test_a_mistake_in_the_scenario_is_found_before_anything_runs(scenario, tmp_path):
    scenario.write_text(SMALL.replace("senders = 2", "senders = 0"))
    result = delaycc("run", scenario, "--out", tmp_path / "out")
    assert result.returncode == 2
    assert result.stderr.startswith(f"{scenario}:7: topology.senders: 0 is out of range, allowed is")
    assert not (tmp_path / "out").exists()


def test_a_lab_that_is_no_lab_is_refused(scenario, tmp_path):
    lab = tmp_path / "lab"
    lab.mkdir()
    for name in ["linux", "sch_dccport.ko", "delaycc.ko", "tcp_oscar.ko"]:
        shutil.copy(LAB / name, lab / name)
    (lab / "linux").write_text("#!/bin/sh\necho no kernel\nexit 3\n")
    result = delaycc(
        "run", scenario, "--quiet", "--out", tmp_path / "out", "--trials", "1", "--cc", "cubic",
        env={**os.environ, "DELAYCC_LAB": str(lab)},
    )
    assert result.returncode == 1
    assert "no kernel" in result.stderr


def test_a_trace_has_one_line_per_decision(scenario, tmp_path):
    run(scenario, tmp_path / "out", "--cc", "oscar", "--trials", "1", "--trace")
    trace = (tmp_path / "out" / "trials" / "case0-oscar-0" / "acks.txt").read_text()
    decisions = [line for line in trace.splitlines() if " ack: name=oscar sport=1000" in line]
    assert len(decisions) > 10
    assert all("gradient_q16=" in line and "branch=" in line for line in decisions)


@pytest.mark.parametrize("arguments, message", [
    (["--seed", "-1"], "--seed: -1: allowed is a whole number from 0 to 18446744073709551615"),
    (["--seed", "18446744073709551616"], "--seed: 18446744073709551616: allowed is"),
    (["--cc", ""], '--cc: "" is no name'),
    (["--cc", "oscar,oscar"], '--cc: "oscar" is there twice'),
    (["--trials", "0"], "--trials: Value 0 not in range 1 to 100000"),
    (["--jobs", "0"], "--jobs: Value 0 not in range 1 to 1024"),
    (["--set", "nosuch=3"], "--set nosuch=3: nosuch: unknown key, allowed is one of"),
    (["--set", "measure.duration_us=soon"], '--set measure.duration_us=soon: measure.duration_us: "soon" is not a number'),
    (["--frob"], "The following argument was not expected: --frob"),
], ids=lambda a: "-".join(a) if isinstance(a, list) else "")
def test_bad_arguments_are_refused_before_anything_runs(scenario, tmp_path, arguments, message):
    result = delaycc("run", scenario, "--out", tmp_path / "out", *arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_missing_scenario_and_a_folder_that_cannot_be_made_are_named(scenario, tmp_path):
    result = delaycc("run", tmp_path / "none.toml")
    assert result.returncode == 2
    assert result.stderr.startswith(f"{tmp_path}/none.toml: no such file, and no scenario of this name")
    result = delaycc("run", scenario, "--quiet", "--out", scenario / "out")
    assert result.returncode == 2
    assert result.stderr == f"--out {scenario}/out: Not a directory\n"


def test_doctor_says_what_is_there_and_what_to_do_about_the_rest(tmp_path):
    result = delaycc("doctor")
    assert result.returncode == 0
    assert result.stdout.endswith("\nExperiments in the lab can run.\n")
    lines = [line.split(maxsplit=1) for line in result.stdout.splitlines()[:-2]]
    assert {state for state, _ in lines} <= {"ok", "missing"}
    for what in ["lab kernel", "lab trial", "lab module delaycc", "kernel headers", "QEMU", "KVM", "BTF", "clang", "bpftool",
                 "time stamps"]:
        assert any(text.startswith(what) for _, text in lines), what
    result = delaycc("doctor", env={**os.environ, "DELAYCC_LAB": str(tmp_path)})
    assert result.returncode == 1
    assert f'missing  lab kernel             no lab kernel at {tmp_path}/linux; build it with "make lab"' in result.stdout
    assert result.stdout.endswith("\nExperiments in the lab cannot run yet; see the first lines.\n")


def test_doctor_says_what_a_devices_line_rate_is_worth():
    script = ("mount -t sysfs sys /sys && ip link add dcc0 type veth peer name dcc1 && ip link set dcc0 up && ip link set dcc1 up && "
              "if [ -c /dev/net/tun ]; then ip tuntap add dcc2 mode tun && ip link set dcc2 up; fi; exec \"$0\" doctor")
    own = ["unshare", "--net", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if subprocess.run([*own, "true"], capture_output=True).returncode:
        pytest.skip("no network namespace can be made here: needs root, or unprivileged user namespaces")
    done = subprocess.run([*own, "sh", "-c", script, DELAYCC], capture_output=True, text=True, timeout=120)
    assert "missing  line rate dcc0         10000 Mbit/s, but no hardware has it: a guess; set net.ipv4.delaycc.line_rate_mbps\n" in done.stdout, \
        done.stdout + done.stderr
    if os.path.exists("/dev/net/tun"):
        assert "missing  line rate dcc2         not known: its sockets use reno; set net.ipv4.delaycc.line_rate_mbps\n" in done.stdout
