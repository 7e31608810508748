# SPDX-License-Identifier: Apache-2.0
"""The soak: how soak.py judges what machines printed and goes on where it was; and a short one, as a part of `make soak-test`.

The short one boots a machine with four processors for two cycles of 10 s (two to three minutes of processor time); its console is kept in
build/soak/short.log. `make soak` is the long one.
"""

import os

import pytest

import soak
from soak import Machine, Outcome

pytestmark = pytest.mark.ci

PROGRAMS = ("curl", "wrk", "redis", "iperf", "scp", "xfer")


def console(*lines, left=(30000, 30500)):
    return "\n".join(["BEGIN 6.1.0", *lines, *(f"LEFT {kb}" for kb in left), "END", ""])


def outcome(*lines, **more):
    made = Outcome()
    made.add("ours-1", console(*lines, **more))
    return made


def test_figures_of_all_cycles_are_added():
    made = outcome("DID curl 2", "SOAKED switches=5 sockets=150 longest_ms=900", "DID curl 3", "SOAKED switches=6 sockets=50 longest_ms=400")
    assert made.did == {"curl": 5} and made.soaked == {"switches": 11, "sockets": 200, "longest_ms": 900}
    assert made.faults == []


@pytest.mark.parametrize("text, said", [
    (console("WRONG scp brings another file"), "ours-1: WRONG scp brings another file"),
    (console("FAIL kernel_has_not_complained: BUG"), "ours-1: FAIL kernel_has_not_complained: BUG"),
    ("BEGIN 6.1.0\nKernel panic\n", "ours-1: the machine did not come to its end: Kernel panic"),
    (console(left=(30000, 33000)), "ours-1: memory in use grows from cycle to cycle, KB: [30000, 33000]"),
])
def test_what_may_not_be_is_a_fault(text, said):
    made = Outcome()
    made.add("ours-1", text)
    assert made.faults == [said]


def test_a_stop_counts_that_is_longer_than_those_of_cubic_to_the_same_server():
    ours = outcome("STILL 3000 80 ccc", "STILL 1500 6379 oscar ca=4 cwnd=1", "STILL 1900 22 swift")
    cubic = outcome("STILL 2000 80 cubic", "STILL 1500 6379 cubic")
    assert soak.stalls(ours, cubic) == ["a connection of scp stood still for 1.9 s with swift; with cubic 0.0 s at most",
                                        "a connection of nginx stood still for 3.0 s with ccc; with cubic 2.0 s at most"]
    assert soak.stalls(cubic, cubic) == []


def test_a_pause_makes_another_machine_and_none_is_the_one_of_before():
    plain, paused = soak.machines(1, 75, ("ours",))[0], soak.machines(1, 75, ("ours",), 10)[0]
    assert plain.words == "soak_seconds=75 soak_cycles=2 soak_seed=1 soak_line_mbps=20"
    assert paused.words == "soak_seconds=75 soak_cycles=2 soak_seed=1 soak_pause=10 soak_line_mbps=20"


def test_resets_count_where_cubic_has_none():
    ours, cubic = outcome("REFUSED curl", "REFUSED wrk", "LATE wrk"), outcome()
    assert (ours.refused, ours.late, ours.faults) == (2, 1, [])
    assert soak.stalls(ours, cubic) == ["2 connections were reset; with cubic 0"]
    assert soak.stalls(cubic, ours) == soak.stalls(ours, ours) == []


def test_the_table_has_a_column_for_each_kind_that_ran():
    made = soak.table({"ours": outcome("DID curl 2", "STILL 1500 80 ccc state"), "stock": outcome("DID scp 3", "REFUSED wrk")})
    rows = {line[:40].strip(): line[40:].split() for line in made.splitlines()}
    assert rows[""] == ["ours", "stock"]
    assert rows["did curl"] == ["2", "0"] and rows["did scp"] == ["0", "3"]
    assert rows["nginx: the longest of them, s"] == ["1.5", "0.0"] and rows["connections that were reset"] == ["0", "1"]


def test_what_was_measured_is_not_measured_again_unless_it_depends_on_something_new(tmp_path):
    booted = []

    def boot(machine):
        booted.append(machine.name)
        if machine.seed == 2 and len(booted) == 3:
            raise KeyboardInterrupt
        return console(f"DID curl {machine.seed}")

    def run(same):
        return soak.run_all(soak.machines(5, 75, ("ours", "cubic")), 1, lambda line: None, tmp_path, same, boot)

    with pytest.raises(KeyboardInterrupt):
        run("a")
    outcomes = run("a")
    assert booted[:3] == ["ours-1", "cubic-1", "ours-2"] and booted.count("ours-1") == booted.count("cubic-1") == 1
    assert outcomes["ours"].did == outcomes["cubic"].did == {"curl": 3}
    before = len(booted)
    run("a")
    assert len(booted) == before
    run("b")
    assert len(booted) == before + 4


def test_a_machine_that_was_ended_is_a_fault_and_booted_again(tmp_path):
    booted = []

    def boot(machine):
        booted.append(machine.name)
        return "BEGIN 6.1.0\n"
    for _ in range(2):
        outcomes = soak.run_all(soak.machines(1, 75, ("ours",)), 1, lambda line: None, tmp_path, "a", boot)
        assert outcomes["ours"].faults == ["ours-1: the machine did not come to its end: BEGIN 6.1.0"]
    assert booted == ["ours-1", "ours-1"]


def test_a_machine_that_fails_is_a_fault_and_the_others_go_on(tmp_path):
    def boot(machine):
        if machine.kind == "ours":
            raise ValueError("signal 11")
        return console("DID curl 1")
    outcomes = soak.run_all(soak.machines(1, 75, ("ours", "cubic")), 1, lambda line: None, tmp_path, "a", boot)
    assert outcomes["ours"].faults == ["ours-1: signal 11"] and outcomes["cubic"].did == {"curl": 1}


@pytest.mark.skipif(not os.environ.get("DELAYCC_SOAK"), reason="a part of `make soak-test`: it takes minutes")
def test_programs_run_to_their_end_while_algorithms_change_and_nothing_stays():
    try:
        soak.prepare()
    except soak.NotHere as why:
        pytest.skip(str(why))
    text = soak.boot(Machine("ours", 1, 10))
    (soak.WORK / "short.log").write_text(text, encoding="utf-8")
    made = Outcome()
    made.add("short", text)
    assert made.faults == []
    assert all(made.did[program] for program in PROGRAMS), made.did
    assert made.soaked["switches"] >= 4 and made.soaked["sockets"] > 50 and made.soaked["failed"] == 0, made.soaked
