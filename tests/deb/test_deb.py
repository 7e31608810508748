# SPDX-License-Identifier: Apache-2.0
"""The packages of `make deb` in a Debian chroot: install, use, a newer kernel, upgrade, remove, purge.

`make deb-test` builds the packages and runs this; it needs root, mmdebstrap and Debian's mirror, and takes minutes. The chroot of
Debian 12 with DKMS and its kernel headers is kept in ~/.cache/delaycc/deb; remove it to get a newer one.
"""

import os
import pathlib
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.ci

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("DELAYCC_BUILD", ROOT / "build")).resolve()
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "delaycc" / "deb"
VERSION = (ROOT / "VERSION").read_text().strip()
MODULES = {"delaycc", "delaycc_count"} | {file.stem for file in (ROOT / "kernel").glob("tcp_*.c")}
NEWER = "9.9.9"
MIRROR = ["deb http://deb.debian.org/debian bookworm main", "deb http://deb.debian.org/debian-security bookworm-security main"]
NEXT_KERNEL = "linux-headers-6.12-amd64"

# Mounts of this namespace end with the last process in it, and so do the processes with the first of them.
ENTER = """
root=$1; shift
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"
mount --bind /dev "$root/dev"
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"
"""


class Chroot:
    def __init__(self, root):
        self.root = root

    def try_to(self, *command):
        return subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "enter", self.root, *command],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=1800)

    def run(self, *command):
        done = self.try_to(*command)
        assert done.returncode == 0, f"{command}\n{done.stdout[-5000:]}\n{done.stderr[-5000:]}"
        return done.stdout

    def install(self, *packages):
        return self.run("apt-get", "install", "-q", "-y", "--no-install-recommends", *packages)

    def put(self, file):
        shutil.copy(file, self.root / "root")
        return f"/root/{file.name}"

    def dkms(self):
        """{(version, kernel)} of what is installed."""
        lines = self.run("dkms", "status", "delaycc").splitlines()
        assert all(line.endswith(": installed") for line in lines), lines
        return {(line.split(",")[0].split("/")[1], line.split(", ")[1]) for line in lines}

    def kernels(self):
        # The link is an absolute one, which leads elsewhere from here.
        return {folder.name for folder in (self.root / "lib/modules").iterdir() if (folder / "build").is_symlink()}

    def modules(self, kernel):
        """Those of DKMS: a package of headers may bring the kernel and all of its own modules."""
        return {file.name.split(".ko")[0] for file in (self.root / "lib/modules" / kernel / "updates").rglob("*.ko*")}

    def left(self):
        """Files that carry our name, outside of what belongs to apt and the test."""
        names = self.run("find", "/etc", "/lib", "/usr", "/var/lib", "/opt", "-iname", "*delaycc*").splitlines()
        return [name for name in names if not name.startswith("/var/lib/apt/")]


@pytest.fixture(scope="module")
def packages():
    """{name: file}"""
    found = {file.name.split("_")[0]: file for file in (BUILD / "deb").glob("*.deb")}
    if not {"delaycc-dkms", "delaycc-tools"} <= set(found):
        pytest.skip("the packages are not built: run make deb")
    return found


@pytest.fixture(scope="module")
def chroot(tmp_path_factory):
    if os.geteuid():
        pytest.skip("a chroot needs root")
    if not shutil.which("mmdebstrap"):
        pytest.skip("mmdebstrap is not installed (Debian: mmdebstrap)")
    base = CACHE / "bookworm.tar"
    if not base.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        partial = CACHE / f"bookworm.{os.getpid()}.tar"
        done = subprocess.run(["mmdebstrap", "--quiet", "--variant=apt", "--include=dkms,linux-headers-amd64,man-db,bash-completion", "bookworm",
                               partial, *MIRROR], capture_output=True, text=True)
        if done.returncode:
            partial.unlink(missing_ok=True)
            pytest.skip(f"mmdebstrap cannot make a chroot here: {done.stderr[-500:]}")
        partial.rename(base)
    root = tmp_path_factory.mktemp("debian")
    subprocess.run(["tar", "-xf", base, "-C", root], check=True)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    made = Chroot(root)
    made.run("apt-get", "update", "-q")
    yield made
    shutil.rmtree(root)


@pytest.fixture(scope="module")
def newer(packages, tmp_path_factory):
    """The same packages as version NEWER: the sources packed anew, and the command's package relabelled."""
    folder = tmp_path_factory.mktemp("newer")
    tree = folder / "tree"
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True).stdout.splitlines()
    for name in listed:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name, follow_symlinks=False)
    (tree / "VERSION").write_text(NEWER + "\n")
    done = subprocess.run([tree / "packaging/deb.sh", folder / "out", "--build=all"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    unpacked = folder / "tools"
    subprocess.run(["dpkg-deb", "-R", packages["delaycc-tools"], unpacked], check=True)
    control = unpacked / "DEBIAN/control"
    control.write_text(control.read_text().replace(f"Version: {VERSION.replace('-', '~')}\n", f"Version: {NEWER}\n"))
    subprocess.run(["dpkg-deb", "-b", unpacked, folder / f"delaycc-tools_{NEWER}.deb"], check=True, capture_output=True)
    return tree, [folder / f"out/delaycc-dkms_{NEWER}_all.deb", folder / f"delaycc-tools_{NEWER}.deb"]


def test_packages_install_serve_a_newer_kernel_upgrade_and_leave_nothing(chroot, packages, newer):
    (old_kernel,) = chroot.kernels()
    assert chroot.left() == []

    # Install: the modules for the kernel whose headers are there.
    chroot.install(*(chroot.put(packages[name]) for name in ("delaycc-dkms", "delaycc-tools")))
    assert chroot.dkms() == {(VERSION, old_kernel)}
    assert chroot.modules(old_kernel) == MODULES
    shown = chroot.run("modprobe", "-S", old_kernel, "--show-depends", "tcp_oscar")
    assert [line.split("/")[-1].strip() for line in shown.splitlines()] == ["delaycc.ko", "tcp_oscar.ko"]
    assert chroot.run("modinfo", "-k", old_kernel, "-F", "version", "tcp_sqcc").strip() == VERSION

    # The command, as a user without privileges and far from any source tree.
    def delaycc(*arguments):
        return chroot.try_to("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "delaycc", *arguments)
    assert delaycc("--version").stdout == f"delaycc {VERSION}\n"
    assert {line.split()[0] for line in delaycc("list").stdout.splitlines()} == {
        file.stem for file in (ROOT / "harness/scenarios").glob("*.toml")}
    assert delaycc("validate", "oscar-fig07").stdout.startswith("/usr/share/delaycc/scenarios/oscar-fig07.toml: ok")
    doctor = delaycc("doctor")
    assert doctor.returncode == 1
    assert "no lab kernel at /usr/libexec/delaycc/lab/linux" in doctor.stdout
    assert chroot.run("man", "-w", "delaycc").strip() == "/usr/share/man/man1/delaycc.1.gz"
    completed = chroot.run("bash", "-c", "source /usr/share/bash-completion/bash_completion; _completion_loader delaycc; complete -p delaycc")
    assert "_delaycc" in completed
    for package in ("delaycc-dkms", "delaycc-tools"):
        for name in chroot.run("dpkg", "-L", package).split():
            file = pathlib.Path(f"{chroot.root}{name}")
            assert not file.is_file() or str(ROOT).encode() not in file.read_bytes(), f"{name} names the tree of the build"

    # A newer kernel: its package has DKMS build the modules.
    chroot.install(NEXT_KERNEL)
    (new_kernel,) = chroot.kernels() - {old_kernel}
    assert chroot.dkms() == {(VERSION, old_kernel), (VERSION, new_kernel)}
    assert chroot.modules(new_kernel) == MODULES

    # A newer version: nothing of the old one stays, and the newest kernel has it.
    tree, debs = newer
    chroot.install(*map(chroot.put, debs))
    assert (NEWER, new_kernel) in chroot.dkms()
    assert {version for version, _ in chroot.dkms()} == {NEWER}
    assert chroot.modules(new_kernel) == MODULES
    assert chroot.run("modinfo", "-k", new_kernel, "-F", "version", "delaycc").strip() == NEWER
    assert not [name for name in chroot.left() if VERSION in name]

    # The sources of the package are not for `make dkms` to replace.
    shutil.copytree(tree, chroot.root / "root/tree", symlinks=True)
    refused = chroot.try_to("/root/tree/packaging/dkms.sh", "install")
    assert refused.returncode == 1
    assert "belongs to the package delaycc-dkms" in refused.stderr

    # Remove and purge.
    chroot.run("apt-get", "remove", "-q", "-y", "delaycc-dkms", "delaycc-tools")
    assert chroot.dkms() == set()
    assert chroot.modules(old_kernel) | chroot.modules(new_kernel) == set()
    # apt no longer knows packages that no archive has.
    chroot.run("dpkg", "--purge", "delaycc-dkms", "delaycc-tools")
    assert chroot.left() == []

    # `make dkms` and `make dkms-remove`.
    chroot.run("env", f"KERNEL={old_kernel}", "/root/tree/packaging/dkms.sh", "install")
    assert chroot.dkms() == {(NEWER, old_kernel)}
    assert chroot.modules(old_kernel) == MODULES
    # The package over it, an older version; `make dkms-remove` leaves that to apt.
    chroot.install(chroot.put(packages["delaycc-dkms"]))
    assert {version for version, _ in chroot.dkms()} == {VERSION}
    assert chroot.run("modinfo", "-k", new_kernel, "-F", "version", "delaycc").strip() == VERSION
    refused = chroot.try_to("/root/tree/packaging/dkms.sh", "remove")
    assert refused.returncode == 1
    assert "belongs to the package delaycc-dkms" in refused.stderr
    chroot.run("dpkg", "--purge", "delaycc-dkms")
    assert chroot.left() == []
    # And a version of `make dkms` over another one.
    chroot.run("env", f"KERNEL={old_kernel}", "/root/tree/packaging/dkms.sh", "install")
    chroot.run("/root/tree/packaging/dkms.sh", "remove")
    assert chroot.dkms() == set()
    assert chroot.left() == []
