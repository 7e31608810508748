# SPDX-License-Identifier: Apache-2.0
"""CCC in the lab: the path of (q, q_v) through the regions (figure 7), read from the tracepoint, and what its parameters do."""

import itertools
import json
import re

import pytest

from outside import run

pytestmark = pytest.mark.ci

REGIONS = {"0": "start", "1": "Ai", "2": "Ad", "3": "H1i", "4": "H2i", "5": "H1d", "6": "H2d"}
Q_B_NS = 5000


@pytest.fixture(scope="module", name="trials")
def fixture_trials(tmp_path_factory):
    """Two trials of figure 7 with the tracepoint's log."""
    out = tmp_path_factory.mktemp("fig07")
    run("ccc-fig07", out, "--trials", "2", "--trace", "--keep")
    return out / "trials"


def samples(trial, port=10000):
    """(microseconds since time 0, q in ns, q_v, region) of one flow's acknowledgments."""
    zero_us = json.loads((trial / "plan.json").read_text())["zero_ns"] / 1000
    found = []
    for line in (trial / "acks.txt").read_text().splitlines():
        event = re.search(r"\s(\d+)\.(\d{6}): ack: name=ccc(?:_paper)? sport=(\d+) .*delay_ns=(\d+) gradient_q16=(-?\d+) .*branch=(\d+)", line)
        if not event or int(event[3]) != port:
            continue
        t_us = int(event[1] + event[2]) - zero_us
        if t_us >= 0:
            found.append((t_us, int(event[4]), int(event[5]) / 65536, REGIONS[event[6]]))
    return found


def path(found):
    return [region for region, _ in itertools.groupby(s[3] for s in found)]


CASES = [f"case0-{name}-{number}" for name in ("ccc", "ccc_paper") for number in (0, 1)]


@pytest.mark.parametrize("case", CASES)
def test_a_meeting_of_two_goes_through_h_into_a_and_slides_there(trials, case):
    regions = path(samples(trials / case))
    # The queue starts empty and grows by a second per second.
    assert regions[:4] == ["H2i", "H1d", "H2d", "Ad"]
    sliding = list(itertools.takewhile(lambda region: region in ("Ad", "Ai"), regions[3:]))
    assert len(sliding) >= 4, "Ad and Ai take turns"


@pytest.mark.parametrize("case", CASES)
def test_the_second_approach_is_h1d_then_h2d_then_a(trials, case):
    regions = [region for region in path(samples(trials / case)) if region not in ("H1i", "H2i")]
    first = regions.index("H2d")
    # Figure 7's order: H2d, H1d, H2d, then A.
    second = regions.index("H1d", first)
    third = regions.index("H2d", second)
    assert regions[third + 1] in ("Ad", "Ai", "H1d")
    assert any(region in ("Ad", "Ai") for region in regions[third + 1:])


@pytest.mark.parametrize("case", [c for c in CASES if "paper" not in c])
def test_the_queue_ends_below_the_goal_and_stands(trials, case):
    late = [s for s in samples(trials / case) if s[0] > 3000]
    assert len(late) > 500
    mean_q = sum(s[1] for s in late) / len(late)
    # Two equal rates meet Irr = R_l (1 - q / q_B) at q_B / 2.
    assert 0.3 * Q_B_NS < mean_q < 1.0 * Q_B_NS
    assert sum(abs(s[2]) for s in late) / len(late) < 0.25
