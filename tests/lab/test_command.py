# SPDX-License-Identifier: Apache-2.0
"""The delaycc command, with whole experiments in the lab."""

import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time

import pytest

from outside import BUILD, DELAYCC, LAB, LONG_AND_SHORT, OSCAR_TOLD, delaycc, run
import owned  # found by outside, in the lab, too

SMALL = "trials = 2" + LONG_AND_SHORT + """start_us = 100
start_jitter_us = 10
size_bytes = 300000
[measure]
duration_us = 500
""" + OSCAR_TOLD


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
        for name in ["packets.bin", "flows.json"]:
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


def test_a_flow_that_connects_at_its_start_counts_its_handshake(scenario, tmp_path):
    fct_us = {}
    for late in ("false", "true"):
        summary = json.loads(run(scenario, tmp_path / late, "--json", "--cc", "cubic,oscar", "--set", "flows.0.size_bytes=1000", "--set",
                                 "flows.1.size_bytes=1000", "--set", f"flows.1.connect_at_start={late}").stdout)
        fct_us[late] = {name: metrics["fct_mean_us"]["max"] for name, metrics in summary["algorithms"].items()}
    # Of two flows one has an RTT more, of small packets on an idle path.
    for name, before in fct_us["false"].items():
        assert 10 < 2 * (fct_us["true"][name] - before) < 14, fct_us
    # A flow that no byte has gone before is complete when its last one is there.
    cold = json.loads(run(scenario, tmp_path / "cold", "--json", "--cc", "cubic", "--set", "flows.0.size_bytes=1000", "--set",
                          "flows.1.size_bytes=1000", "--set", "hosts.warm_bytes=0").stdout)
    assert cold["algorithms"]["cubic"]["fct_mean_us"]["max"] < 20
    refused = delaycc("run", scenario, "--set", "flows.1.connect_at_start=maybe")
    assert refused.returncode == 2 and "is not a boolean, allowed is true or false" in refused.stderr


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


@pytest.mark.ci
def test_an_interrupted_run_goes_on_where_it_was(scenario, tmp_path):
    out = tmp_path / "out"
    arguments = owned.owned(DELAYCC, "run", scenario, "--quiet", "--trials", "40", "--out", out)
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as process:
        while stored_trials(out) == 0:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=owned.HANGS_S)
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
    assert "failed twice: cubic trial 0: the trial used more than 1 s of processor time (--timeout)" in result.stderr


@pytest.fixture
def no_boot(tmp_path):
    """A lab whose kernel notes that it was started; (environment, the note's path)."""
    lab = tmp_path / "noting"
    lab.mkdir()
    for module in LAB.glob("*.ko"):
        (lab / module.name).symlink_to(module.resolve())
    note = tmp_path / "booted"
    (lab / "linux").write_text(f"#!/bin/sh\ntouch {note}\n")
    (lab / "linux").chmod(0o755)
    return {**os.environ, "DELAYCC_LAB": str(lab)}, note


@pytest.mark.parametrize("subcommand", [["run"], ["eval", "--metric", "goodput_gbps"]], ids=["run", "eval"])
@pytest.mark.parametrize("arguments, begin", [
    (["--cc", "osacr"], "--cc: "),
    (["--set", 'cc=["osacr"]'], '--set cc=["osacr"]: cc: '),
    (["--set", "flows.1.cc=osacr"], "--set flows.1.cc=osacr: flows[1].cc: "),
], ids=["cc", "set", "flow"])
def test_an_unknown_algorithm_is_refused_before_anything_runs(scenario, tmp_path, no_boot, subcommand, arguments, begin):
    environment, booted = no_boot
    result = delaycc(*subcommand, scenario, "--out", tmp_path / "out", *arguments, env=environment)
    assert result.returncode == 2
    assert result.stderr.startswith(begin + '"osacr" is no algorithm that is there, allowed is one of bbr, ccc, ccc_paper, cdg, ')
    assert result.stderr.endswith('; the nearest is "oscar"\n')
    assert not booted.exists() and not (tmp_path / "out").exists()


def test_an_unknown_algorithm_of_a_comparison_is_refused(scenario, tmp_path):
    result = delaycc("eval", scenario, "--metric", "goodput_gbps", "--compare", "oscar", "cubci", "--out", tmp_path / "out")
    assert result.returncode == 2
    assert result.stderr.startswith('--compare: "cubci" is no algorithm that is there')
    assert not (tmp_path / "out").exists()


def test_validate_knows_the_lab_s_algorithms(scenario):
    scenario.write_text(SMALL.replace('"cubic"', '"cubci"'))
    result = delaycc("validate", scenario)
    assert result.returncode == 2
    assert result.stderr.startswith(f'{scenario}:3: cc: "cubci" is no algorithm that is there')


def test_the_algorithms_of_the_lab_are_those_its_kernel_has(scenario, lab):
    """What the command names without a boot is what the kernel says once the modules are there."""
    result = delaycc("run", scenario, "--cc", "nosuch")
    named = set(result.stderr.split("allowed is one of ")[1].split(";")[0].strip().split(", "))
    built_in = set(lab("algorithms_of_the_kernel"))
    assert "cubic" in built_in and built_in <= named
    assert all(any(name in f.read_bytes().decode("latin-1") for f in LAB.glob("*.ko")) for name in named - built_in)


def algorithms_of_the_kernel():
    import pathlib
    return pathlib.Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


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
    assert result.stderr.startswith(f"{scenario}:6: topology.senders: 0 is out of range, allowed is")
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
    (["--cc", "oscar,,cubic"], '--cc: "" is no name (in "oscar,,cubic")'),
    (["--cc", "oscar,"], '--cc: "" is no name (in "oscar,")'),
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


def test_more_trials_than_can_be_held_are_refused_at_once(scenario, tmp_path):
    values = list(range(1, 11))
    text = SMALL.replace("trials = 2", "trials = 100000").replace("start_us = 100", 'start_us = "${a}"')
    scenario.write_text(text + f"[sweep]\nmain = {{ a = 1, b = 1, c = 1 }}\na = {values}\nb = {values}\nc = {values}\n")
    result = delaycc("run", scenario, "--sweep", "--out", tmp_path / "out")
    assert result.returncode == 2
    assert result.stderr.startswith("1000 cases with 2 algorithms and 100000 trials each are 200000000 trials, allowed are at most 1000000")
    assert not (tmp_path / "out").exists()


def test_a_mistake_in_one_case_of_a_sweep_is_found_before_anything_runs(scenario, tmp_path):
    scenario.write_text(SMALL.replace("start_us = 100", 'start_us = "${t}"') + "[sweep]\nmain = { t = 100 }\nt = [100, -5]\n")
    result = delaycc("run", scenario, "--sweep", "--out", tmp_path / "out")
    assert result.returncode == 2
    assert "flows[1].start_us: -5 is out of range" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_scenario_that_is_no_file_is_refused_with_what_it_is(scenario, tmp_path):
    result = delaycc("run", tmp_path)
    assert (result.returncode, result.stderr) == (2, f'{tmp_path}: is a folder, allowed is a TOML file or a name of "delaycc list"\n')
    result = delaycc("validate", "/dev/null")
    assert (result.returncode, result.stderr) == (2, '/dev/null: is no regular file, allowed is a TOML file or a name of "delaycc list"\n')
    result = delaycc("workload", "oscar-fig70")
    assert result.returncode == 2 and result.stderr.endswith('; the nearest is "oscar-fig07"\n')
    result = delaycc("rnu", "oscar-fig07")
    assert result.returncode == 2
    assert result.stderr.startswith(
        "rnu: is no subcommand, allowed is one of run, eval, mininet, export, calibrate, load, unload, set, paths, cgroup, count, stamps, status, ")


def test_a_lab_in_a_folder_with_a_space(scenario, tmp_path):
    for name, status in (("a lab", 0), ('a "lab"', 1)):
        shutil.copytree(LAB, tmp_path / name)
        result = subprocess.run([BUILD / "delaycc", "run", scenario, "--out", tmp_path / f"out-{status}"], capture_output=True, text=True,
                                env={**os.environ, "DELAYCC_LAB": str(tmp_path / name)}, timeout=owned.HANGS_S)
        assert result.returncode == status, result.stderr
    assert "a path on the lab kernel's command line has no quote" in result.stderr


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}


@needs_root
def test_what_the_user_may_not_read_is_not_called_missing(scenario):
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # pytest's own folders are root's alone
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        shutil.copytree(BUILD, folder / "build", ignore=lambda _, names: set(names) - {"delaycc", "delaycc-runner"})
        lab = folder / "lab"
        lab.mkdir()
        for file in [LAB / "linux", *LAB.glob("*.ko")]:
            shutil.copy(file, lab)
        shutil.copy(scenario, folder / "small.toml")
        environment = {**os.environ, "DELAYCC_LAB": str(lab)}

        def denied(*arguments):
            return subprocess.run([folder / "build" / "delaycc", *arguments], capture_output=True, text=True, env=environment,
                                  cwd=folder, timeout=owned.HANGS_S, **NOBODY)

        (lab / "linux").chmod(0o600)
        result = denied("run", "small.toml")
        assert result.returncode == 1
        assert result.stderr.startswith(f"delaycc: the lab kernel {lab}/linux is there, but not for this user: Permission denied; give")
        assert f"denied   lab kernel             the lab kernel {lab}/linux is there" in denied("doctor").stdout
        (lab / "linux").chmod(0o755)
        (lab / "tcp_oscar.ko").chmod(0o600)
        assert f"the lab module {lab}/tcp_oscar.ko is there, but not for this user" in denied("run", "small.toml").stderr
        lab.chmod(0o700)
        assert f"the lab kernel {lab}/linux is there, but not for this user" in denied("run", "small.toml").stderr
        result = denied("run", "small.toml", "--backend", "replay", lab / "kept")
        assert (result.returncode, result.stderr.splitlines()[0]) == (2, f"--backend replay: {lab}/kept: this user may not read it")
        (folder / "small.toml").chmod(0o600)
        result = denied("validate", "small.toml")
        assert (result.returncode, result.stderr) == (2, "small.toml: cannot be read: Permission denied\n")


@pytest.mark.parametrize("arguments", [
    ["list"], ["--help"], ["run", "--help"], ["validate", "oscar-fig07"], ["workload", "fct-dumbbell"], ["doctor"],
], ids=" ".join)
def test_output_that_cannot_be_written_is_an_error(arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run([DELAYCC, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=owned.HANGS_S)
    assert done.returncode == 1
    assert done.stderr.endswith("delaycc: standard output cannot be written: No space left on device\n")


def test_results_that_cannot_be_printed_or_written_are_errors(scenario, tmp_path):
    out = tmp_path / "out"
    whole = run(scenario, out).stdout
    assert "oscar" in whole
    arguments = [DELAYCC, "run", scenario, "--quiet", "--out", out]
    for more in ([], ["--json"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([*arguments, *more], stdout=full, stderr=subprocess.PIPE, text=True, timeout=owned.HANGS_S)
        assert done.returncode == 1 and "standard output cannot be written" in done.stderr
    # Standard output that is closed must not become the store.
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *arguments], stderr=subprocess.PIPE, text=True, timeout=owned.HANGS_S)
    assert done.returncode == 1 and "standard output cannot be written" in done.stderr
    assert stored_trials(out) == 4
    # Messages that nobody can read do not end a run.
    with open("/dev/full", "w") as full:
        done = subprocess.run(arguments[:3] + arguments[4:], stdout=subprocess.PIPE, stderr=full, text=True, timeout=owned.HANGS_S)
    assert done.returncode == 0 and "4 taken from" in done.stdout
    for name in ["summary.json", "report.html"]:
        before = (out / name).read_bytes()
        (out / (name + ".new")).symlink_to("/dev/full")
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=owned.HANGS_S)
        assert done.returncode == 1
        assert f"{name}.new): No space left on device" in done.stderr
        assert (out / name).read_bytes() == before and not (out / (name + ".new")).exists()


def test_results_of_eval_that_cannot_be_written_are_errors(scenario, tmp_path):
    out = tmp_path / "out"
    arguments = [DELAYCC, "eval", scenario, "--quiet", "--out", out, "--cc", "cubic", "--metric", "fct_mean_us", "--min-trials", "2",
                 "--max-trials", "2"]
    subprocess.run(arguments, capture_output=True, timeout=owned.HANGS_S)
    for more in ([], ["--json"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([*arguments, *more], stdout=full, stderr=subprocess.PIPE, text=True, timeout=owned.HANGS_S)
        assert done.returncode != 0 and "standard output cannot be written" in done.stderr
    for name in ["eval.json", "run.json", "report.html"]:
        (out / (name + ".new")).symlink_to("/dev/full")
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=owned.HANGS_S)
        assert done.returncode == 1 and f"{name}.new): No space left on device" in done.stderr


def test_a_store_that_is_broken_names_the_remedy(scenario, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "results.sqlite").write_text("no database at all, though long enough to look like one\n" * 20)
    result = delaycc("run", scenario, "--quiet", "--out", out)
    assert result.returncode == 1
    assert result.stderr == (f"delaycc: {out}/results.sqlite: execute: file is not a database; move it away, and its trials are run "
                             "again, or name another folder with --out\n")


def repeated(out):
    """The command that the report of `out` prints."""
    page = (out / "report.html").read_text()
    return json.loads(page.split('<script type="application/json" id="data">')[1].split("</script>")[0])["repeat"]


def test_the_command_of_the_report_repeats_a_user_s_own_file(tmp_path):
    folder = tmp_path / "it's mine"
    folder.mkdir()
    (folder / "own.toml").write_text(SMALL)
    arguments = ["run", "own.toml", "--quiet", "--out", tmp_path / "a", "--cc", "oscar", "--seed", "5", "--trials", "2", "--set",
                 'title=Say "it\'s" $HOME', "--set", "measure.duration_us=400", "--timeout", "200"]
    assert delaycc(*arguments, cwd=folder).returncode == 0
    command = repeated(tmp_path / "a")
    assert "--timeout 200" in command
    # As printed, in any folder.
    done = subprocess.run(command + f" --quiet --out '{tmp_path}/b'", shell=True, cwd="/", capture_output=True, text=True, timeout=owned.HANGS_S)
    assert done.returncode == 0, done.stderr
    for name in ["summary.json", "report.html"]:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_the_command_of_the_report_of_an_evaluation_repeats_it(scenario, tmp_path):
    arguments = ["eval", scenario, "--quiet", "--out", tmp_path / "a", "--cc", "cubic", "--metric", "fct_mean_us", "--margin", "30%",
                 "--min-trials", "3", "--max-trials", "4", "--set", "title=a b"]
    assert delaycc(*arguments).returncode in (0, 3)
    done = subprocess.run(repeated(tmp_path / "a") + f" --quiet --out '{tmp_path}/b'", shell=True, cwd="/", capture_output=True,
                          text=True, timeout=owned.HANGS_S)
    assert done.returncode in (0, 3), done.stderr
    assert (tmp_path / "a" / "eval.json").read_bytes() == (tmp_path / "b" / "eval.json").read_bytes()


def test_the_command_of_the_report_of_a_shipped_scenario_is_short(tmp_path):
    run("oscar-single", tmp_path / "out", "--cc", "cubic", "--trials", "1", "--set", "measure.bin_ns=5000")
    assert repeated(tmp_path / "out").endswith("delaycc run oscar-single --cc cubic --seed 1 --trials 1 --set measure.bin_ns=5000")


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
    assert {state for state, _ in lines} <= {"ok", "missing", "denied"}
    for what in ["lab kernel", "lab trial", "lab module delaycc", "kernel headers", "QEMU", "KVM", "BTF", "clang", "bpftool",
                 "time stamps", "backend lab", "backend host", "backend hosts", "backend replay", "Mininet in the lab",
                 # What only root sees.
                 *(["host veth"] if os.geteuid() == 0 else [])]:
        assert any(text.startswith(what) for _, text in lines), what
    result = delaycc("doctor", env={**os.environ, "DELAYCC_LAB": str(tmp_path)})
    assert result.returncode == 1
    assert "missing  backend lab            make lab\n" in result.stdout
    assert f'missing  lab kernel             no lab kernel at {tmp_path}/linux; build it with "make lab"' in result.stdout
    assert result.stdout.endswith("\nExperiments in the lab cannot run yet; see the first lines.\n")


@needs_root
def test_doctor_and_the_backend_host_agree(scenario, tmp_path):
    """What the one says is missing is what the other is refused for."""
    said = [line.split(maxsplit=2) for line in delaycc("doctor").stdout.splitlines() if " host " in line]
    missing = [words[2].split()[0] for words in said if words[:2] == ["missing", "host"]]
    result = delaycc("run", scenario, "--backend", "host", "--trials", "1", "--out", tmp_path / "out", "--set", "topology.base_rtt_ns=2000000")
    if missing:
        assert result.returncode == 1 and all(f"{name} (" in result.stderr for name in missing), result.stderr
    else:
        assert "lacks" not in result.stderr


def test_doctor_says_what_a_devices_line_rate_is_worth():
    script = ("mount -t sysfs sys /sys && ip link add dcc0 type veth peer name dcc1 && ip link set dcc0 up && ip link set dcc1 up && "
              "if [ -c /dev/net/tun ]; then ip tuntap add dcc2 mode tun && ip link set dcc2 up; fi; exec \"$0\" doctor")
    own = ["unshare", "--net", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if subprocess.run([*own, "true"], capture_output=True).returncode:
        pytest.skip("no network namespace can be made here: needs root, or unprivileged user namespaces")
    done = subprocess.run([*own, "sh", "-c", script, DELAYCC], capture_output=True, text=True, timeout=owned.HANGS_S)
    assert "missing  line rate dcc0         10000 Mbit/s, but no hardware has it: a guess; set net.ipv4.delaycc.line_rate_mbps\n" in done.stdout, \
        done.stdout + done.stderr
    if os.path.exists("/dev/net/tun"):
        assert "missing  line rate dcc2         the device does not say it: 10000 Mbit/s, a guess; set net.ipv4.delaycc.line_rate_mbps\n" in \
            done.stdout


def test_a_trace_of_mainline_algorithms_is_left_out_and_said(scenario, tmp_path):
    result = run(scenario, tmp_path / "out", "--cc", "cubic,oscar", "--trials", "1", "--trace")
    trials = tmp_path / "out" / "trials"
    assert (trials / "case0-oscar-0" / "acks.txt").exists()
    assert (trials / "case0-cubic-0" / "packets.bin").exists()
    assert not (trials / "case0-cubic-0" / "acks.txt").exists()
    assert result.stderr == "cubic: no acks.txt: the tracepoint delaycc:ack is of delaycc's own algorithms\n"


def test_what_set_said_is_in_the_summary_the_store_and_the_key(scenario, tmp_path):
    out = tmp_path / "out"
    run(scenario, out, "--cc", "cubic", "--trials", "1")
    assert json.loads((out / "summary.json").read_text())["set"] == {}
    changed = ["--cc", "cubic", "--trials", "1", "--set", "title=other", "--set", "measure.from_us=50"]
    assert "1 trials run, 0 taken" in run(scenario, out, *changed).stdout
    assert "0 trials run, 1 taken" in run(scenario, out, *changed).stdout
    said = {"title": "other", "measure.from_us": "50"}
    assert json.loads((out / "summary.json").read_text())["set"] == said
    with sqlite3.connect(out / "results.sqlite") as database:
        stored = [json.loads(text) for text, in database.execute("SELECT overrides FROM trials ORDER BY id")]
    assert stored == [{}, said]


def test_a_sweeps_parameter_is_the_same_trial_by_set_and_by_sweep(scenario, tmp_path):
    scenario.write_text(SMALL.replace("[topology]", "[sweep]\nmain = { n = 2 }\nn = [2, 3]\n[topology]").replace("senders = 2", 'senders = "${n}"'))
    out = tmp_path / "out"
    run(scenario, out, "--cc", "cubic", "--trials", "1", "--sweep")
    assert "0 trials run, 1 taken" in run(scenario, out, "--cc", "cubic", "--trials", "1", "--set", "n=3").stdout
    assert json.loads((out / "summary.json").read_text())["set"] == {"n": "3"}
