# SPDX-License-Identifier: Apache-2.0
"""harness/tools/family.py: pairs of trials, goals, and what it refuses; the commands it runs are those of sweep.py."""

import json
import pathlib
import sqlite3
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "harness" / "tools"))
import family  # noqa: E402
import sweep  # noqa: E402

UNITS = {"utilisation": "", "queue_mean_bytes": "bytes", "recover_us": "us"}
SCENARIOS = family.scenarios("held-out")
NAME = SCENARIOS[0]
GOAL = {"algorithm": "oscar", "metric": "utilisation", "text": ">= 0.9", "met": False, "value": 0.85, "ci95": 0.02, "unit": "",
        "case": {"noise": 1}}


def write_run(out, values, seed=1, missed=(), goals=(), stored=None):
    """A run of NAME in out: values is {metric: {noise: by trial}}; stored: what the store has instead of them."""
    where = out / NAME
    where.mkdir(parents=True)
    with sqlite3.connect(where / "results.sqlite") as store:
        store.execute("create table trials (id integer primary key, parameters text, algorithm text, number integer, seed integer)")
        store.execute("create table metrics (trial integer, name text, value real)")
        for metric, cases in (stored or values).items():
            for noise, by_trial in cases.items():
                for number, value in enumerate(by_trial):
                    added = store.execute("insert into trials (parameters, algorithm, number, seed) values (?, 'oscar', ?, ?)",
                                          (json.dumps({"noise": noise}), number, seed))
                    store.execute("insert into metrics values (?, ?, ?)", (added.lastrowid, metric, value))
    cases = [{"parameters": {"noise": int(noise)},
              "algorithms": {"oscar": {metric: {"mean": sum(v[noise]) / len(v[noise]), "n": len(v[noise]), "unit": UNITS[metric],
                                                **({"missed": 1} if metric in missed else {})} for metric, v in values.items()}}}
             for noise in ("1", "0")]
    summary = {"scenario": NAME, "seed": seed, "cases": cases, "expectations": list(goals)}
    (where / "summary.json").write_text(json.dumps(summary))


def printed(monkeypatch, capsys, *arguments):
    """What main() prints where `delaycc run` has nothing to do."""
    def ran(command, **_):
        assert command[1:4] == ["run", f"held-out/{NAME}", "--sweep"]
        return subprocess.CompletedProcess(command, 0, "")

    monkeypatch.setattr(sweep.subprocess, "run", ran)
    monkeypatch.setattr(sys, "argv", ["family.py", *map(str, arguments), "held-out", NAME])
    family.main()
    return capsys.readouterr().out.splitlines()


NEW = {"utilisation": {"1": [0.90, 0.92, 0.94], "0": [0.95, 0.95, 0.95]}, "queue_mean_bytes": {"1": [50_000, 60_000, 70_000], "0": [9_000] * 3},
       "recover_us": {"1": [200, 300, 400], "0": [100, 100, 100]}}
OLD = {"utilisation": {"1": [0.80, 0.83, 0.83], "0": [0.95, 0.96, 0.94]}, "queue_mean_bytes": {"1": [55_000, 50_000, 75_000], "0": [9_000] * 3},
       "recover_us": {"1": [200, 300, 400], "0": [100, 100, 100]}}


def test_a_row_is_a_case_and_goals_that_are_not_reached_are_named(monkeypatch, capsys, tmp_path):
    met = {**GOAL, "met": True, "metric": "jain"}
    write_run(tmp_path / "new", NEW, missed=["recover_us"], goals=[GOAL, met, {**GOAL, "value": None, "ci95": None}])
    lines = printed(monkeypatch, capsys, "--out", tmp_path / "new")
    assert f"| {NAME} noise=0 | 0.950 |" in lines and f"| {NAME} noise=1 | 60.0 |" in lines and f"| {NAME} noise=1 | > 300 |" in lines
    assert f"| {NAME} noise=1 | - |" in lines  # Jain's index was not measured
    assert "## Goals: 1 of 3 reached" in lines
    assert f"- NOT REACHED: {NAME} noise=1: oscar utilisation >= 0.9: 0.850 ± 0.020" in lines
    assert f"- NOT REACHED: {NAME} noise=1: oscar utilisation >= 0.9: not measured" in lines


def test_trials_are_paired_and_an_interval_without_0_is_marked(monkeypatch, capsys, tmp_path):
    write_run(tmp_path / "new", NEW)
    write_run(tmp_path / "old", OLD)
    lines = printed(monkeypatch, capsys, "--out", tmp_path / "new", "--against", tmp_path / "old")
    # Differences .10, .09, .11: mean .10, deviation .01, and so .01 * 4.303 / sqrt(3).
    assert f"| {NAME} noise=1 | 0.820 → 0.920 (+0.100 ± 0.025*) |" in lines
    assert f"| {NAME} noise=0 | 0.950 → 0.950 (+0.000 ± 0.025) |" in lines or f"| {NAME} noise=0 | 0.950 → 0.950 (-0.000 ± 0.025) |" in lines
    assert f"| {NAME} noise=1 | 60.0 → 60.0 (+0.000 ± 21.5) |" in lines
    assert f"| {NAME} noise=1 | 300 → 300 (+0.000 ± 0.000) |" in lines


def test_one_trial_has_a_difference_and_no_interval():
    figures = {"mean": 0.5, "unit": ""}
    assert family.cell(figures, {"mean": 0.4, "unit": ""}, {0: 0.4}, {0: 0.5}) == "0.400 → 0.500 (+0.100)"
    assert family.cell(figures, {"mean": 0.4, "unit": ""}, {0: 0.4}, {1: 0.5}) == "0.400 → 0.500"
    assert family.cell(None) == family.cell(None, None) == "-"


def test_other_trials_than_the_summary_s_are_refused(monkeypatch, capsys, tmp_path):
    write_run(tmp_path / "new", NEW)
    write_run(tmp_path / "old", OLD, stored=NEW)
    with pytest.raises(SystemExit, match="trials of several laws"):
        printed(monkeypatch, capsys, "--out", tmp_path / "new", "--against", tmp_path / "old")
    write_run(tmp_path / "other", OLD, seed=2)
    with pytest.raises(SystemExit, match="--against has seed 2, allowed is that of --seed, 1"):
        printed(monkeypatch, capsys, "--out", tmp_path / "new", "--against", tmp_path / "other")


def test_an_algorithm_whose_trials_are_there_under_another_value_has_no_difference(monkeypatch, capsys, tmp_path):
    write_run(tmp_path / "new", NEW, stored={"utilisation": {}})
    write_run(tmp_path / "old", OLD)
    lines = printed(monkeypatch, capsys, "--out", tmp_path / "new", "--against", tmp_path / "old")
    assert f"| {NAME} noise=1 | 0.820 → 0.920 |" in lines


def test_an_unknown_scenario_is_refused_with_those_that_are_there(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["family.py", "held-out", "none"])
    with pytest.raises(SystemExit, match=f"none: there are {NAME}, "):
        family.main()


@pytest.mark.parametrize("words", [["held-out", "--page"], ["path", "--page", "clean"]])
def test_a_page_is_of_the_whole_family_path(monkeypatch, words):
    monkeypatch.setattr(sys, "argv", ["family.py", *words])
    with pytest.raises(SystemExit, match="--page is for all scenarios of path"):
        family.main()


def test_a_page_has_utilisation_jain_and_queue_in_a_cell():
    cells = {"oscar": {"utilisation": "0.998", "jain": "0.95", "queue_mean_bytes": "66.6", "recover_us": "20"}, "ccc": {"utilisation": "0.9"}}
    assert family.page_table([("gamma", cells)]).splitlines()[2] == "| gamma | 1 .95 67 | .90 - - |"


def test_a_run_has_the_options_and_stops_where_the_command_fails(monkeypatch, tmp_path):
    seen = []

    def fails(command, env, **_):
        seen.append((list(map(str, command)), env.get("DELAYCC_LAB")))
        return subprocess.CompletedProcess(command, 2, "no such thing")

    monkeypatch.setattr(sweep.subprocess, "run", fails)
    options = sweep.parser("", "3", "x").parse_args(["--cc", "oscar", "--lab", "/some/lab", "--out", str(tmp_path), "--seed", "7"])
    with pytest.raises(SystemExit, match="held-out/a: exit code 2\nno such thing"):
        sweep.run(options, "held-out/a", ["k=1"])
    (command, lab), = seen
    assert lab == "/some/lab" and command[1:4] == ["run", "held-out/a", "--sweep"] and command[command.index("--out") + 1] == str(tmp_path / "a")
    assert " ".join(command).endswith("--set k=1 --cc oscar") and command[command.index("--trials") + 1] == "3"


def test_every_scenario_of_the_folder_is_on_the_page():
    text = (ROOT / "docs" / "research" / "held-out.md").read_text()
    assert all(f"`{name}`" in text for name in SCENARIOS) and 12 <= len(SCENARIOS) <= 16
