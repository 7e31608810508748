# SPDX-License-Identifier: Apache-2.0
"""docs/develop/add-an-algorithm.md, followed to the letter in a copy of the tree."""

import json
import os
import re
import shutil

import pytest

import owned
from outside import BUILD, ROOT

pytestmark = pytest.mark.ci

GUIDE = ROOT / "docs" / "develop" / "add-an-algorithm.md"
BLOCKS = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
FILES = {path: text for _, path, text in BLOCKS if path}
COMMANDS = [line for language, _, text in BLOCKS if language == "sh" for line in text.replace("\\\n", "").splitlines()]
NAME = "daimd"
# The command is built anew: with a full ccache a minute of processor time, else seven.
pytestmark = pytest.mark.ci


def do(command, folder, **options):
    done = owned.run(command, cwd=folder, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A clone that has built nothing, with the guide's files; without the modules and BPF programs of the other algorithms but OSCAR."""
    copy = tmp_path_factory.mktemp("tree")
    names = do(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], ROOT).split("\0")
    left_out = re.compile(r"(kernel/tcp_(?!oscar)\w+\.c|bpf/(?!oscar)\w+\.bpf\.c|docs/.*)")
    for name in filter(None, names):
        if left_out.fullmatch(name) or not os.path.lexists(ROOT / name):
            continue
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
    for path, text in FILES.items():
        assert not (copy / path).exists()
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_text(text)
    assert not (copy / "build").exists()
    return copy


@pytest.fixture(scope="module")
def outputs(tree):
    """What the commands of the guide print."""
    # Without what a make above says to its children.
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "DELAYCC"))}
    return {command: do(["bash", "-c", command], tree, limit_s=3000, env=env) for command in COMMANDS}


def summary(tree, folder):
    return json.loads((tree / "build" / "results" / folder / "summary.json").read_text())["algorithms"]


def test_the_guide_has_the_files_that_its_table_names():
    assert set(FILES) == {f"kernel/core/dcc_{NAME}.h", f"kernel/tcp_{NAME}.c", f"bpf/{NAME}.bpf.c", f"tests/unit/dcc_{NAME}_test.cc"}


def test_a_second_build_finds_nothing_new(tree, outputs):
    modules = tree / "build" / "modules" / "lab"
    first = sorted(file.name for file in modules.glob("*.ko"))
    do(["make", "lab"], tree)
    assert sorted(file.name for file in modules.glob("*.ko")) == first == ["delaycc.ko", "delaycc_count.ko", "tcp_daimd.ko", "tcp_oscar.ko"]


def test_the_list_of_algorithms_has_it(outputs):
    listed = next(text for command, text in outputs.items() if command.endswith("list algorithms"))
    assert re.search(rf"^{NAME} +{NAME} congestion control$", listed, re.MULTILINE)


def test_a_flow_alone_fills_the_link(tree, outputs):
    figures = summary(tree, NAME)[NAME]
    assert figures["utilisation"]["mean"] > 0.95
    assert figures["drops"]["mean"] == 0


def test_four_flows_share_the_link_and_keep_the_queue_near_the_target(tree, outputs):
    figures = summary(tree, f"{NAME}-4")[NAME]
    assert figures["utilisation"]["mean"] > 0.95
    assert figures["drops"]["mean"] == 0
    assert figures["jain"]["mean"] > 0.9
    # Half a base RTT of queue at 100 Gbit/s is 75 KB.
    assert 40e3 < figures["queue_mean_bytes"]["mean"] < 90e3


def test_its_sysctl_moves_the_queue(tree, outputs):
    default, short = (summary(tree, f"{NAME}-4{suffix}")[NAME]["queue_mean_bytes"]["mean"] for suffix in ("", "-2us"))
    assert short < default / 2


def test_its_module_is_like_the_others(tree, outputs):
    """DKMS would install it, too, and modinfo shows the project's version."""
    modinfo = shutil.which("modinfo", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not modinfo:
        pytest.skip("modinfo is not installed (Debian: kmod)")
    version = do([modinfo, "-F", "version", tree / "build" / "lab" / f"tcp_{NAME}.ko"], tree).strip()
    assert version == (ROOT / "VERSION").read_text().strip()
    listed = do(["bash", "-c", '. kernel/dkms.conf && echo "${BUILT_MODULE_NAME[@]}"'], tree).split()
    assert f"tcp_{NAME}" in listed


def test_its_bpf_program_builds(tree):
    missing = BUILD / "bpf_transfer.missing"
    if missing.exists():
        pytest.skip(f"BPF programs cannot be built here; missing: {missing.read_text().strip()}")
    do(["cmake", "-S", ".", "-B", "build-bpf", "-DDELAYCC_TESTS=OFF"], tree)
    do(["cmake", "--build", "build-bpf", "--target", "bpf_programs"], tree)
    assert (tree / "build-bpf" / "bpf" / f"{NAME}.bpf.o").exists()
    if os.geteuid():
        return  # loading it needs root
    environment = {**os.environ, "DELAYCC_BPF": str(tree / "build-bpf" / "bpf")}
    command = [BUILD / "delaycc"]
    do([*command, "load", NAME, "--set", "line_rate_mbps=1000", "--set", "queue_ns=7000"], tree, env=environment)
    try:
        [status] = [a for a in json.loads(do([*command, "status", "--json"], tree))["algorithms"] if a["name"] == NAME]
        assert status["settings"]["queue_ns"] == 7000
    finally:
        do([*command, "unload", NAME], tree)


def test_its_unit_tests_pass(tree):
    program = tree / "core_tests"
    do(["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", tree / "kernel" / "core", f"tests/unit/dcc_{NAME}_test.cc",
        "-o", program, "-lgtest", "-lgtest_main"], tree)
    assert "[  PASSED  ] 3 tests." in do([program], tree)


def test_its_sources_pass_the_checks_of_the_tree(tree):
    """checkpatch for the kernel's and BPF's C, clang-format for the test."""
    checkpatch = BUILD / "checkpatch" / "checkpatch.pl"
    if not checkpatch.exists():
        pytest.skip("checkpatch.pl is not unpacked: run make check")
    for name in (f"kernel/core/dcc_{NAME}.h", f"kernel/tcp_{NAME}.c", f"bpf/{NAME}.bpf.c"):
        do(["perl", checkpatch, "--no-tree", "--strict", "--terse", "--quiet", "-f", name], tree)
    if shutil.which("clang-format"):
        do(["clang-format", "--dry-run", "-Werror", f"tests/unit/dcc_{NAME}_test.cc"], tree)
