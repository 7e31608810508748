# SPDX-License-Identifier: Apache-2.0
"""`make in-tree`: where the modules go in a kernel tree, twice, and what is no kernel tree. `make in-tree-test` builds them there."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUT = ROOT / "kernel" / "in-tree" / "put.sh"
ALGORITHMS = {file.stem[len("tcp_"):] for file in (ROOT / "kernel").glob("tcp_*.c")}


def put(tree):
    return subprocess.run([PUT, tree], capture_output=True, text=True)


@pytest.fixture
def tree(tmp_path):
    """What put.sh looks at in a kernel tree."""
    files = {
        "Makefile": "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\n", "Kbuild": "", "Kconfig": "", "net/ipv4/tcp_cong.c": "",
        "net/ipv4/Makefile": "obj-y := tcp_cong.o\n",
        "net/ipv4/Kconfig": 'if TCP_CONG_ADVANCED\n\nconfig TCP_CONG_BBR\n\ttristate\n\nchoice\n\tprompt "Default"\nendchoice\n\nendif\n',
        "Documentation/networking/index.rst": "   dctcp\n   dns_resolver\n   driver\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_sources_kconfig_makefile_and_page_are_put_and_hooked_in(tree):
    done = put(tree)
    assert done.returncode == 0, done.stderr
    folder = tree / "net/ipv4/delaycc"
    assert {file.stem for file in folder.glob("tcp_*.c")} == {f"tcp_{name}" for name in ALGORITHMS}
    for name in ("core/dcc_oscar.h", "core/oscar/paper.h", "glue/delaycc_main.c", "count/delaycc_count.c", "kunit/dcc_core_kunit.c", "Kbuild"):
        assert (folder / name).read_bytes() == (ROOT / "kernel" / name).read_bytes()
    assert (folder / "VERSION").read_text() == (ROOT / "VERSION").read_text() and not (folder / "VERSION").is_symlink()
    symbols = {line.split()[1] for line in (folder / "Kconfig").read_text().splitlines() if line.startswith("config ")}
    assert symbols == {f"TCP_CONG_{name.upper()}" for name in ALGORITHMS} | {"DELAYCC", "DELAYCC_COUNT", "DELAYCC_KUNIT_TEST"}
    kconfig = (tree / "net/ipv4/Kconfig").read_text().splitlines()
    assert kconfig.index('source "net/ipv4/delaycc/Kconfig"') == kconfig.index("choice") - 1
    assert (tree / "net/ipv4/Makefile").read_text().splitlines()[-1] == "obj-y += delaycc/"
    assert (tree / "Documentation/networking/index.rst").read_text() == "   dctcp\n   delaycc\n   dns_resolver\n   driver\n"
    assert (tree / "Documentation/networking/delaycc.rst").exists()


def test_a_second_time_changes_nothing_but_what_is_new_here(tree):
    assert put(tree).returncode == 0

    def state():
        return {str(file): (file.read_bytes(), file.stat().st_mtime_ns) for file in tree.rglob("*")
                if file.is_file() and file.name != ".kunitconfig"}
    first = state()
    assert put(tree).returncode == 0
    assert state() == first
    (tree / "net/ipv4/delaycc/tcp_gone.c").write_text("")
    (tree / "net/ipv4/delaycc/tcp_oscar.mod.c").write_text("of a build")
    (tree / "net/ipv4/delaycc/tcp_oscar.c").write_text("old")
    assert put(tree).returncode == 0
    assert not (tree / "net/ipv4/delaycc/tcp_gone.c").exists()
    assert (tree / "net/ipv4/delaycc/tcp_oscar.mod.c").exists()
    assert (tree / "net/ipv4/delaycc/tcp_oscar.c").read_bytes() == (ROOT / "kernel/tcp_oscar.c").read_bytes()


def test_what_is_no_kernel_tree_is_refused_and_left_alone(tree, tmp_path_factory):
    empty = tmp_path_factory.mktemp("empty")
    for folder, message in ((empty / "none", "no such folder"), (empty, "no kernel tree there (no Kbuild)")):
        done = put(folder)
        assert done.returncode == 1
        assert message in done.stderr
    (tree / "Makefile").write_text("VERSION = 5\nPATCHLEVEL = 10\n")
    done = put(tree)
    assert done.returncode == 1
    assert "Linux 5.10; delaycc builds for 6.1 to 7.3" in done.stderr
    assert not (tree / "net/ipv4/delaycc").exists()
    assert list(empty.iterdir()) == []


def test_make_says_what_it_needs():
    done = subprocess.run(["make", "-s", "-C", ROOT, "in-tree"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "say where: TREE=DIR" in done.stderr
