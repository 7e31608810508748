#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs for long on four processors, while the algorithm of every socket is changed every few seconds (soak.sh, soak.c).

Boots Debian's stock kernel again and again, each time with another seed: once with all algorithms of ours, once with cubic alone. Fails if a byte
is wrong, a program fails, a module or memory stays, or a connection stands still for more than a second, and for longer than any of the same
server's did under cubic. What a machine printed is kept in build/soak/results: a run that was stopped goes on where it was.

The machine's clock counts instructions, so that a busy host changes nothing; its processors take turns. That needs the QEMU of Debian 13 (qemu.sh).

    soak.py [--minutes N] [--seconds N] [--jobs N]
"""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import owned  # noqa: E402
import qemu  # noqa: E402

WORK = ROOT / "build" / "soak"
SERIES = os.environ.get("DELAYCC_VM_KERNEL", "6.1")
CYCLES = 2
STILL_MS = 1000
# What a cycle may leave more than the one before it: the kernel's caches are never quite the same.
LEFT_KB = 2000
PORTS = {"22": "scp", "80": "nginx", "5001": "xfer", "5201": "iperf3", "6379": "redis"}
# run.sh: there is no such kernel or QEMU here.
SKIPPED = 77


class NotHere(Exception):
    """The machine cannot be booted here."""


@dataclasses.dataclass(frozen=True)
class Machine:
    """One boot: all algorithms, or cubic alone."""
    kind: str
    seed: int
    seconds: int
    cycles: int = CYCLES

    @property
    def name(self):
        return f"{self.kind}-{self.seed}"

    @property
    def words(self):
        words = f"soak_seconds={self.seconds} soak_cycles={self.cycles} soak_seed={self.seed}"
        return words + (" soak_algorithms=cubic" if self.kind == "cubic" else "")

    @property
    def environment(self):
        # An instruction takes 2 ns, of all processors together.
        return {**os.environ, "DELAYCC_VM_WORK": str(WORK), "DELAYCC_VM_QEMU": "trixie", "DELAYCC_VM_SMP": "4", "DELAYCC_VM_SHIFT": "1",
                "DELAYCC_VM_WORDS": self.words}

    # Seconds of processor time: a second of the soak takes two to three.
    @property
    def limit_s(self):
        return 600 + 20 * self.seconds * self.cycles


def sha256(*parts):
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def machines(minutes, seconds):
    """In the order in which they run: after each pair there is something to compare."""
    pairs = max(1, -(-minutes * 60 // (seconds * CYCLES)))
    return [Machine(kind, seed, seconds) for seed in range(1, pairs + 1) for kind in ("ours", "cubic")]


def prepare():
    WORK.mkdir(parents=True, exist_ok=True)
    done = owned.run([HERE / "run.sh", "--prepare", HERE / "soak.sh"], env=Machine("ours", 1, 1).environment)
    if done.returncode == SKIPPED:
        raise NotHere(done.stderr.strip())
    if done.returncode:
        raise ValueError(f"run.sh --prepare ended with {done.returncode}: {done.stderr.strip()[-2000:]}")


def identity():
    """Of what every machine's result depends on, but for its words."""
    kernel = subprocess.run([HERE / "kernel.sh", SERIES], capture_output=True, text=True, check=True).stdout.strip()
    machine = (HERE / "run.sh").read_text(encoding="utf-8").split("# ---- the machine", 1)[1]
    return sha256((WORK / "initramfs").read_bytes(), (pathlib.Path(kernel) / "release").read_text(), machine)


def boot(machine):
    """The console, from BEGIN on."""
    for _ in range(2):
        done = owned.run([HERE / "run.sh", "--boot", HERE / "soak.sh"], limit_s=machine.limit_s, silent_s=machine.limit_s, stalled_s=1800,
                         env=machine.environment)
        crash = qemu.ended_by(done.returncode, done.stderr)
        if not crash:
            break
    console = done.stdout.replace("\r", "")
    if crash or done.returncode or "BEGIN " not in console:
        raise ValueError(crash or f"run.sh ended with {done.returncode}: {(done.stderr or console).strip()[-500:]}")
    return console[console.index("BEGIN "):]


def measure(machine, same, folder, start=boot):
    """(console, whether it was there already).  All or nothing: a run may be stopped at any time."""
    file, key = folder / f"{machine.name}.json", sha256(same, machine.words)
    if file.exists():
        result = json.loads(file.read_text(encoding="utf-8"))
        if result["key"] == key:
            return "\n".join(result["console"]), True
    console = start(machine)
    folder.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps({"key": key, "console": console.splitlines()}, indent=1) + "\n", encoding="utf-8")
    partial.replace(file)
    return console, False


@dataclasses.dataclass
class Outcome:
    """What the machines of one kind printed, together."""
    did: dict = dataclasses.field(default_factory=dict)
    soaked: dict = dataclasses.field(default_factory=dict)
    still: dict = dataclasses.field(default_factory=dict)  # port -> [(ms, algorithm)]
    faults: list = dataclasses.field(default_factory=list)

    def add(self, name, console):
        for program, n in re.findall(r"^DID (\S+) (\d+)$", console, re.MULTILINE):
            self.did[program] = self.did.get(program, 0) + int(n)
        for words in re.findall(r"^SOAKED (.*)$", console, re.MULTILINE):
            for what, n in re.findall(r"(\w+)=(\d+)", words):
                together = max if what == "longest_ms" else sum
                self.soaked[what] = together((self.soaked.get(what, 0), int(n)))
        for ms, port, algorithm in re.findall(r"^STILL (\d+) (\d+) (\S*)$", console, re.MULTILINE):
            self.still.setdefault(port, []).append((int(ms), algorithm))
        self.faults += [f"{name}: {line}" for line in re.findall(r"^(?:WRONG|FAIL) .*$", console, re.MULTILINE)]
        if "\nEND" not in console:
            self.faults.append(f"{name}: the machine did not come to its end: {console.strip().splitlines()[-1]}")
        left = [int(kb) for kb in re.findall(r"^LEFT (\d+)$", console, re.MULTILINE)]
        if left and left[-1] - left[0] > LEFT_KB * (len(left) - 1):
            self.faults.append(f"{name}: memory in use grows from cycle to cycle, KB: {left}")

    def longest_ms(self, port):
        return max((ms for ms, _ in self.still.get(port, [])), default=0)


def stalls(ours, cubic):
    """Each stop that is longer than the longest of the same server's connections under cubic."""
    found = [(port, ms, algorithm) for port, each in sorted(ours.still.items()) for ms, algorithm in sorted(each, reverse=True)]
    return [f"a connection of {PORTS.get(port, port)} stood still for {ms / 1000:.1f} s with {algorithm}; with cubic "
            f"{cubic.longest_ms(port) / 1000:.1f} s at most" for port, ms, algorithm in found if ms > max(STILL_MS, cubic.longest_ms(port))]


def table(ours, cubic):
    rows = [("", "all", "cubic")]
    for what, a, b in (("did ", ours.did, cubic.did), ("", ours.soaked, cubic.soaked)):
        rows += [(what + name, str(a.get(name, 0)), str(b.get(name, 0))) for name in sorted(a)]
    for port, name in PORTS.items():
        rows.append((f"{name}: stops of more than {STILL_MS // 1000} s", *(str(len(o.still.get(port, []))) for o in (ours, cubic))))
        rows.append((f"{name}: the longest of them, s", *(f"{o.longest_ms(port) / 1000:.1f}" for o in (ours, cubic))))
    return "".join(f"{what:<40}{a:>10}{b:>10}\n" for what, a, b in rows)


def run_all(chosen, jobs, say, folder, same, start=boot):
    """{kind: Outcome}"""
    outcomes = {"ours": Outcome(), "cubic": Outcome()}
    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    running = {pool.submit(measure, machine, same, folder, start): machine for machine in chosen}
    try:
        for n, done in enumerate(concurrent.futures.as_completed(running), 1):
            machine = running[done]
            try:
                console, kept = done.result()
                outcomes[machine.kind].add(machine.name, console)
                how = "done already" if kept else "done"
            except (owned.GivenUp, ValueError) as error:
                outcomes[machine.kind].faults.append(f"{machine.name}: {error}")
                how = f"failed: {error}"
            say(f"{n} of {len(chosen)}: {machine.name}: {how}")
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return outcomes


def positive(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f'"{text}" is not a number from 1 on')
    return int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--minutes", type=positive, default=60, metavar="N",
                        help="of the machines' clock with all algorithms, and as long with cubic (%(default)s)")
    parser.add_argument("--seconds", type=positive, default=75, metavar="N", help=f"of a cycle; each machine has {CYCLES} (%(default)s)")
    parser.add_argument("--jobs", type=positive, default=1, metavar="N", help="machines at a time (%(default)s)")
    arguments = parser.parse_args()
    try:
        prepare()
    except (NotHere, ValueError) as why:
        sys.exit(f"soak.py: {why}")
    try:
        outcomes = run_all(machines(arguments.minutes, arguments.seconds), arguments.jobs, lambda line: print(line, flush=True),
                           WORK / "results", identity())
    except KeyboardInterrupt:
        print("interrupted; the next call goes on from here", file=sys.stderr)
        # No thread waits for its machine, which ends with it.
        os._exit(1)
    ours, cubic = outcomes["ours"], outcomes["cubic"]
    made = table(ours, cubic)
    (WORK / "table.txt").write_text(made, encoding="utf-8")
    print(made, end="")
    faults = ours.faults + cubic.faults + stalls(ours, cubic)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
