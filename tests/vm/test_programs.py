# SPDX-License-Identifier: Apache-2.0
"""Real programs over each algorithm in a stock Debian kernel: redis, iperf3, nginx with wrk.

A machine is booted once (run.sh programs.sh, six minutes of processor time; three with DELAYCC_QUICK, which takes one path in place of three where
the base RTT is measured); its console, with all figures, is kept in build/vm-programs/console.log.  docs/research/results.md has a table of them.
"""

import os
import re

import pytest

from test_vm import HERE, ROOT, Machine

pytestmark = pytest.mark.ci

WORK = ROOT / "build" / "vm-programs"
ALGORITHMS = ("prioplus", "prioplus_ledbat", "oscar", "swift", "ccc")
MEASURED, LOW = ("1ms",) if os.environ.get("DELAYCC_QUICK") else ("100us", "1ms", "5ms"), "low"
# Of cubic's figure, at least: a collapse is a twentieth and less.
# Small responses, SETs: not one waits for a timer. Bulk: what the algorithms' start and their short queues leave of the line.
REQUESTS, BULK = 0.3, 0.2


@pytest.fixture(scope="session", name="machine")
def fixture_machine():
    # An instruction takes 2 ns: the processor is no bottleneck at 1 Gbit/s.
    words = f"paths={','.join((*MEASURED, LOW))}"
    booted = Machine([HERE / "run.sh", HERE / "programs.sh"], WORK / "console.log",
                     {"DELAYCC_VM_WORK": str(WORK), "DELAYCC_VM_SHIFT": "1", "DELAYCC_VM_WORDS": words})
    if booted.skipped:
        pytest.skip(booted.skipped)
    return booted


@pytest.fixture(scope="session", name="figures")
def fixture_figures(machine):
    """(path, algorithm) -> name -> figure."""
    if machine.why:
        pytest.skip("test_the_machine_ran_to_its_end says why")
    return {(path, algorithm): {name: float(value) for name, value in (word.split("=") for word in words.split())}
            for path, algorithm, words in re.findall(r"^FIGURES (\S+) (\S+) (.*)$", machine.console, re.MULTILINE)}


def test_the_machine_ran_to_its_end(machine):
    if machine.why:
        pytest.fail(machine.why, pytrace=False)
    assert "PASS kernel_has_not_complained" in machine.console and "\nFAIL" not in machine.console, machine.console[-2000:]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("path", MEASURED)
def test_programs_run_as_with_cubic_where_the_base_rtt_is_measured(figures, path, algorithm):
    got, cubic = figures[path, algorithm], figures[path, "cubic"]
    assert cubic["pings"] == got["pings"] == 5, got
    for name, least in (("redis", REQUESTS), ("small", REQUESTS), ("large", BULK), ("iperf", BULK)):
        assert got[name] >= least * cubic[name] > 0, (name, got, cubic)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_programs_go_on_where_the_base_rtt_is_told_too_low(figures, algorithm):
    got = figures[LOW, algorithm]
    assert got["pings"] == 5, got
    assert all(got[name] > 0 for name in ("redis", "small", "large", "iperf")), got
