#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Five scenarios by the lab, by the backend `host` in the lab's virtual time, and by it in Debian's stock kernel under QEMU: the table of
docs/research/host.md. The machine's clock counts instructions, so its noise is that of a processor without anything else to do.

usage: backend_table.py [--trials N] [--cc NAME] [--virtual]

Of several trials each figure is the mean with its 95 % interval. --virtual leaves QEMU out.
What QEMU's console said is kept in build/host-table; exit status 1 when a run fails or a figure of the three is missing.
"""

import argparse
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
trials = {trials}
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


def scenarios(trials, algorithms):
    for number, numbers in enumerate(CASES.values()):
        values = {"loss_ppm": 0, "stagger_us": 0, "duration_us": 500_000, "from_us": 200_000, **numbers}
        name = f"case{number}"
        words = ", ".join(f'"{a}"' for a in algorithms)
        yield name, BASE.format(name=name, trials=trials, algorithms=words, host_gbps=values["gbps"] * 2, **values)


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


def cell(metric, figure):
    digits = 3 if metric == "utilisation" else 0
    interval = f" ± {figure['ci95']:.{digits}f}" if figure.get("ci95") else ""
    return f"{figure['mean']:.{digits}f}{interval}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1, help="of each (default 1)")
    parser.add_argument("--cc", choices=ALGORITHMS, help="one of them alone")
    parser.add_argument("--virtual", action="store_true", help="without QEMU")
    options = parser.parse_args()
    algorithms = (options.cc,) if options.cc else ALGORITHMS
    texts = dict(scenarios(options.trials, algorithms))
    backends = {"lab": by_lab(texts), "host": by_host_in_lab(texts)}
    if not options.virtual:
        backends["QEMU"] = by_host_in_qemu(texts)
    last = "" if options.virtual else " noise p99 in QEMU (us) |"
    print("| scenario | algorithm | " + " | ".join(f"{metric}: " + " / ".join(backends) for metric in METRICS[:-1]) + " |" + last)
    print("|---|---|" + "---|" * (len(METRICS) - options.virtual))
    for name, title in zip(texts, CASES):
        for algorithm in algorithms:
            cells = [" / ".join(cell(metric, of[name]["algorithms"][algorithm][metric]) for of in backends.values()) for metric in METRICS[:-1]]
            if not options.virtual:
                cells.append(f"{backends['QEMU'][name]['algorithms'][algorithm]['noise_p99_us']['mean']:.1f}")
            print(f"| {title} | {algorithm} | " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
