# SPDX-License-Identifier: Apache-2.0
"""harness/tools/packages.txt: what `make run` compiles and links comes from the packages of its set alone."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("DELAYCC_BUILD", ROOT / "build")).resolve()
SETS = ("lab", "run")
# What the command, the runner of the lab and that of hosts are made of; tests have folders of their own.
FOLDERS = ("user", "harness", "kernel")

pytestmark = [
    pytest.mark.skipif(not shutil.which("dpkg-query") or not shutil.which("apt-cache"), reason="this is not Debian"),
    pytest.mark.skipif(not (BUILD / "delaycc").exists(), reason="build/delaycc is not built: run make"),
]


def listed(sets):
    for line in (ROOT / "harness/tools/packages.txt").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words and not line.startswith("#") and words[1] in sets:
            yield words[0]


def with_dependencies(packages):
    """What apt installs for them: their dependencies, without recommendations, of what is installed here."""
    done = subprocess.run(["apt-cache", "depends", "--recurse", "--installed", "--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks",
                           "--no-replaces", "--no-enhances", *packages], stdout=subprocess.PIPE, text=True, check=True)
    return {line.split(":")[0] for line in done.stdout.splitlines() if not line.startswith((" ", "|", "<"))}


def essential():
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Essential} ${Priority}\n"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {line.split()[0] for line in shown.splitlines() if line.split()[1] == "yes" or line.split()[-1] == "required"}


def read_by_the_compiler():
    """Files outside of the project that the compiler and the linker have read."""
    files = set()
    for folder in FOLDERS:
        for listing in (BUILD / folder).rglob("*.d"):
            files.update(re.findall(r"/usr/(?:include|lib)/\S+", listing.read_text(encoding="utf-8", errors="replace")))
        for link in (BUILD / folder).rglob("link.txt"):
            files.update(re.findall(r"/usr/lib/\S+\.(?:so|a)\b\S*", link.read_text(encoding="utf-8")))
    return files


def owners(files):
    """{file: package} by dpkg's own lists."""
    found = {}
    for listing in pathlib.Path("/var/lib/dpkg/info").glob("*.list"):
        for file in files.intersection(listing.read_text(encoding="utf-8").splitlines()):
            found[file] = listing.stem.split(":")[0]
    return found


def test_what_make_run_compiles_and_links_comes_from_its_own_packages():
    files = read_by_the_compiler()
    assert any("CLI" in file for file in files) and any("libbpf" in file for file in files), "the build's lists of dependencies were not found"
    allowed = with_dependencies(listed(SETS)) | essential()
    strangers = {}
    real = {file: os.path.realpath(file) for file in files}
    owner = owners(files | set(real.values()))
    for file in files:
        package = owner.get(file) or owner.get(real[file])
        if package and package not in allowed:
            strangers.setdefault(package, file)
    assert not strangers, f"packages.txt has no such package in the sets {SETS}: {strangers}"


def test_each_package_is_listed_once_in_a_set_that_setup_knows():
    names = list(listed(("lab", "run", "test", "check")))
    assert sorted(names) == sorted(set(names))
    lines = (ROOT / "harness/tools/packages.txt").read_text(encoding="utf-8").splitlines()
    assert len(names) == sum(1 for line in lines if line.strip() and not line.startswith("#"))
