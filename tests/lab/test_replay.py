# SPDX-License-Identifier: Apache-2.0
"""Metrics and report from the records of kept trials, without a lab."""

import json
import os

import pytest

from outside import LONG_AND_SHORT, delaycc, run

SCENARIO = "trials = 2" + LONG_AND_SHORT + """start_us = 100
start_jitter_us = 10
size_bytes = 300000
[measure]
duration_us = 600
"""
NO_LAB = {**os.environ, "DELAYCC_LAB": "/nonexistent"}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A scenario's file, and the results of a run with its records."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "kept.toml").write_text(SCENARIO)
    run(folder / "kept.toml", folder / "out", "--trace")
    return folder / "kept.toml", folder / "out"


def replay(scenario, records, out, *arguments):
    return delaycc("run", scenario, "--quiet", "--out", out, "--backend", "replay", records, *arguments, env=NO_LAB)


def without_identity(out):
    summary = json.loads((out / "summary.json").read_text())
    assert summary.pop("build")
    return json.dumps(summary, indent=2)


def test_a_replay_without_a_lab_gives_the_same_figures_and_report(kept, tmp_path):
    scenario, out = kept
    done = replay(scenario, out, tmp_path / "again")
    assert done.returncode == 0, done.stderr
    assert without_identity(tmp_path / "again") == without_identity(out)
    # The page has the build, and the command that gives the figures again.
    pages = [(folder / "report.html").read_text() for folder in (out, tmp_path / "again")]
    assert abs(len(pages[0]) - len(pages[1])) < 1000
    assert "4 trials run, 0 taken" in done.stdout
    assert "0 trials run, 4 taken" in replay(scenario, out, tmp_path / "again").stdout


def test_one_trials_folder_is_enough_for_that_trial(kept, tmp_path):
    scenario, out = kept
    done = replay(scenario, out / "trials/case0-cubic-1", tmp_path / "one", "--cc", "cubic", "--first-trial", "1", "--trials", "1")
    assert done.returncode == 0, done.stderr
    assert set(json.loads((tmp_path / "one/summary.json").read_text())["algorithms"]) == {"cubic"}


def test_metrics_of_another_time_need_no_other_records(kept, tmp_path):
    scenario, out = kept
    done = replay(scenario, out, tmp_path / "later", "--set", "measure.from_us=300")
    assert done.returncode == 0, done.stderr
    assert without_identity(tmp_path / "later") != without_identity(out)


def test_another_plan_is_refused_with_what_differs(kept, tmp_path):
    scenario, out = kept
    done = replay(scenario, out, tmp_path / "other", "--set", "flows.1.size_bytes=290000", "--cc", "cubic", "--trials", "1")
    assert done.returncode == 1
    assert "holds no trial with this plan; the nearest" in done.stderr
    assert "/flows/1/size_bytes is 290000, kept is 300000" in done.stderr


@pytest.mark.parametrize("arguments, status, message", [
    (["--backend", "replay"], 2, "--backend replay: needs the folder of kept trials behind it"),
    (["--backend", "lab", "{out}"], 2, "{out}: a folder of records is for --backend replay only"),
    (["--backend", "replay", "{out}/trials/none"], 2, "--backend replay: {out}/trials/none: is no folder of kept trials"),
    (["--backend", "replay", "{empty}"], 2, "--backend replay: {empty}: holds no kept trial"),
    (["--backend", "replay", "{out}", "--keep"], 2, "--keep: the backend replay runs nothing that could be recorded"),
    (["--backend", "replay", "{out}", "--trace"], 2, "--trace: the backend replay runs nothing that could be recorded"),
    (["--backend", "reply", "{out}"], 2, "--backend: reply not in {{lab,host,hosts,replay}}"),
], ids=str)
def test_what_replay_cannot_do_is_refused(kept, tmp_path, arguments, status, message):
    scenario, out = kept
    names = {"out": out, "empty": tmp_path}
    done = delaycc("run", scenario, "--out", tmp_path / "refused", *(a.format(**names) for a in arguments), env=NO_LAB)
    assert (done.returncode, done.stderr.startswith((message.format(**names), "delaycc: " + message.format(**names)))) == (status, True), done.stderr
    assert not (tmp_path / "refused").exists()


def test_a_damaged_record_file_is_named(kept, tmp_path):
    scenario, out = kept
    folder = tmp_path / "cut"
    folder.mkdir()
    for file in (out / "trials/case0-cubic-0").iterdir():
        (folder / file.name).write_bytes(file.read_bytes()[:-48 if file.name == "packets.bin" else None])
    done = replay(scenario, folder, tmp_path / "damaged", "--cc", "cubic", "--trials", "1")
    assert done.returncode == 1
    assert f"{folder}/packets.bin: holds " in done.stderr
