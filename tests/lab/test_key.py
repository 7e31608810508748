# SPDX-License-Identifier: Apache-2.0
"""A stored trial is taken again unless something changed that it uses."""

import os
import shutil

import pytest

from outside import BUILD, LAB
import owned

SCENARIO = """
name = "key"
cc = ["cubic", "oscar", "sqcc"]
trials = 1
[topology]
kind = "dumbbell"
senders = 1
base_rtt_ns = 12000
[[flows]]
from = "senders"
to = "receivers"
[measure]
duration_us = 200
"""


@pytest.fixture
def bench(tmp_path):
    """A copy of command and lab, and what a run of the scenario by them says of its trials."""
    (tmp_path / "key.toml").write_text(SCENARIO)
    folder, lab = tmp_path / "build", tmp_path / "build/lab"
    lab.mkdir(parents=True)
    for name in "delaycc", "delaycc-runner":
        shutil.copy(BUILD / name, folder / name)
    for file in LAB.iterdir():
        if file.name == "linux" or file.suffix == ".ko":
            shutil.copy(file.resolve(), lab / file.name)
    environment = {name: value for name, value in os.environ.items() if name != "DELAYCC_LAB"}

    def run(*arguments):
        done = owned.run([folder / "delaycc", "run", tmp_path / "key.toml", "--quiet", "--out", tmp_path / "out", *arguments],
                         env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()[-1].split(" taken from")[0]

    return folder, run


def change(path):
    """Bytes behind the last section of an ELF file change nothing but its hash."""
    with open(path, "ab") as file:
        file.write(b"changed")


def test_only_what_a_trial_uses_has_it_measured_again(bench):
    folder, run = bench
    assert run() == "3 trials run, 0"
    assert run() == "0 trials run, 3"
    for file, again in [
        ("delaycc", 0),  # the page, or another part of the command
        ("lab/tcp_ccc.ko", 0),
        ("lab/tcp_oscar.ko", 1),
        ("lab/delaycc.ko", 2),
        ("lab/delaycc_count.ko", 1),  # sqcc's
        ("lab/sch_dccport.ko", 3),
        ("delaycc-runner", 3),
        ("lab/linux", 3),
    ]:
        change(folder / file)
        assert run() == f"{again} trials run, {3 - again}", file
        assert run() == "0 trials run, 3", file
