# SPDX-License-Identifier: Apache-2.0
"""delaycc eval --executor slurm, on a cluster of one machine that the test starts: munge, slurmctld, slurmd."""

import contextlib
import json
import os
import pathlib
import secrets
import shutil
import signal
import socket
import sqlite3
import subprocess
import time

import pytest

import owned
import test_eval
from outside import DELAYCC
from test_eval import GOAL, SMALL, broken_lab, evaluate, result

pytestmark = pytest.mark.ci

PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo"]


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]


def until(condition, what, seconds=owned.HANGS_S):
    """Slurm has no call that waits: ask until it holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def slurm(*arguments, env):
    return subprocess.run(arguments, env=env, capture_output=True, text=True, timeout=owned.HANGS_S)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The environment in which sbatch and its like find the cluster."""
    missing = [p for p in PROGRAMS if not shutil.which(p, path=os.environ["PATH"] + ":/usr/sbin")]
    if missing:
        pytest.skip(f"no {', '.join(missing)} (Debian: slurm-wlm, munge)")
    if os.geteuid() != 0:
        pytest.skip("slurmd starts jobs as other users: needs root")
    # Sockets have short names.
    folder = pathlib.Path(tmp_path_factory.mktemp("s"))
    for name in ("state", "spool", "log", "munge"):
        (folder / name).mkdir()
    (folder / "munge").chmod(0o700)
    key = folder / "munge" / "key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    host = socket.gethostname().split(".")[0]
    controller, daemon = free_ports(2)
    config = folder / "slurm.conf"
    config.write_text(f"""
ClusterName=delaycc
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/log/slurmctld
SlurmdLogFile={folder}/log/slurmd
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=500 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
""")
    env = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin", "SLURM_CONF": str(config)}
    started = []

    def start(*command):
        log = open(folder / "log" / f"{command[0]}.out", "w")
        started.append(subprocess.Popen(owned.owned(*command), env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    try:
        start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.sock",
              f"--pid-file={folder}/munge/pid", f"--log-file={folder}/munge/log", f"--seed-file={folder}/munge/seed")
        until((folder / "munge.sock").exists, "munged did not start")
        start("slurmctld", "-D", "-f", config)
        start("slurmd", "-D", "-N", host, "-f", config)

        def idle():
            for process in started:
                if process.poll() is not None:
                    logs = "\n".join(p.read_text(errors="replace")[-2000:] for p in (folder / "log").iterdir())
                    pytest.skip(f"{process.args[3]} does not run here:\n{logs}")
            return slurm("sinfo", "-h", "-o", "%t", env=env).stdout.strip() == "idle"

        until(idle, "the node did not become idle")
        yield env
    finally:
        slurm("scancel", "--user=root", env=env)
        for process in reversed(started):
            process.terminate()
        for process in started:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def on_slurm(scenario, out, env, *arguments, code=0):
    return evaluate(scenario, out, *arguments, "--executor", "slurm", env=env, code=code)


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """eval.json of the same evaluation on this machine."""
    folder = tmp_path_factory.mktemp("local")
    path = folder / "small.toml"
    path.write_text(SMALL)
    evaluate(path, folder / "out", *GOAL)
    return (folder / "out" / "eval.json").read_bytes()


def without_build(text):
    data = json.loads(text)
    data.pop("build")
    return data


def test_the_estimate_is_that_of_the_local_run(scenario, tmp_path, cluster, local):
    done = on_slurm(scenario, tmp_path / "out", cluster, *GOAL, "--jobs", "4")
    assert (tmp_path / "out" / "eval.json").read_bytes() == local
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert run["executor"] == "slurm" and run["trials_run"] >= 12
    assert len(list((tmp_path / "out" / "slurm").glob("batch-0-*.sqlite"))) == 4
    # All is in the store: no job is needed the second time, nor a cluster.
    done = evaluate(scenario, tmp_path / "out", *GOAL)
    assert "0 trials run" in done.stdout
    assert (tmp_path / "out" / "eval.json").read_bytes() == local


def test_trials_of_a_lost_job_are_run_by_another(scenario, tmp_path, cluster, local):
    # The first two tasks are killed in the middle of a trial, as if their machine had gone.
    env = broken_lab(tmp_path, "mkdir $0.once 2>/dev/null && kill -9 $PPID && exit\n"
                               "mkdir $0.twice 2>/dev/null && kill -9 $PPID && exit")
    env["SLURM_CONF"], env["PATH"] = cluster["SLURM_CONF"], cluster["PATH"]
    on_slurm(scenario, tmp_path / "out", env, *GOAL, "--jobs", "3")
    assert (tmp_path / "lab" / "linux.once").exists() and (tmp_path / "lab" / "linux.twice").exists()
    assert without_build((tmp_path / "out" / "eval.json").read_text()) == without_build(local)
    assert (tmp_path / "out" / "slurm" / "batch-1.json").exists()


def test_a_job_that_ran_twice_counts_once(scenario, tmp_path, cluster, local):
    out = tmp_path / "out"
    on_slurm(scenario, out, cluster, *GOAL, "--jobs", "3")
    # The same task again, as Slurm does after a node failure; then a merge of all shards.
    again = subprocess.run([DELAYCC, "eval-task", out / "slurm" / "batch-0.json"], capture_output=True, text=True,
                           env={**cluster, "SLURM_ARRAY_TASK_ID": "1"}, timeout=owned.HANGS_S)
    assert again.returncode == 0, again.stderr
    assert len(list((out / "slurm").glob("batch-0-1-*.sqlite"))) == 2
    (out / "results.sqlite").unlink()
    done = on_slurm(scenario, out, cluster, *GOAL)
    assert (out / "eval.json").read_bytes() == local
    batches = len(list((out / "slurm").glob("batch-*.json")))
    with sqlite3.connect(out / "results.sqlite") as database:
        trials = database.execute("SELECT count(*), count(DISTINCT algorithm || number) FROM trials").fetchone()
    assert trials[0] == trials[1]
    assert json.loads((out / "slurm" / "batch-0.json").read_text())["tasks"]
    assert "not converged" not in done.stdout.lower() and batches >= 1


def test_two_machines_that_disagree_are_found_out(scenario, tmp_path, cluster):
    out = tmp_path / "out"
    on_slurm(scenario, out, cluster, *GOAL, "--jobs", "2")
    shard = next((out / "slurm").glob("batch-0-0-*.sqlite"))
    other = shard.with_name("batch-0-0-other-1.sqlite")
    shutil.copy(shard, other)
    with sqlite3.connect(other) as database:
        database.execute("UPDATE metrics SET value = value + 1 WHERE name = 'fct_mean_us'")
    (out / "results.sqlite").unlink()
    done = on_slurm(scenario, out, cluster, *GOAL, code=1)
    assert "differs from the same trial's on another machine" in done.stderr


def test_a_trial_that_fails_is_reported_as_in_a_local_run(scenario, tmp_path, cluster):
    env = broken_lab(tmp_path, "grep -q '\"algorithm\": \"cubic\"' $PLAN && { echo no kernel; exit 3; }")
    env["SLURM_CONF"], env["PATH"] = cluster["SLURM_CONF"], cluster["PATH"]
    done = on_slurm(scenario, tmp_path / "out", env, *GOAL, code=1)
    assert "failed twice: cubic trial 0: the lab ended before the trial did" in done.stderr
    evaluate(scenario, tmp_path / "local", *GOAL, env=env, code=1)
    assert (tmp_path / "out" / "eval.json").read_bytes() == (tmp_path / "local" / "eval.json").read_bytes()
    got = result(tmp_path / "out")["algorithms"]
    assert got["cubic"]["failed"] == [0, 1, 2] and got["oscar"]["end"] == "converged"


def test_interrupted_it_cancels_its_jobs_and_gives_what_it_has(scenario, tmp_path, cluster):
    out = tmp_path / "out"
    command = [*test_eval.command(scenario, out, *test_eval.FAR_GOAL), "--executor", "slurm", "--jobs", "2"]
    with subprocess.Popen(command, env=cluster, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        test_eval.wait_for(lambda: test_eval.stored_trials(out) >= 6, process)
        process.send_signal(signal.SIGINT)
        shown, errors = process.communicate(timeout=owned.HANGS_S)
    assert process.returncode == 3, errors
    assert "NOT CONVERGED (interrupted)" in shown
    until(lambda: not slurm("squeue", "-h", env=cluster).stdout.strip(), "jobs are still there")


def test_started_again_after_a_kill_it_leaves_no_job_behind(scenario, tmp_path, cluster):
    out = tmp_path / "out"
    goal = ["--metric", "fct_mean_us", "--margin", "0.01%", "--min-trials", "300"]
    command = [*test_eval.command(scenario, out, *goal), "--executor", "slurm", "--jobs", "2"]
    with subprocess.Popen(command, env=cluster, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        test_eval.wait_for(lambda: test_eval.stored_trials(out) >= 2, process)
        process.kill()
    assert slurm("squeue", "-h", env=cluster).stdout.strip(), "the job of the killed command goes on"
    assert (out / "slurm" / "job").exists()
    on_slurm(scenario, out, cluster, *GOAL, "--jobs", "2")
    until(lambda: not slurm("squeue", "-h", env=cluster).stdout.strip(), "jobs are still there")
    assert not (out / "slurm" / "job").exists()


def test_a_job_whose_number_a_killed_command_never_read_goes_too(scenario, tmp_path, cluster):
    real = shutil.which("sbatch", path=cluster["PATH"])
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sbatch").write_text(f'#!/bin/sh\n{real} "$@" >/dev/null\nkill -9 $PPID\n')
    (tmp_path / "bin" / "sbatch").chmod(0o755)
    out = tmp_path / "out"
    command = [*test_eval.command(scenario, out, *test_eval.FAR_GOAL), "--executor", "slurm", "--jobs", "2"]
    done = subprocess.run(command, env={**cluster, "PATH": f"{tmp_path}/bin:{cluster['PATH']}"}, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert slurm("squeue", "-h", env=cluster).stdout.strip(), "the job of the killed command goes on"
    on_slurm(scenario, out, cluster, *GOAL, "--jobs", "2")
    until(lambda: not slurm("squeue", "-h", env=cluster).stdout.strip(), "jobs are still there")


def test_without_a_cluster_the_message_names_what_is_missing(scenario, tmp_path):
    env = {**os.environ, "PATH": str(tmp_path)}
    done = on_slurm(scenario, tmp_path / "out", env, *GOAL, code=1)
    assert "no sbatch in PATH: --executor slurm needs Slurm's commands" in done.stderr
