# SPDX-License-Identifier: Apache-2.0
"""delaycc eval: trials in the lab until a metric is known well enough."""

import json
import os
import signal
import sqlite3
import stat
import subprocess
import time

import pytest

import owned
from outside import DELAYCC, LAB, LONG_AND_SHORT, OSCAR_TOLD

pytestmark = pytest.mark.ci

# The short flow at a random time.
SMALL = LONG_AND_SHORT + """start_us = 50
start_jitter_us = 100
size_bytes = 100000
[measure]
duration_us = 300
flows = ["short"]
""" + OSCAR_TOLD


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def command(scenario, out, *arguments):
    return owned.owned(DELAYCC, "eval", scenario, "--quiet", "--out", out, *arguments)


def evaluate(scenario, out, *arguments, code=0, **options):
    done = owned.run(command(scenario, out, *arguments), **options)
    assert done.returncode == code, done.stdout + done.stderr
    return done


# The least number of trials alone: what these tests are of needs no more.
METRIC = ["--metric", "fct_mean_us", "--min-trials", "6", "--unseen", "50%"]
GOAL = [*METRIC, "--margin", "5%"]
FAR_GOAL = [*METRIC, "--margin", "0.01%"]


def result(out):
    return json.loads((out / "eval.json").read_text())


def stored_trials(out):
    try:
        with sqlite3.connect(f"file:{out / 'results.sqlite'}?mode=ro", uri=True) as database:
            return database.execute("SELECT count(*) FROM trials").fetchone()[0]
    except sqlite3.OperationalError:  # not made yet
        return 0


def wait_for(condition, process):
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def broken_lab(folder, script):
    """The lab with `script` (sh) run before each trial; its $SEED and $PLAN tell the trial."""
    lab = folder / "lab"
    lab.mkdir()
    for module in LAB.glob("*.ko"):
        (lab / module.name).symlink_to(module.resolve())
    linux = lab / "linux"
    linux.write_text(f"""#!/bin/sh
for word; do case $word in DCC_DIR=*) PLAN=${{word#DCC_DIR=}}/plan.json;; dcc_seed=*) SEED=${{word#dcc_seed=}};; esac; done
{script}
exec {(LAB / 'linux').resolve()} "$@"
""")
    linux.chmod(linux.stat().st_mode | stat.S_IXUSR)
    return {**os.environ, "DELAYCC_LAB": str(lab)}


def test_stops_when_every_algorithm_has_converged(scenario, tmp_path):
    done = evaluate(scenario, tmp_path / "out", *GOAL)
    assert "converged" in done.stdout and "NOT CONVERGED" not in done.stdout
    got = result(tmp_path / "out")
    assert got["converged"] and got["end"] == "converged"
    assert set(got["algorithms"]) == {"oscar", "cubic"}
    for algorithm in got["algorithms"].values():
        e = algorithm["metrics"]["fct_mean_us"]
        assert algorithm["trials"] >= 6
        assert e["converged"] and e["relative_margin"] <= 0.05
        assert e["low"] < e["value"] < e["high"]
        assert e["over"] == "mean" and e["unit"] == "us"
        assert e["history"]["trials"][-1] == algorithm["trials"]
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert run["trials_run"] > 0 and run["trials_per_hour"] > 0
    assert 0 < run["estimator_share"] < 0.05
    assert "evaluation" in (tmp_path / "out" / "report.html").read_text()


def test_the_same_bytes_whatever_the_jobs_and_whether_interrupted(scenario, tmp_path):
    goal = ["--metric", "fct_mean_us,queue_mean_bytes", "--margin", "4%", "--min-trials", "10", "--unseen", "50%",
            "--cc", "oscar,cubic"]
    evaluate(scenario, tmp_path / "one", *goal, "--jobs", "1")
    evaluate(scenario, tmp_path / "four", *goal, "--jobs", "4")
    whole = (tmp_path / "one" / "eval.json").read_bytes()
    assert (tmp_path / "four" / "eval.json").read_bytes() == whole
    assert (tmp_path / "four" / "report.html").read_bytes() == (tmp_path / "one" / "report.html").read_bytes()

    # Killed without a warning, twice, then left to end.
    out = tmp_path / "killed"
    for more in (2, 5):
        with subprocess.Popen(command(scenario, out, *goal, "--jobs", "2"), stderr=subprocess.PIPE, text=True) as process:
            wait_for(lambda: stored_trials(out) >= more, process)
            process.kill()
    with sqlite3.connect(out / "results.sqlite") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        parts = database.execute("SELECT (SELECT count(*) FROM metrics WHERE trial = id) > 5, "
                                 "(SELECT count(*) FROM samples WHERE trial = id), "
                                 "(SELECT count(*) FROM flows WHERE trial = id) FROM trials").fetchall()
        assert set(parts) == {(1, 1, 2)}, "a trial is there as a whole or not at all"
    done = evaluate(scenario, out, *goal)
    assert " taken from " in done.stdout and " 0 taken" not in done.stdout
    assert (out / "eval.json").read_bytes() == whole


def test_interrupted_once_it_gives_what_it_has(scenario, tmp_path):
    out = tmp_path / "out"
    with subprocess.Popen(command(scenario, out, *FAR_GOAL), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: stored_trials(out) >= 4, process)
        process.send_signal(signal.SIGINT)
        shown, errors = process.communicate(timeout=owned.HANGS_S)
    assert process.returncode == 3, errors
    assert "NOT CONVERGED (interrupted)" in shown
    got = result(out)
    assert not got["converged"] and got["end"] == "interrupted"
    assert got["algorithms"]["oscar"]["trials"] >= 2
    assert got["algorithms"]["oscar"]["metrics"]["fct_mean_us"]["low"] is not None
    assert "Not converged: it was interrupted." in (out / "report.html").read_text()


def test_interrupted_twice_it_ends_at_once(scenario, tmp_path):
    out = tmp_path / "out"
    # A trial that never ends: only the second ^C gets rid of it.
    env = broken_lab(tmp_path, "[ -e $0.hangs ] && touch $0.hung && exec sleep 1000")
    with subprocess.Popen(command(scenario, out, *FAR_GOAL, "--jobs", "1"), stderr=subprocess.PIPE,
                          text=True, env=env) as process:
        wait_for(lambda: stored_trials(out) >= 2, process)
        (tmp_path / "lab" / "linux.hangs").touch()
        wait_for((tmp_path / "lab" / "linux.hung").exists, process)
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=owned.HANGS_S)
    assert process.returncode == 130
    assert "interrupted; finished trials are in" in errors
    assert not (out / "eval.json").exists()


def test_a_second_program_on_the_same_store_is_refused(scenario, tmp_path):
    out = tmp_path / "out"
    both = [subprocess.Popen(command(scenario, out, *GOAL), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(2)]
    ended = [(p.communicate(timeout=owned.HANGS_S)[1], p.returncode) for p in both]
    assert sorted(code for _, code in ended) == [0, 1]
    owner = next(p.pid for p in both if p.returncode == 0)
    refused = next(errors for errors, code in ended if code == 1)
    assert f"results.sqlite: is in use by process {owner}" in refused
    assert result(out)["converged"]
    evaluate(scenario, out, *GOAL)  # the lock went with its owner


def test_a_trial_that_fails_once_is_run_again_and_reported(scenario, tmp_path):
    evaluate(scenario, tmp_path / "good", *GOAL)
    env = broken_lab(tmp_path, """[ $SEED = "$(cat $0.seed 2>/dev/null)" ] && rm $0.seed && exit 3
[ -e $0.first ] || { touch $0.first; echo $SEED >$0.seed; echo no kernel; exit 3; }""")
    done = evaluate(scenario, tmp_path / "out", *GOAL, "--jobs", "1", env=env, code=1)
    # The wrapper failed the first trial twice: it is counted, and the others stand.
    assert done.stderr.count("failed twice: oscar trial 0: the lab ended before the trial did") == 1
    assert result(tmp_path / "out")["algorithms"]["oscar"]["failed"] == [0]
    assert result(tmp_path / "out")["algorithms"]["oscar"]["metrics"]["fct_mean_us"]["missing"] == 1
    # Now the wrapper lets it pass: the failed one is run again, and is there.
    done = evaluate(scenario, tmp_path / "out", *GOAL, env=env)
    assert result(tmp_path / "out")["failures"] == []
    assert result(tmp_path / "out")["algorithms"]["oscar"]["failed"] == []

    (tmp_path / "lab" / "linux.first").unlink()
    linux = tmp_path / "lab" / "linux"
    linux.write_text(linux.read_text().replace("echo $SEED >$0.seed;", ""))
    done = evaluate(scenario, tmp_path / "again", *GOAL, "--jobs", "1", env=env)
    assert "run again: oscar trial 0: the lab ended before the trial did" in done.stderr
    wanted, got = result(tmp_path / "good"), result(tmp_path / "again")
    assert got.pop("build") != wanted.pop("build")  # the wrapper is another lab
    assert got == wanted


@pytest.mark.parametrize("hangs, why", [("exec sleep 100", "used no processor time for more than 1 s (--timeout)"),
                                        ("while :; do :; done", "used more than 1 s of processor time (--timeout)")])
def test_trials_that_hang_are_reported_and_counted(scenario, tmp_path, hangs, why):
    env = broken_lab(tmp_path, hangs)
    done = evaluate(scenario, tmp_path / "out", *GOAL, "--cc", "cubic", "--timeout", "1", env=env, code=1)
    for number in range(3):
        assert f"failed twice: cubic trial {number}: the trial {why}" in done.stderr
    assert "delaycc: cubic: 3 of 3 trials failed" in done.stderr
    got = result(tmp_path / "out")
    assert got["end"] == "failures" and len(got["failures"]) == 3
    assert got["algorithms"]["cubic"]["failed"] == [0, 1, 2]


def test_a_comparison_says_which_is_less(scenario, tmp_path):
    done = evaluate(scenario, tmp_path / "out", *GOAL, "--compare", "oscar", "cubic")
    compare = result(tmp_path / "out")["compare"]
    assert compare["metrics"]["fct_mean_us"]["verdict"] in ("a < b", "b < a")
    less = "oscar < cubic" if compare["metrics"]["fct_mean_us"]["verdict"] == "a < b" else "cubic < oscar"
    assert f"fct_mean_us: {less} with confidence 95 %" in done.stdout
    algorithms = result(tmp_path / "out")["algorithms"]
    assert algorithms["oscar"]["trials"] == algorithms["cubic"]["trials"] == compare["metrics"]["fct_mean_us"]["pairs"]


def test_two_that_are_the_same_differ_in_no_pair(scenario, tmp_path):
    scenario.write_text(SMALL + '[algorithms.twin]\ncc = "cubic"\nsysctl."net.ipv4.tcp_reordering" = 4\n')
    done = evaluate(scenario, tmp_path / "twin", *GOAL, "--cc", "cubic,twin", "--compare", "cubic", "twin", code=3)
    got = result(tmp_path / "twin")
    pairs = got["compare"]["metrics"]["fct_mean_us"]["pairs"]
    assert f"fct_mean_us: twin - cubic is 0 in all {pairs} pairs: something else in at most" in done.stdout
    assert got["end"] == "not-varied" and "NOT CONVERGED (not-varied)" in done.stdout


def test_a_metric_that_does_not_vary_has_not_converged(scenario, tmp_path):
    done = evaluate(scenario, tmp_path / "out", "--metric", "unfinished", "--margin", "5%", "--unseen", "20%",
                    "--cc", "cubic", code=3)
    assert ("cubic, unfinished: nothing but 0 flows in 20 trials: another value in at most 14 % of the trials (95 %)"
            in done.stdout)
    assert "20 trials, not varied" in done.stdout and "NOT CONVERGED (not-varied)" in done.stdout
    got = result(tmp_path / "out")
    assert got["end"] == "not-varied" and not got["converged"]
    e = got["algorithms"]["cubic"]["metrics"]["unfinished"]
    assert e["doubt"] == "not-varied" and e["low"] is None and e["high"] is None and not e["converged"]
    assert "nothing but 0 flows in 20 trials" in (tmp_path / "out" / "report.html").read_text()


def test_what_may_go_unseen_decides_the_least_number_of_trials(scenario, tmp_path):
    done = evaluate(scenario, tmp_path / "out", "--metric", "fct_mean_us", "--margin", "50%", "--unseen", "10%",
                    "--cc", "cubic")
    e = result(tmp_path / "out")["algorithms"]["cubic"]["metrics"]["fct_mean_us"]
    assert e["trials"] == 29 and e["least_trials"] == 29  # 0.9^29 < 5 %
    assert "What happens in less than 9.8 % of the trials may not have been seen (95 %)." in done.stdout
    assert "--unseen 10%" in json.loads((tmp_path / "out" / "run.json").read_text())["repeat"]


def test_narrow_intervals_from_too_few_trials_are_not_called_wide(scenario, tmp_path):
    done = evaluate(scenario, tmp_path / "out", "--metric", "fct_mean_us", "--margin", "90%", "--unseen", "50%",
                    "--min-trials", "1000", "--max-time", "5s", "--cc", "cubic", code=3)
    trials = result(tmp_path / "out")["algorithms"]["cubic"]["trials"]
    assert (f"cubic, fct_mean_us: narrow enough, but {trials} trials do not count before 1000: "
            "the least number asked for") in done.stdout
    assert "wider" not in done.stdout


def test_a_pooled_quantile_is_over_the_flows_of_all_trials(scenario, tmp_path):
    evaluate(scenario, tmp_path / "out", "--metric", "fct_p90_us", "--estimand", "pooled", "--margin", "20%", "--cc", "cubic",
             "--unseen", "50%")
    e = result(tmp_path / "out")["algorithms"]["cubic"]["metrics"]["fct_p90_us"]
    assert e["estimand"] == "pooled p90" and e["over"] == "pooled"
    assert e["flows"] == e["trials"] >= 20  # one measured flow a trial


def test_a_metric_without_a_sample_is_named(scenario, tmp_path):
    done = evaluate(scenario, tmp_path / "out", "--metric", "recover_us", "--min-trials", "3", "--cc", "cubic", code=1)
    assert "cubic: no trial of 3 has a sample of recover_us, which does not apply to this scenario" in done.stderr


def test_a_limit_of_time_or_trials_ends_it_unconverged(scenario, tmp_path):
    done = evaluate(scenario, tmp_path / "out", *FAR_GOAL, "--max-time", "2s", code=3)
    assert "NOT CONVERGED (max-time)" in done.stdout
    done = evaluate(scenario, tmp_path / "few", *FAR_GOAL, "--max-trials", "6", code=3)
    assert "NOT CONVERGED (max-trials)" in done.stdout
    assert result(tmp_path / "few")["algorithms"]["oscar"]["trials"] == 6


# About four flows a trial with sizes of a distribution.
WORKLOAD = """
name = "workload"
cc = ["cubic"]
[topology]
kind = "dumbbell"
senders = 2
receivers = 2
base_rtt_ns = 12000
[workload]
sizes = "websearch"
load = 0.5
until_us = 1000
[measure]
duration_us = 4000
log = "none"
"""


def test_stratified_sizes_are_estimated_by_groups(scenario, tmp_path):
    scenario.write_text(WORKLOAD)
    evaluate(scenario, tmp_path / "out", "--metric", "slowdown_mean", "--margin", "90%", "--min-trials", "4",
             "--unseen", "50%", "--set", "workload.sampling=stratified", "--set", "workload.sampling_group=3")
    e = result(tmp_path / "out")["algorithms"]["cubic"]["metrics"]["slowdown_mean"]
    assert e["trials"] == 3 * e["n"] and e["n"] >= 10 and "groups of 3" in e["method"]


def test_a_fluid_control_takes_fewer_trials(scenario, tmp_path):
    scenario.write_text(WORKLOAD)
    out = tmp_path / "out"
    goal = ["--metric", "fct_p99_us,slowdown_mean", "--min-trials", "15", "--max-trials", "15", "--unseen", "20%",
            "--margin", "5%"]
    evaluate(scenario, out, *goal, code=3)
    plain = result(out)["algorithms"]["cubic"]["metrics"]["fct_p99_us"]
    assert "control" not in plain and "correlation" not in plain
    done = owned.run([a for a in command(scenario, out, *goal, "--control", "fluid", "--jobs", "2") if a != "--quiet"])
    assert done.returncode in (0, 3), done.stderr
    assert "flow files: fct_p99_us is" in done.stderr and ", fluid control, correlation 0.9" in done.stdout
    got = result(out)
    assert "--control fluid" in json.loads((out / "run.json").read_text())["repeat"]
    e = got["algorithms"]["cubic"]["metrics"]["fct_p99_us"]
    assert e["correlation"] > 0.9 and e["method"] == "control variate"
    assert e["control"]["model"] == "fluid" and not e["control"]["given_up"]
    assert e["control"]["flow_files"] >= 20000 and e["control"]["error"] < 0.01 * e["control"]["mean"]
    assert e["forecast_trials"] < plain["forecast_trials"] / 4
    assert e["history"]["value"][-1] == e["value"]
    assert json.loads((out / "run.json").read_text())["control_s"] > 0
    assert "as control variate, correlation 0.9" in (out / "report.html").read_text()

    # New trials, one at a time: the same bytes.
    evaluate(scenario, tmp_path / "again", *goal, "--control", "fluid", "--jobs", "1", code=done.returncode)
    assert (tmp_path / "again" / "eval.json").read_bytes() == (out / "eval.json").read_bytes()


@pytest.mark.parametrize("arguments, message", [
    (["--metric", "queue_mean_bytes"], "the model has no queue_mean_bytes, allowed are completion times and slowdowns"),
    (["--metric", "fct_p99_us", "--estimand", "pooled"], "allowed is --estimand mean"),
    (["--metric", "fct_p99_us", "--model-based"], "--control fluid: is not of --model-based"),
    (["--metric", "fct_p99_us", "--set", "workload.sampling=tail"], "allowed are \"plain\" and \"stratified\""),
], ids=lambda a: "-".join(a) if isinstance(a, list) else "")
def test_a_fluid_control_is_refused_where_the_model_says_nothing(scenario, tmp_path, arguments, message):
    scenario.write_text(WORKLOAD)
    done = evaluate(scenario, tmp_path / "out", *arguments, "--control", "fluid", code=2)
    assert message in done.stderr
    assert not (tmp_path / "out").exists()


def test_weighted_flows_need_an_estimate_over_the_flows(scenario, tmp_path):
    scenario.write_text(WORKLOAD)
    tail = ["--set", "workload.sampling=tail"]
    done = evaluate(scenario, tmp_path / "out", "--metric", "slowdown_mean", *tail, code=2)
    assert "only an estimate over the flows knows their weights: --estimand pooled" in done.stderr
    evaluate(scenario, tmp_path / "out", "--metric", "fct_p75_us", "--estimand", "pooled", "--margin", "90%", "--min-trials", "10",
             "--unseen", "50%", *tail)
    e = result(tmp_path / "out")["algorithms"]["cubic"]["metrics"]["fct_p75_us"]
    assert 0 < e["effective_share"] < 1


def test_model_based_searches_a_tilt_and_draws_from_it(scenario, tmp_path):
    scenario.write_text(WORKLOAD)
    goal = ["--model-based", "--metric", "fct_p90_us", "--max-trials", "80"]
    done = evaluate(scenario, tmp_path / "out", *goal, "--jobs", "2", code=3)
    assert "cubic: model-based, sizes of a log-normal fit" in done.stdout
    got = result(tmp_path / "out")["algorithms"]["cubic"]
    assert got["trials"] == 80 and got["metrics"]["fct_p90_us"]["estimand"] == "p90 over 40 cycles"
    assert got["metrics"]["fct_p90_us"]["n"] == 2
    tilt = got["model_based"]
    assert tilt["search_trials"] >= 10 and abs(tilt["shift"]) <= 0.1 + 1e-9 and 1 / 1.06 < tilt["factor"] < 1.06
    whole = (tmp_path / "out" / "eval.json").read_bytes()
    done = evaluate(scenario, tmp_path / "out", *goal, "--jobs", "1", code=3)
    assert "0 trials run" in done.stdout
    assert (tmp_path / "out" / "eval.json").read_bytes() == whole


def test_a_verdict_alone_takes_fewer_trials(scenario, tmp_path):
    goal = ["--metric", "queue_mean_bytes", "--margin", "0.1%", "--min-trials", "4", "--unseen", "5%",
            "--compare", "oscar", "cubic"]
    evaluate(scenario, tmp_path / "out", *goal, "--verdict-only")
    got = result(tmp_path / "out")
    assert got["converged"] and got["compare"]["metrics"]["queue_mean_bytes"]["verdict"] == "a < b"
    assert got["algorithms"]["oscar"]["metrics"]["queue_mean_bytes"]["relative_margin"] > 0.001
    assert got["algorithms"]["oscar"]["trials"] < 150  # 100 is the least of a verdict


def test_sizes_that_never_end_are_refused(scenario, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for sizes in ("/dev/zero", str(tmp_path / "fifo")):
        scenario.write_text(WORKLOAD.replace('"websearch"', f'"{sizes}"'))
        done = evaluate(scenario, tmp_path / "out", "--metric", "fct_mean_us", code=2)
        assert f"{sizes}: is not a regular file" in done.stderr
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("arguments, message", [
    (["--metric", "fct_mean_us", "--margin", "0"], "--margin 0: allowed is a share of the estimate above 0"),
    (["--metric", "fct_mean_us", "--margin", "0%"], "--margin 0%: allowed is"),
    (["--metric", "fct_mean_us", "--margin", "1"], "--margin 1: allowed is"),
    (["--metric", "fct_mean_us", "--margin", "-1%"], "--margin -1%: allowed is"),
    (["--metric", "fct_mean_us", "--confidence", "100%"], "--confidence 100%: allowed is 50% to 99.99%"),
    (["--metric", "fct_mean_us", "--confidence", "95"], "--confidence 95: allowed is"),
    (["--metric", "fct_mean_us", "--max-time", "soon"], "--max-time soon: allowed is a time such as 90s"),
    (["--metric", "fct_meen_us"], "--metric fct_meen_us: no such metric; allowed are"),
    (["--metric", "fct_p100_us"], "--metric fct_p100_us: p100 is no quantile; allowed are p01 to p99 in per cent"),
    (["--metric", "slowdown_p0"], "--metric slowdown_p0: p0 is no quantile"),
    (["--metric", "fct_mean_us", "--unseen", "0"], "--unseen 0: allowed is a share of the trials of 0.01% to 50%"),
    (["--metric", "fct_mean_us", "--unseen", "60%"], "--unseen 60%: allowed is"),
    (["--metric", "small.fct_p99_us"], "the scenario has no size class \"small\""),
    (["--metric", "fct_mean_us", "--estimand", "pooled"], "--estimand pooled needs a quantile of flows"),
    (["--metric", "fct_mean_us", "--compare", "oscar", "oscar"], "\"oscar\" is compared with itself"),
    (["--metric", "fct_mean_us", "--compare", "oscar", "bbr", "--cc", "oscar,cubic"], "--compare: \"bbr\" does not run"),
    (["--metric", "fct_p99_us", "--estimand", "pooled", "--compare", "oscar", "cubic"], "--compare needs --estimand mean"),
    (["--metric", "fct_mean_us", "--cc", "oscar,oscar"], "\"oscar\" is there twice"),
    (["--metric", "fct_mean_us", "--max-trials", "10"], "--max-trials 10: allowed is --min-trials (20) or more"),
    (["--metric", "fct_mean_us", "--verdict-only"], "--verdict-only: is of --compare"),
    (["--metric", "fct_p99_us", "--model-based"], "--model-based: the scenario has no [workload]"),
    (["--metric", "fct_mean_us", "--control", "fluid"], "--control fluid: the scenario has no [workload]"),
    (["--metric", "fct_mean_us", "--control", "magic"], "--control"),
    (["--metric", "fct_mean_us", "--executor", "cloud"], "--executor"),
    ([], "--metric is required"),
], ids=lambda a: "-".join(a) if isinstance(a, list) else "")
def test_bad_input_is_refused_before_anything_runs(scenario, tmp_path, arguments, message):
    done = evaluate(scenario, tmp_path / "out", *arguments, code=2)
    assert message in done.stderr + done.stdout
    assert not (tmp_path / "out").exists()
