#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/operate/bpf.md: what a program costs the verifier and a processor, on Debian's kernels and on the running one, and what a
device's stamps change. Each machine's clock counts instructions (run.sh, bpf.sh): the figures repeat.

Needs root, for the running kernel's row. What the machines said is kept in build/vm-bpf; exit status 1 when one of them failed.
"""

import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "harness" / "tools")]

import owned  # noqa: E402
import page  # noqa: E402

BUILD = pathlib.Path(os.environ.get("DELAYCC_BUILD", ROOT / "build")).resolve()
WORK = BUILD / "vm-bpf"
PAGE = ROOT / "docs" / "operate" / "bpf.md"
# Kernel -> QEMU: that of Debian 12 crashes newer ones now and then.
MACHINES = {"6.1": "", "6.12": "trixie", "7.3": "trixie"}
COST = "6.1"
ALGORITHMS = ("ledbat", "thetapowertcp", "swift", "timely", "prioplus", "prioplus_ledbat", "oscar", "sqcc", "ccc")
KERNEL_NAMES = {"thetapowertcp": "bpf_thetapower", "prioplus_ledbat": "bpf_prioledbat"}
# Beside them, of the kernel.
KERNELS = ("bbr", "cubic")
STAMPS = ("oscar", "swift", "ccc", "sqcc")


def of_machine(series):
    """{first word after PASS: {name: number}}"""
    WORK.mkdir(parents=True, exist_ok=True)
    done = owned.run([HERE / "run.sh", HERE / "bpf.sh"], limit_s=3600, silent_s=1800, stalled_s=1800,
                     env={**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "DELAYCC_VM_WORK": str(WORK), "DELAYCC_VM_KERNEL": series,
                          "DELAYCC_VM_QEMU": MACHINES[series], "DELAYCC_VM_WORDS": "stamps_of=" + ",".join(STAMPS)})
    console = done.stdout.replace("\r", "")
    log = WORK / f"console-{series}.log"
    log.write_text(console + done.stderr, encoding="utf-8")
    if done.returncode or "FAIL" in console or "PASS kernel_has_not_complained" not in console:
        sys.exit(f"the machine with {series} failed, see {log}")
    return {line.split()[1]: {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", line)}
            for line in re.findall(r"^PASS .*$", console, re.MULTILINE)}


def of_running_kernel():
    """{kernel's name of an algorithm: {"instructions": number}}"""
    found = {}
    for algorithm in ALGORITHMS:
        said = subprocess.check_output([BUILD / "delaycc", "load", algorithm, "--set", "line_rate_mbps=10000"], text=True)
        subprocess.run([BUILD / "delaycc", "unload", algorithm], capture_output=True, check=True)
        found[kernel_name(algorithm)] = {"instructions": int(re.search(r"looked at (\d+)", said)[1])}
    return found


def kernel_name(algorithm):
    return KERNEL_NAMES.get(algorithm, "bpf_" + algorithm)


def table(head, columns, rows):
    """rows: [(title, [cell of each column])]"""
    return page.table([head, *columns], [[title, *cells] for title, cells in rows])


def tables():
    machines = {series: of_machine(series) for series in MACHINES}
    release = ".".join(os.uname().release.split(".")[:2])
    verified = {**machines, release: of_running_kernel()}
    cost = machines[COST]
    per_call = [(f"{what}, {who}", [f"{number:,}" if number else "" for number in (cost["cost_" + a].get(key) for a in ALGORITHMS + KERNELS)])
                for what, who, key in (("ACK", "module", "module"), ("ACK", "program", "bpf"), ("attempt to send", "module", "module_send"),
                                       ("attempt to send", "program", "bpf_send"))]
    per_call.append(("`delaycc load`, seconds", [f"{cost[kernel_name(a)]['load_ms'] / 1000:.1f}" for a in ALGORITHMS] + [""] * len(KERNELS)))
    return {
        "verified": table("kernel", ALGORITHMS, [(series, [f"{of[kernel_name(a)]['instructions']:,}" for a in ALGORITHMS])
                                                 for series, of in verified.items()]),
        "cost": table("", ALGORITHMS + KERNELS, per_call),
        "stamps": table("", STAMPS, [(title, [str(cost["stamps_" + a][key]) for a in STAMPS])
                                     for title, key in (("a quiet host", "quiet_ms"), ("a noisy one, by TCP's clock", "tcp_ms"),
                                                        ("a noisy one, by stamps", "stamps_ms"))]),
    }


def main():
    shown = page.Page(PAGE)
    for name, text in tables().items():
        shown.put(name, "make bpf-table", text)
    shown.save()


if __name__ == "__main__":
    main()
