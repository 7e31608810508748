# SPDX-License-Identifier: Apache-2.0
"""harness/tools/fuzz.py: how it counts, goes on and stops, with programs in place of the fuzzers."""

import json
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import owned  # noqa: E402

pytestmark = pytest.mark.ci

FUZZ = pathlib.Path(__file__).resolve().parents[2] / "harness" / "tools" / "fuzz.py"
# Does what is asked for, or fails.
TARGET = """#!/bin/sh
echo "$@" >>"$0.calls"
for word; do case $word in -runs=*) echo "stat::number_of_executed_units: ${word#-runs=}" >&2; esac; done
exit %d
"""


@pytest.fixture
def build(tmp_path):
    for name in ("a", "b"):
        make(tmp_path, name)
    return tmp_path


def make(folder, name, code=0):
    (folder / f"fuzz_{name}").write_text(TARGET % code)
    (folder / f"fuzz_{name}").chmod(0o755)


def fuzz(build, *arguments):
    return subprocess.run([FUZZ, *arguments, build], capture_output=True, text=True, check=False)


def calls(build, name):
    return [line.split() for line in (build / f"fuzz_{name}.calls").read_text().splitlines()]


def test_all_targets_together_run_as_often_as_asked_for(build):
    done = fuzz(build, "--executions", "6M")
    assert done.returncode == 0, done.stderr
    for name in ("a", "b"):
        assert json.loads((build / "fuzz" / f"{name}.json").read_text())["executions"] == 3_000_000
        seeds = [call[1] for call in calls(build, name)]
        assert len(seeds) == len(set(seeds)) == 2, "each part has a seed of its own"
    assert "6.0 of 6.0 million executions" in done.stdout


def test_the_next_call_goes_on(build):
    fuzz(build, "--executions", "2M")
    fuzz(build, "--executions", "3M")
    assert [call[0] for call in calls(build, "a")] == ["-runs=1000000", "-runs=500000"]
    before = calls(build, "a")
    assert fuzz(build, "--executions", "3M").returncode == 0
    assert calls(build, "a") == before, "nothing is left to do"


def test_another_program_begins_anew(build):
    fuzz(build, "--executions", "2M")
    with open(build / "fuzz_a", "a", encoding="utf-8") as program:
        program.write("# changed\n")
    fuzz(build, "--executions", "2M")
    assert len(calls(build, "a")) == 2
    assert len(calls(build, "b")) == 1


def test_a_fault_stops_it_and_says_where(build):
    make(build, "b", code=77)
    done = fuzz(build, "--executions", "2M", "--jobs", "1")
    assert done.returncode == 1
    assert "fuzz_b ended with 77" in done.stderr
    assert not (build / "fuzz" / "b.json").exists(), "what failed is not counted"


@pytest.mark.parametrize("how", (signal.SIGINT, signal.SIGTERM))
def test_interrupted_it_ends_with_its_targets(build, how):
    (build / "fuzz_a").write_text("#!/bin/sh\necho $$ >$0.pid.new; mv $0.pid.new $0.pid; exec sleep 1000\n")
    with subprocess.Popen([FUZZ, "--targets", "a", build], stderr=subprocess.PIPE, text=True,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) as process:
        owned.wait_for((build / "fuzz_a.pid").exists, "the target did not start")
        process.send_signal(how)
        assert "interrupted; the next call goes on" in process.communicate()[1]
    assert process.returncode == 1
    target = int((build / "fuzz_a.pid").read_text())
    owned.wait_for(lambda: not owned.alive(target), "the target lives on")


# Finds one input.  Asked for the fewest, gives those that are there.
FINDER = """#!/bin/sh
for folder; do :; done
case "$*" in
*-set_cover_merge=1*)
    small=$(for word; do case $word in *.small) echo $word;; esac; done)
    cp $folder/* $small 2>/dev/null || :
    ;;
*)
    %s
    echo stat::number_of_executed_units: 1000000 >&2
    ;;
esac
"""


def test_what_was_kept_is_run_first_and_nothing_is_kept_of_nothing(build, tmp_path):
    # A tree of its own: fuzz.py keeps beside itself.
    tree = tmp_path / "tree"
    own = tree / "harness/tools/fuzz.py"
    own.parent.mkdir(parents=True)
    shutil.copy(FUZZ, own)
    corpus = tree / "tests/fuzz/corpus"
    corpus.parent.mkdir(parents=True)
    for name, found in (("a", "echo found >$folder/input"), ("b", ":")):
        (build / f"fuzz_{name}").write_text(FINDER % found)
    command = [own, "--executions", "2M", "--keep", build]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert "kept 1 inputs" in done.stdout and "kept 0 inputs, 0 bytes" in done.stdout
    assert [file.name for file in corpus.iterdir()] == ["a.zip"]
    # Another build folder begins with them.
    other = tmp_path / "other"
    other.mkdir()
    make(other, "a")
    subprocess.run([own, "--executions", "1k", other], capture_output=True, check=True)
    assert (other / "fuzz/a/input").read_text() == "found\n"


def test_mistakes_are_named(build, tmp_path):
    assert '"5x" is no number of executions' in fuzz(build, "--executions", "5x").stderr
    assert "--targets: no c, there are a, b" in fuzz(build, "--targets", "c").stderr
    (tmp_path / "empty").mkdir()
    done = fuzz(tmp_path / "empty")
    assert done.returncode == 2 and "has no fuzz targets: run `make tools`" in done.stderr
