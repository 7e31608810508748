# SPDX-License-Identifier: Apache-2.0
"""harness/report/picture.py: the SVG for a README."""

import json
import pathlib
import subprocess
import xml.etree.ElementTree as xml

import pytest

import datasets
import synthetic

pytestmark = pytest.mark.ci

TOOL = pathlib.Path(__file__).resolve().parents[2] / "harness" / "report" / "picture.py"
PYTHON = "/usr/bin/python3"


def draw(*arguments):
    return subprocess.run([PYTHON, TOOL, *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module", autouse=True)
def matplotlib():
    if subprocess.run([PYTHON, "-c", "import matplotlib"], capture_output=True, check=False).returncode != 0:
        pytest.skip("matplotlib is not installed (Debian: python3-matplotlib)")


def test_picture_of_a_page_is_small_wellformed_and_the_same_each_time(render, out_dir, tmp_path):
    page = render(synthetic.microburst(), "microburst")
    out = out_dir / "microburst.svg"
    done = draw(page, out)
    assert done.returncode == 0, done.stderr
    texts = [e.text for e in xml.parse(out).iter("{http://www.w3.org/2000/svg}text")]
    for word in ("oscar", "dctcp", "Queue at the bottleneck", "Rate, long flow", "the 9 short flows stop"):
        assert word in texts
    assert out.stat().st_size < 150_000
    assert draw(page, tmp_path / "again.svg").returncode == 0
    assert (tmp_path / "again.svg").read_bytes() == out.read_bytes()


def test_algorithms_window_and_dark_ground_can_be_chosen(render, tmp_path):
    page = render(synthetic.microburst(), "microburst")
    done = draw(page, tmp_path / "a.svg", "--algorithms", "oscar,vegas", "--window", "1990", "2200", "--dark")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "a.svg").read_text()
    assert ">vegas<" in text and ">cubic<" not in text and "#12161c" in text


@pytest.mark.parametrize("name", ("absent_metrics", "one_algorithm", "evil_strings"))
def test_data_of_odd_shape_is_drawn(tmp_path, name):
    (tmp_path / "data.json").write_text(json.dumps(datasets.ALL[name]()))
    done = draw(tmp_path / "data.json", tmp_path / "a.svg")
    assert done.returncode == 0, done.stderr
    xml.parse(tmp_path / "a.svg")


@pytest.mark.parametrize("data, arguments, message", [
    (datasets.bare, (), "/curves: missing"),
    (synthetic.microburst, ("--algorithms", "tahoe"), "--algorithms: no curves of 'tahoe'; there are: oscar, cubic"),
    (synthetic.microburst, ("--window", "5", "5"), "the start must be before the end"),
])
def test_what_cannot_be_drawn_is_said(tmp_path, data, arguments, message):
    (tmp_path / "data.json").write_text(json.dumps(data()))
    done = draw(tmp_path / "data.json", tmp_path / "a.svg", *arguments)
    assert done.returncode == 1 and message in done.stderr and not (tmp_path / "a.svg").exists()
