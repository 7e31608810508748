# SPDX-License-Identifier: Apache-2.0
"""No algorithm does harm where no sysctl is set: what a flow gets, as a share of the lower of cubic's and bbr's, is not below its floor.

A sample of the grid of docs/research/does-no-harm.md (harm.py, SAMPLE) in one machine, eight minutes of processor time, or its cheaper cells (QUICK,
DELAYCC_QUICK) in three; the console is kept in build/harm-test/console.log. The floors are in harm-floors.toml. `make harm-table` measures all
of the grid.
"""

import json
import os
import subprocess
import tomllib

import pytest

import harm
import owned
from harm import BULK, Cell

pytestmark = pytest.mark.ci

CELLS = harm.QUICK if os.environ.get("DELAYCC_QUICK") else harm.SAMPLE
WORK = harm.ROOT / "build" / "harm-test"
FLOORS = tomllib.loads((harm.HERE / "harm-floors.toml").read_text(encoding="utf-8"))
# A flow without a byte for half of the measured time, and for longer than a timeout may take, stands still.
LONGEST_PAUSE, TIMEOUT_MS = 0.5, 1000


@pytest.fixture(scope="session", name="prepared")
def fixture_prepared():
    WORK.mkdir(parents=True, exist_ok=True)
    try:
        harm.prepare(WORK)
    except harm.NotHere as why:
        pytest.skip(str(why))


@pytest.fixture(scope="session", name="figures")
def fixture_figures(prepared):  # pylint: disable=unused-argument
    console = harm.boot(harm.words(harm.PEERS + harm.OURS, CELLS, []), WORK)
    (WORK / "console.log").write_text(console, encoding="utf-8")
    return harm.read(console)


@pytest.mark.parametrize("algorithm", harm.OURS)
def test_no_cell_is_below_the_algorithms_floor(figures, algorithm):
    found = harm.shares(figures, BULK, "kbps", algorithm)
    assert sorted(found) == sorted(CELLS)
    floor = FLOORS[algorithm]
    low = {str(cell): round(share, 3) for cell, share in found.items() if share < floor["cell"]}
    assert not low, f"below {floor['cell']} of the lower of cubic and bbr: {low}"
    assert harm.mean_share(found) >= floor["mean"], {str(cell): round(share, 3) for cell, share in found.items()}


@pytest.mark.parametrize("algorithm", harm.PEERS + harm.OURS)
def test_no_flow_stands_still(figures, algorithm):
    for cell in CELLS:
        got = figures[BULK, algorithm, cell]
        assert got["kbps"] > 0 and got["pause_ms"] < max(LONGEST_PAUSE * cell.measure_ms, TIMEOUT_MS), f"{cell}: {got}"


def test_a_machine_repeats_byte_for_byte(prepared):  # pylint: disable=unused-argument
    # run.sh says why.
    if subprocess.run(["chrt", "--reset-on-fork", "--fifo", "1", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("no right to real-time priority, which keeps QEMU's threads in order")
    chosen = harm.words(["oscar"], [Cell(100, 1000, "1"), Cell(100, 5000, "1")], [])
    first, second = harm.boot(chosen, WORK), harm.boot(chosen, WORK)
    assert len(harm.read(first)) == 2
    assert first == second


def test_every_algorithm_of_ours_has_floors():
    assert set(FLOORS) == set(harm.OURS)
    names = {file.stem.removeprefix("tcp_") for file in (harm.ROOT / "kernel").glob("tcp_*.c")}
    assert names <= set(harm.OURS)


def test_the_sample_has_every_level():
    assert len(harm.SAMPLE) == len(set(harm.SAMPLE)) == len(harm.RATES_MBPS) * len(harm.LOSSES_PERCENT)
    assert {cell.mbps for cell in harm.SAMPLE} == set(harm.RATES_MBPS)
    assert {cell.rtt_us for cell in harm.SAMPLE} == set(harm.RTTS_US)
    assert set(harm.SAMPLE) <= set(harm.grid())


def test_the_quick_cells_have_every_rate_loss_and_rtt():
    assert set(harm.QUICK) < set(harm.SAMPLE)
    for level in ("mbps", "loss", "rtt_us"):
        assert {getattr(cell, level) for cell in harm.QUICK} == {getattr(cell, level) for cell in harm.SAMPLE}


def test_a_cell_is_long_enough_for_its_rtt_and_its_rate():
    for cell in harm.grid():
        assert cell.measure_ms * 1000 >= 100 * cell.rtt_us
        assert cell.queue_packets >= max(64, cell.mbps * cell.rtt_us // 8 // 1514)
    assert Cell(10, 100, "0").measure_ms == 12112  # ten thousand packets
    assert Cell(1000, 80000, "0").bulk_word == "1000:80000:0:6605:2000:8000"


def test_a_share_is_of_the_lower_peer_and_none_counts_for_more_than_one():
    one, two = Cell(10, 100, "0"), Cell(10, 100, "1")
    figures = {(BULK, name, cell): {"kbps": kbps} for name, cell, kbps in (
        ("cubic", one, 100), ("bbr", one, 80), ("swift", one, 40), ("cubic", two, 10), ("bbr", two, 100), ("swift", two, 30))}
    found = harm.shares(figures, BULK, "kbps", "swift")
    assert found == {one: 0.5, two: 3.0}
    assert harm.mean_share(found) == 0.75


def test_a_machine_that_did_not_end_well_has_no_figures():
    line = "BULK oscar 10 100 0 kbps=5 retrans=1\n"
    assert harm.read(f"BEGIN\n{line}PASS kernel_has_not_complained\nEND\n") == {(BULK, "oscar", Cell(10, 100, "0")): {"kbps": 5, "retrans": 1}}
    for console in (f"BEGIN\n{line}", f"BEGIN\n{line}FAIL x\nPASS kernel_has_not_complained\nEND\n",
                    "BEGIN\nBULK oscar 10 100 0 bulk: connect: Connection timed out\nPASS kernel_has_not_complained\nEND\n"):
        with pytest.raises(ValueError):
            harm.read(console)


def test_what_was_measured_is_used_again_only_if_all_is_the_same(tmp_path):
    file = tmp_path / "oscar-bulk-10.json"
    assert harm.kept(file, "key") is None
    file.write_text(json.dumps({"key": "key", "console": ["END"]}))
    assert harm.kept(file, "key")["console"] == ["END"]
    assert harm.kept(file, "another") is None
    file.write_text("half a fi")
    assert harm.kept(file, "key") is None


def test_the_command_refuses_unknown_algorithms():
    done = owned.run([harm.HERE / "harm.py", "--algorithms", "oscar,vegas"])
    assert done.returncode == 2 and "vegas: there are oscar" in done.stderr
