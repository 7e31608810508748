# SPDX-License-Identifier: Apache-2.0
"""`make install` below a folder of its own: the files, the installed command without its source tree, and `make uninstall`."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("DELAYCC_BUILD", ROOT / "build")).resolve()
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
PREFIX = "/opt/delay"

pytestmark = [pytest.mark.ci, pytest.mark.skipif(not (BUILD / "delaycc").exists(), reason="build/delaycc is not built: run make")]


def install(what, destdir, prefix=PREFIX):
    """What the Makefile's targets do once everything is built; other tests use the build meanwhile."""
    return subprocess.run([ROOT / "packaging" / "install.sh", what], capture_output=True, text=True,
                          env={**os.environ, "BUILD": str(BUILD), "DESTDIR": str(destdir), "PREFIX": prefix})


def files_below(folder):
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if not file.is_dir()}


def wanted_files():
    names = {"bin/delaycc", "libexec/delaycc/delaycc-runner", "libexec/delaycc/delaycc-host-runner", "share/man/man1/delaycc.1",
             "share/bash-completion/completions/delaycc",
             "share/delaycc/installed"}
    names |= {f"share/delaycc/scenarios/{name}" for name in files_below(ROOT / "harness" / "scenarios")}
    names |= {f"share/delaycc/mininet/{file.relative_to(ROOT / 'mininet')}" for file in (ROOT / "mininet").rglob("*.py")}
    names |= {f"share/doc/delaycc/docs/{name}" for name in files_below(ROOT / "docs")}
    names |= {f"share/doc/delaycc/examples/{name}" for name in files_below(ROOT / "packaging" / "examples")}
    if list((BUILD / "bpf").glob("*.bpf.o")):
        names |= {f"lib/delaycc/bpf/{file.stem}.o" for file in (ROOT / "bpf").glob("*.bpf.c")}
    return names


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """(DESTDIR, what runs the installed command in a folder that has nothing to do with the source tree)"""
    destdir = tmp_path_factory.mktemp("root")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    done = install("tools", destdir)
    assert done.returncode == 0, done.stderr
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DELAYCC_")}

    def run(*arguments):
        return subprocess.run([f"{destdir}{PREFIX}/bin/delaycc", *map(str, arguments)], capture_output=True, text=True, cwd=elsewhere,
                              env=environment)
    return destdir, run


def test_exactly_the_listed_files_are_installed(installed):
    destdir, _ = installed
    prefix = pathlib.Path(f"{destdir}{PREFIX}")
    assert files_below(prefix) == wanted_files()
    assert files_below(destdir) == {f"{PREFIX[1:]}/{name}" for name in wanted_files()}
    assert (prefix / "share/delaycc/installed").read_text().splitlines() == sorted(f"{PREFIX}/{name}" for name in wanted_files())
    programs = {"bin/delaycc", "libexec/delaycc/delaycc-runner", "libexec/delaycc/delaycc-host-runner",
                "share/delaycc/mininet/delaycc_mininet/init.py"}
    programs |= {f"share/delaycc/mininet/examples/{file.name}" for file in (ROOT / "mininet" / "examples").glob("*.py")}
    assert {name for name in wanted_files() if os.access(prefix / name, os.X_OK)} == programs


def test_the_installed_command_uses_installed_scenarios_from_any_folder(installed):
    destdir, run = installed
    assert run("--version").stdout.startswith(f"delaycc {(ROOT / 'VERSION').read_text().strip()}")
    listed = run("list")
    assert listed.returncode == 0, listed.stderr
    assert {line.split()[0] for line in listed.stdout.splitlines()} == {
        file.stem for file in (ROOT / "harness" / "scenarios").glob("*.toml")}
    checked = run("validate", "oscar-fig07")
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.startswith(f"{destdir}{PREFIX}/share/delaycc/scenarios/oscar-fig07.toml: ok")


def test_without_a_lab_the_installed_command_says_how_to_get_one(installed):
    destdir, run = installed
    wanted = (f"no lab kernel at {destdir}{PREFIX}/libexec/delaycc/lab/linux; build it with \"make lab\" in delaycc's source tree and install it "
              "with \"make install-lab\", or name its folder in DELAYCC_LAB")
    doctor = run("doctor")
    assert doctor.returncode == 1
    assert wanted in doctor.stdout
    failed = run("run", "oscar-single")
    assert failed.returncode == 1
    assert wanted in failed.stderr


def test_with_an_installed_lab_it_runs_a_scenario_until_all_is_uninstalled(tmp_path):
    if not (BUILD / "lab" / "linux").exists():
        pytest.skip("the lab is not built: run make lab")
    destdir = tmp_path / "root"
    for what in ("tools", "lab", "tools"):  # the second time as an upgrade, which leaves the lab alone
        done = install(what, destdir)
        assert done.returncode == 0, done.stderr
    lab = {"lab/linux"} | {f"lab/{file.name}" for file in (BUILD / "lab").glob("*.ko")}
    assert files_below(pathlib.Path(f"{destdir}{PREFIX}")) == wanted_files() | {f"libexec/delaycc/{name}" for name in lab}
    done = subprocess.run([f"{destdir}{PREFIX}/bin/delaycc", "run", "oscar-single", "--trials", "1", "--cc", "oscar", "--json"],
                          capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["algorithms"]["oscar"]["goodput_gbps"]["mean"] > 90
    assert (tmp_path / "results" / "oscar-single" / "report.html").stat().st_size > 100000
    done = install("uninstall", destdir)
    assert done.returncode == 0, done.stderr
    assert files_below(destdir) == set()
    assert not [folder for folder in destdir.rglob("*delaycc*")]
    again = install("uninstall", destdir)
    assert again.returncode == 1
    assert "nothing to remove" in again.stderr


def test_all_users_may_read_it_whatever_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        done = install("tools", tmp_path / "root")
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr
    installed = [file for file in (tmp_path / "root").rglob("*") if not file.is_symlink()]
    assert not [file for file in installed if file.is_dir() and file.stat().st_mode & 0o777 != 0o755]
    assert not [file for file in installed if not file.stat().st_mode & 0o004]


def test_an_upgrade_removes_what_the_new_version_no_longer_has(tmp_path):
    assert install("tools", tmp_path).returncode == 0
    prefix = pathlib.Path(f"{tmp_path}{PREFIX}")
    old = prefix / "share/delaycc/old/gone.toml"
    old.parent.mkdir()
    old.touch()
    users = prefix / "share/delaycc/scenarios/mine.toml"
    users.touch()
    with open(prefix / "share/delaycc/installed", "a") as listed:
        listed.write(f"{PREFIX}/share/delaycc/old/gone.toml\n/etc/passwd\n")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").touch()
    assert install("tools", tmp_path).returncode == 0
    assert not old.parent.exists()
    assert users.exists() and (tmp_path / "etc/passwd").exists(), "what was not installed stays"
    assert install("uninstall", tmp_path).returncode == 0
    assert files_below(prefix) == {"share/delaycc/scenarios/mine.toml"}


def test_a_relative_prefix_is_refused(tmp_path):
    done = install("tools", tmp_path, prefix="usr")
    assert done.returncode == 1
    assert "PREFIX=usr: needs an absolute path" in done.stderr
    assert files_below(tmp_path) == set()


def test_modules_are_installed_for_their_kernel_and_removed(tmp_path):
    built = BUILD / "modules" / "lab"
    if not (built / "delaycc.ko").exists():
        pytest.skip("the lab's modules are not built: run make lab")
    # -o: other tests use these modules, so nothing is built here.
    done = subprocess.run(["make", "-s", "-o", "modules", "-C", ROOT / "kernel", f"KDIR={BUILD}/lab-kernel", "ARCH=um", "TAG=lab",
                           f"OUT={built}", f"DESTDIR={tmp_path}", "install"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    release = (BUILD / "lab-kernel" / "include/config/kernel.release").read_text().strip()
    folder = tmp_path / "lib/modules" / release
    modules = {file.name for file in built.glob("*.ko")}
    assert files_below(tmp_path) == {f"lib/modules/{release}/updates/delaycc/{name}" for name in modules}
    if shutil.which("depmod", path=PATH):
        (folder / "modules.order").touch()
        (folder / "modules.builtin").touch()
        subprocess.run(["depmod", "-b", tmp_path, release], check=True, env={**os.environ, "PATH": PATH})
        shown = subprocess.run(["modprobe", "-d", tmp_path, "-S", release, "--show-depends", "tcp_patched_timely"], capture_output=True,
                               text=True, check=True, env={**os.environ, "PATH": PATH}).stdout
        assert [pathlib.Path(line.split()[1]).name for line in shown.splitlines()] == ["delaycc.ko", "tcp_timely.ko"]
    done = install("uninstall", tmp_path)
    assert done.returncode == 0, done.stderr
    assert not (folder / "updates").exists()
