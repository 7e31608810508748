#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Five scenarios by the lab, by the backend `host` in the lab's virtual time, and by it in Debian's stock kernel under QEMU: the table of
docs/research/host.md. The machine's clock counts instructions, so its noise is that of a processor without anything else to do.

What QEMU's console said is kept in build/host-table; exit status 1 when a run fails or a figure of the three is missing.
"""

import json
import os
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/lab")]

import outside  # noqa: E402
import owned  # noqa: E402

WORK = ROOT / "build" / "host-table"
ALGORITHMS = ("oscar", "cubic", "bbr")
METRICS = ("utilisation", "rtt_p50_us", "queue_mean_bytes", "noise_p99_us")

BASE = """
name = "{name}"
trials = 1
cc = [{algorithms}]""" + outside.BOTTLENECK + """
loss_ppm = {loss_ppm}
[[flows]]
name = "flows"
count = {senders}
from = "senders"
to = "receivers"
stagger_us = {stagger_us}
[measure]
duration_us = {duration_us}
from_us = {from_us}
"""
CASES = {
    "one flow, 100 Mbit/s, 1 ms": dict(senders=1, gbps=0.1, rtt_ns=1_000_000, buffer_bytes=100_000),
    "four flows, 100 Mbit/s, 1 ms": dict(senders=4, gbps=0.1, rtt_ns=1_000_000, buffer_bytes=100_000, stagger_us=20_000),
    "one flow, 100 Mbit/s, 10 ms": dict(senders=1, gbps=0.1, rtt_ns=10_000_000, buffer_bytes=250_000),
    "one flow, 100 Mbit/s, 10 ms, loss 0.01 %": dict(senders=1, gbps=0.1, rtt_ns=10_000_000, buffer_bytes=250_000, loss_ppm=100),
    "four flows, 300 Mbit/s, 2 ms": dict(senders=4, gbps=0.3, rtt_ns=2_000_000, buffer_bytes=300_000, stagger_us=20_000),
}

GUEST = """#!/bin/dash
# programs: delaycc delaycc-host-runner
# modules: sch_tbf sch_red tcp_bbr af_packet
. /common.sh
start_machine
export HOME=/tmp
{runs}
stop_machine
"""
RUN = """
cat >/tmp/{name}.toml <<'TOML'
{text}
TOML
delaycc run /tmp/{name}.toml --backend host --quiet --json --out /tmp/{name} >/tmp/{name}.json 2>/tmp/{name}.err ||
    {{ echo "TROUBLE {name}"; cat /tmp/{name}.err; }}
echo "SUMMARY {name} $(tr -d '\\n' </tmp/{name}.json)"
"""


def scenarios():
    for number, numbers in enumerate(CASES.values()):
        values = {"loss_ppm": 0, "stagger_us": 0, "duration_us": 500_000, "from_us": 200_000, **numbers}
        name = f"case{number}"
        yield name, BASE.format(name=name, algorithms=", ".join(f'"{a}"' for a in ALGORITHMS), host_gbps=values["gbps"] * 2, **values)


def by_lab(texts):
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            path = pathlib.Path(folder) / f"{name}.toml"
            path.write_text(text)
            outside.run(path, pathlib.Path(folder) / name)
            results[name] = json.loads((pathlib.Path(folder) / name / "summary.json").read_text())
    return results


def by_host_in_lab(texts):
    results, _ = outside.boot("inside", list(texts.values()), str(outside.LAB), [str(outside.DELAYCC), "run"], seconds=900,
                              script=ROOT / "tests/lab/test_host.py")
    for result in results:
        assert result["code"] == 0, result["error"]
    return {name: result["summary"] for name, result in zip(texts, results)}


def by_host_in_qemu(texts):
    WORK.mkdir(parents=True, exist_ok=True)
    guest = WORK / "guest.sh"
    guest.write_text(GUEST.format(runs="".join(RUN.format(name=name, text=text) for name, text in texts.items())))
    guest.chmod(0o755)
    environment = {**os.environ, "PATH": f"{outside.BUILD}:{os.environ['PATH']}", "DELAYCC_VM_WORK": str(WORK), "DELAYCC_VM_SHIFT": "0"}
    done = owned.run([HERE / "run.sh", guest], limit_s=3600, silent_s=1800, stalled_s=1800, env=environment)
    console = done.stdout.replace("\r", "")
    (WORK / "console.log").write_text(console + done.stderr)
    found = dict(re.findall(r"^SUMMARY (\S+) (\{.*\})$", console, re.MULTILINE))
    assert set(found) == set(texts) and "PASS kernel_has_not_complained" in console, f"see {WORK}/console.log"
    return {name: json.loads(text) for name, text in found.items()}


def main():
    texts = dict(scenarios())
    backends = {"lab": by_lab(texts), "host": by_host_in_lab(texts), "QEMU": by_host_in_qemu(texts)}
    print("| scenario | algorithm | " + " | ".join(f"{metric}: " + " / ".join(backends) for metric in METRICS[:-1]) + " | noise p99 in QEMU (us) |")
    print("|---|---|" + "---|" * len(METRICS))
    for name, title in zip(texts, CASES):
        for algorithm in ALGORITHMS:
            cells = []
            for metric in METRICS[:-1]:
                values = [of[name]["algorithms"][algorithm][metric]["mean"] for of in backends.values()]
                cells.append(" / ".join(f"{value:.3f}" if metric == "utilisation" else f"{value:.0f}" for value in values))
            noise = backends["QEMU"][name]["algorithms"][algorithm]["noise_p99_us"]["mean"]
            print(f"| {title} | {algorithm} | " + " | ".join(cells) + f" | {noise:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
