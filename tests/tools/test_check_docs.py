# SPDX-License-Identifier: Apache-2.0
"""harness/tools/check_docs.py: dead references to documentation are found, right ones are left alone."""

import pathlib
import subprocess
import sys

import pytest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "harness" / "tools" / "check_docs.py"
INDEX = "# Index\n[a page](door/page.md)\n"


@pytest.fixture
def tree(tmp_path):
    """A function that makes a repository of the given files and says what the check prints."""
    def check(**files):
        for name, text in {"docs/index.md": INDEX, "docs/door/page.md": "# A page\n", **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
        subprocess.run(["git", "-C", tmp_path, "add", "-A"], check=True)
        done = subprocess.run([sys.executable, CHECK, tmp_path], capture_output=True, text=True)
        assert done.returncode == (1 if done.stdout else 0), done.stderr
        return done.stdout.splitlines()
    return check


def test_links_to_files_folders_headings_and_other_sites_are_left_alone(tree):
    page = "# A page\n## What it does: `x`\n[up](../index.md) [here](#what-it-does-x) [folder](..) [out](https://example.org/none.md)\n"
    assert tree(**{"docs/door/page.md": page, "README.md": "![p](docs/door/page.md) [q](docs/door/page.md#what-it-does-x)\n"}) == []


def test_a_dead_link_is_named_with_file_and_line(tree):
    assert tree(**{"README.md": "# R\n\n[gone](docs/gone.md)\n"}) == ["README.md:3: no file docs/gone.md", "README.md:3: dead link docs/gone.md"]


def test_a_link_is_relative_to_its_own_file(tree):
    assert tree(**{"docs/door/page.md": "[index](index.md)\n"}) == ["docs/door/page.md:1: dead link index.md"]


def test_a_dead_anchor_is_found(tree):
    assert tree(**{"README.md": "[x](docs/door/page.md#b)\n"}) == ["README.md:1: no heading #b in docs/door/page.md"]


def test_links_in_code_are_not_links(tree):
    assert tree(**{"README.md": "`[x](gone)`\n```\n[y](gone)\n```\n"}) == []


def test_a_comment_that_names_a_page_that_is_gone_is_found(tree):
    assert tree(**{"kernel/a.c": "/* see docs/gone.md */\n", "b.py": "# docs/door/page.md\n"}) == ["kernel/a.c:1: no file docs/gone.md"]


def test_a_source_file_that_a_page_names_has_to_be_there(tree):
    page = "`kernel/a.c`, kernel/tcp_NAME.c, `bpf/<name>.bpf.c`, `harness/*.py`\n"
    assert tree(**{"kernel/a.c": "", "docs/door/page.md": page}) == []
    assert tree(**{"docs/door/page.md": page + "`kernel/b.c`\n"}) == ["docs/door/page.md:2: no file kernel/b.c"]


def test_a_page_may_name_the_files_whose_text_it_has(tree):
    assert tree(**{"docs/door/page.md": "kernel/b.c:\n```c kernel/b.c\nint b;\n```\n"}) == []


def test_a_function_has_to_be_in_the_file_that_a_page_names_for_it(tree):
    page = "`f()` (`kernel/a.c`) and `Run::run()` (`user/a.cc`)\n"
    assert tree(**{"kernel/a.c": "int f(void);\n", "user/a.cc": "void Run::run() {}\n", "docs/door/page.md": page}) == []
    assert tree(**{"kernel/a.c": "int g(void);\nint of(void);\n", "docs/door/page.md": page}) == ["docs/door/page.md:1: no f in kernel/a.c"]


def test_a_page_that_the_index_does_not_name_is_found(tree):
    assert tree(**{"docs/door/hidden.md": "# H\n"}) == ["docs/door/hidden.md: docs/index.md has no link to this page"]
