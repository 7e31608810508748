# SPDX-License-Identifier: Apache-2.0
"""harness/tools/check_claims.py: a scenario's claim is what its expectations test."""

import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
CHECK = TOP / "harness/tools/check_claims.py"


def check(*files):
    return subprocess.run([CHECK, *files], capture_output=True, text=True, check=False)


def lacks(tmp_path, claim, *expectations):
    """What the check says of a scenario with this claim, without the place."""
    file = tmp_path / "s.toml"
    file.write_text('name = "s"\ncc = ["oscar", "swift", "patched_timely"]\n'
                    f'claim = "{claim}"\n' + "".join(f'[[expect]]\nalgorithm = "oscar"\nmetric = "jain"\n{e}\n' for e in expectations))
    done = check(file)
    place = f"{file}:3: claim: "
    assert all(line.startswith(place) for line in done.stdout.splitlines())
    assert done.returncode == (1 if done.stdout else 0)
    return [line.removeprefix(place) for line in done.stdout.splitlines()]


def test_the_scenarios_of_the_tree_claim_what_they_test():
    done = check()
    assert done.returncode == 0, done.stdout


def test_a_sentence_needs_an_expectation_and_a_topic_none(tmp_path):
    assert lacks(tmp_path, "Completion times of all flows, ten times") == []
    assert lacks(tmp_path, "The link is shared.") == ["is a sentence and there is no [[expect]]; a topic has no full stop"]
    assert lacks(tmp_path, "The link is shared.", "min = 0.95") == []


@pytest.mark.parametrize("claim, limit", [
    ("Fair after 280 us.", "max = 280"),
    ("Fair after 1.4 ms.", "max = 1400"),
    ("98 % of the link is in use.", "min = 0.98"),
    ("It costs at most 8 %.", "max = 1.08"),
    ("It is ten times as much.", 'of = "swift"\nmin = 10'),
    ("It is ten times as much.", 'of = "swift"\nmax = 0.1'),
    ("Four times the queue.", "min = 0.25"),
])
def test_a_number_is_a_limit(tmp_path, claim, limit):
    assert lacks(tmp_path, claim, limit) == []
    for other in ("max = 17", 'of = "swift"\nmax = 17'):
        found = lacks(tmp_path, claim, other)
        assert len(found) == 1 and "which is the limit of no [[expect]] (min, max or value)" in found[0]


def test_both_ends_of_a_range_are_limits_and_the_set_up_has_none(tmp_path):
    claim = "With 500 flows in two priorities the queue stands at 100 to 200 packets."
    assert lacks(tmp_path, claim, "min = 100000", "max = 200000") == []
    assert lacks(tmp_path, claim, "max = 200000") == ['says "100 packets", which is the limit of no [[expect]] (min, max or value)']


@pytest.mark.parametrize("claim, said", [
    ("It is fair sooner.", "sooner"),
    ("Many more packets are lost than otherwise.", "than otherwise"),
    ("It beats Swift.", "swift"),
    ("Patched TIMELY has a long queue.", "patched_timely"),
])
def test_a_comparison_is_tested_by_one(tmp_path, claim, said):
    found = lacks(tmp_path, claim, "max = 500")
    assert len(found) == 1 and f'says "{said}", a comparison, and no [[expect]] has of' in found[0]
    for tested in ('of = "swift"\nmax = 1', "of_case = { k = 1 }\nmax = 1", 'over = "k"\ntrend = "falls"'):
        assert lacks(tmp_path, claim, tested) == []


def test_a_limit_is_no_comparison(tmp_path):
    assert lacks(tmp_path, "The queue is no more than one extra BDP.", "max = 225000") == []


def test_a_trend_is_tested_by_one(tmp_path):
    claim = "The queue grows."
    assert lacks(tmp_path, claim, 'of = "swift"\nmax = 1') == ['says "grows", a trend, and no [[expect]] has over = "PARAMETER"']
    assert lacks(tmp_path, claim, 'over = "n"\ntrend = "rises"') == []


def test_what_is_said_of_any_case_is_tested_in_every_case(tmp_path):
    claim = "The link is in use whatever the path."
    assert lacks(tmp_path, claim, "min = 0.95") == ['says "whatever", and no [[expect]] has every_case = true']
    assert lacks(tmp_path, claim, "min = 0.95\nevery_case = true") == []


def test_at_once_has_to_be_a_time(tmp_path):
    assert "within how long" in lacks(tmp_path, "The flows are fair again at once.", "max = 500")[0]
    assert lacks(tmp_path, "Senders that send many packets at once share the link.", "max = 500") == []
