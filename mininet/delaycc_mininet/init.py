#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The init of a lab that runs one Mininet script: mounts, modules, then the script; what it leaves goes to the host's folder DCC_DIR.

DCC_DIR/job.json: {"script", "arguments", "directory", "writable", "environment", "cc", "pcap"}; paths are absolute, the environment is the
caller's, what is written in the folders "writable" stays on the host. DCC_MODULES: folder of the lab's modules.
Written: output.txt (what the script prints), pcap/ (if asked for), ports.json (link ends that were logged), ports.bin (their log), refused.txt
(what a script asked of tc, and of programs that the lab does not have, and did not get), left-in-tmp/ and left-in-home/, status ({"code"}), or
error.txt.
"""

import json
import os
import pathlib
import shutil
import stat
import sys
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from delaycc_mininet import labnet, qdiscs  # noqa: E402

OUT = pathlib.Path("/run/delaycc")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MS_RDONLY, MS_BIND, MS_REC, MS_PRIVATE = 1, 4096, 16384, 1 << 18
PR_SET_TIMERSLACK, RB_POWER_OFF, ENOENT = 29, 0x4321FEDC, 2
# For programs' own files: /tmp is the host's where the command was started there.
SCRATCH = "/dev/shm"
HOME = SCRATCH + "/home"
# What a script leaves in these folders is kept.
KEPT = {"/tmp": "left-in-tmp", HOME: "left-in-home"}
HOSTNAME = "lab"
# Of every run, whatever the caller's is: its output is the same each time, and its files have a place.
OWN_ENVIRONMENT = {"HOME": HOME, "TMPDIR": SCRATCH, "USER": "root", "LOGNAME": "root", "TERM": "dumb", "LC_ALL": "C.UTF-8",
                   "PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
# Hidden by what is mounted on them.
COVERED = ("/tmp", "/run", "/dev", "/proc", "/sys", "/var/tmp", "/var/log")
# Instead of the host's tc, under each of its names. Without Mininet, which it would read each time.
TC = """#!/usr/bin/python3 -ISE
import sys, types
sys.pycache_prefix, sys.dont_write_bytecode = {folder!r} + "/pyc", False
package = sys.modules["delaycc_mininet"] = types.ModuleType("delaycc_mininet")
package.__path__ = [{package!r}]
from delaycc_mininet import tc
sys.exit(tc.main(sys.argv[1:]))
"""
PROGRAMS_FOLDER = qdiscs.FOLDER + "/bin"
# Programs whose work the lab has no place for, and why.
OF_SWITCHES, OF_FILTERS = "switches of the lab are Linux bridges", "the lab has no filters of packets"
PROGRAMS = {"ovs-vsctl": OF_SWITCHES, "ovs-ofctl": OF_SWITCHES, "ovs-appctl": OF_SWITCHES, "ovs-dpctl": OF_SWITCHES,
            "iptables": OF_FILTERS, "ip6tables": OF_FILTERS, "nft": OF_FILTERS}
# An error to who calls it; what only looks or clears is not worth the command's exit code.
NO_PROGRAM = """#!/bin/sh
echo "Error: {name}: {why}" >&2
case "$1" in
show | list* | dump* | get* | del* | --if-exists | flush | -L | -S | -F | -X | -Z) ;;
*) echo "{name} $*: {why}" >>{refused} ;;
esac
exit 1
"""
RUN = """
import runpy, sys
from delaycc_mininet import lab
lab.install()
lab.note_ports({ports!r})
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def load(modules):
    """Modules in any order: one whose symbols are missing waits for the others."""
    left = list(modules)
    while left:
        waiting = []
        for path in left:
            try:
                labnet.insmod(path)
            except OSError as error:
                if error.errno != ENOENT:
                    raise
                waiting.append(path)
        if len(waiting) == len(left):
            raise OSError(ENOENT, "unresolved symbols: " + ", ".join(waiting))
        left = waiting


def hostfs(where, path, flags=0):
    os.makedirs(where, exist_ok=True)
    labnet.check(labnet.libc.mount(b"hostfs", str(where).encode(), b"hostfs", flags, str(path).encode()), f"mount {path} on {where}")


def mounts(folder, writable):
    for kind, where in (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp"), ("tmpfs", "/run"),
                        ("tmpfs", "/var/tmp"), ("tmpfs", "/var/log")):
        labnet.mount(kind, where)
    for where in ("/dev/pts", SCRATCH, "/run/lock", "/run/netns"):
        os.makedirs(where, exist_ok=True)
    labnet.mount("devpts", "/dev/pts", "ptmxmode=0666")
    labnet.mount("tmpfs", SCRATCH)
    labnet.mount("tmpfs", "/sys/fs/cgroup")
    os.mkdir("/sys/fs/cgroup/net_prio")
    labnet.check(labnet.libc.mount(b"cgroup", b"/sys/fs/cgroup/net_prio", b"cgroup", 0, b"net_prio"), "mount net_prio")
    hostfs(OUT, folder)
    os.mkdir(HOME)
    devices = {path: os.stat(path).st_dev for path in KEPT}
    # Folders before those within.
    for path in sorted({*writable, str(HERE.parent)}):
        if path in writable or any(path == c or path.startswith(c + "/") for c in COVERED):
            hostfs(path, path, 0 if path in writable else MS_RDONLY)
    # As systemd has it: a mount of a node's own stays there.
    labnet.check(labnet.libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "mount / private")
    return devices


def bind(what, where):
    labnet.check(labnet.libc.mount(what.encode(), where.encode(), None, MS_BIND, None), f"mount {what} on {where}")


def replace_tc():
    """In /dev, since a node may have /run and /tmp of its own."""
    os.makedirs(qdiscs.FOLDER + "/links", exist_ok=True)
    ours = qdiscs.FOLDER + "/tc"
    labnet.write(ours, TC.format(folder=qdiscs.FOLDER, package=str(HERE)))
    os.chmod(ours, 0o755)
    names = {os.path.realpath(f"{folder}/tc") for folder in PATH.split(":") if os.path.exists(f"{folder}/tc")}
    for name in sorted(names):
        if not os.path.exists(qdiscs.REAL_TC):
            labnet.write(qdiscs.REAL_TC, "")
            bind(name, qdiscs.REAL_TC)
        bind(ours, name)


def replace_programs():
    os.makedirs(PROGRAMS_FOLDER)
    for name, why in PROGRAMS.items():
        labnet.write(f"{PROGRAMS_FOLDER}/{name}", NO_PROGRAM.format(name=name, why=why, refused=qdiscs.REFUSED))
        os.chmod(f"{PROGRAMS_FOLDER}/{name}", 0o755)


def replace_names():
    """The lab's name is one of its own, and no name server answers: who looks for one would wait for it."""
    for path, text in (("/etc/hosts", (labnet.read("/etc/hosts") if os.path.exists("/etc/hosts") else "") + f"\n127.0.1.1\t{HOSTNAME}\n"),
                       ("/etc/resolv.conf", "# The lab has no name servers.\n")):
        ours, where = qdiscs.FOLDER + "/" + os.path.basename(path), os.path.realpath(path)
        labnet.write(ours, text)
        if not os.path.exists(where) and where.startswith("/run/"):
            # A link to what is in the host's /run.
            os.makedirs(os.path.dirname(where), exist_ok=True)
            labnet.write(where, "")
        if os.path.exists(where):
            bind(ours, where)


def refused():
    """Lines: what tc was asked for and did not do. What was asked for again, and done, is not among them."""
    lines = labnet.read(qdiscs.REFUSED).splitlines() if os.path.exists(qdiscs.REFUSED) else []
    lines += [failure["line"] for state in qdiscs.states() for failure in state["failed"]]
    return "".join(f"delaycc: {line}\n" for line in lines)


def keep(devices):
    """Regular files of the lab's own folders, but for hidden ones; what is mounted there is the host's."""
    for path, device in devices.items():
        for folder, _, names in os.walk(path):
            for name in names:
                found = os.lstat(f"{folder}/{name}")
                if stat.S_ISREG(found.st_mode) and found.st_dev == device and not name.startswith("."):
                    to = OUT / KEPT[path] / os.path.relpath(folder, path)
                    os.makedirs(to, exist_ok=True)
                    shutil.copyfile(f"{folder}/{name}", to / name)


def settings(cc):
    # Linux's own buffers; by itself a kernel takes less where it has little memory.
    for name, value in (("net/core/rmem_max", "212992"), ("net/core/wmem_max", "212992"),
                        ("net/core/rmem_default", "212992"), ("net/core/wmem_default", "212992"),
                        ("net/ipv4/tcp_rmem", "4096 131072 6291456"), ("net/ipv4/tcp_wmem", "4096 16384 4194304"),
                        ("net/ipv4/tcp_mem", "4000000 4000000 4000000"), ("kernel/hostname", HOSTNAME),
                        ("net/ipv4/neigh/default/gc_thresh1", "4096"), ("net/ipv4/neigh/default/gc_thresh2", "8192"),
                        ("net/ipv4/neigh/default/gc_thresh3", "16384"), ("kernel/pty/max", "20000")):
        labnet.write("/proc/sys/" + name, value)
    if cc:
        labnet.write("/proc/sys/net/ipv4/tcp_congestion_control", cc)
    labnet.up("lo")


def run(job):
    """The script as a process of its own, since init has to wait for everybody's children."""
    given = job["environment"]
    environment = {"SHELL": "/bin/bash", **given, **OWN_ENVIRONMENT, "PWD": job["directory"], "DELAYCC_OUT": str(OUT),
                   "PATH": ":".join(filter(None, (PROGRAMS_FOLDER, given.get("PATH"), PATH))),
                   "PYTHONPATH": ":".join(filter(None, (str(HERE.parent), given.get("PYTHONPATH"))))}
    environment.pop("DELAYCC_PCAP", None)
    if job["pcap"]:
        os.mkdir(OUT / "pcap")
        environment["DELAYCC_PCAP"] = str(OUT / "pcap")
    code = RUN.format(ports=str(OUT / "ports.json"))
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            out = os.open(OUT / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(out, 1)
            os.dup2(out, 2)
            os.chdir(job["directory"])
            os.execve("/usr/bin/python3", ["python3", "-c", code, job["script"], *job["arguments"]], environment)
        finally:
            os._exit(127)
    while True:
        ended, status = os.wait()
        if ended == pid:
            return os.waitstatus_to_exitcode(status)


def main():
    folder = os.environ["DCC_DIR"]
    try:
        job = json.loads(labnet.read(folder + "/job.json"))
        load(sorted(pathlib.Path(os.environ["DCC_MODULES"]).glob("*.ko")))
        devices = mounts(folder, job["writable"])
        labnet.libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
        replace_tc()
        replace_programs()
        replace_names()
        settings(job["cc"])
        code = run(job)
        labnet.write(OUT / "refused.txt", refused())
        keep(devices)
        with open("/proc/dccport_log", "rb") as log, open(OUT / "ports.bin", "wb") as kept:
            try:
                shutil.copyfileobj(log, kept, 1 << 20)
            except OSError:
                labnet.write(OUT / "incomplete", "the log of packets ended when the lab's memory was used up (--memory)\n")
        labnet.write(OUT / "status", json.dumps({"code": code}) + "\n")
    except BaseException:  # an init that ends is a kernel panic
        if not os.path.ismount(OUT):
            labnet.mount("tmpfs", "/run")
            hostfs(OUT, folder)
        labnet.write(OUT / "error.txt", traceback.format_exc())
    labnet.libc.sync()
    labnet.libc.reboot(RB_POWER_OFF)


if __name__ == "__main__":
    main()
