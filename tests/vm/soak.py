#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs for long on four processors, while the algorithm of every socket is changed every few seconds (soak.sh, soak.c).

Boots Debian's stock kernel again and again, each time with another seed and with four kinds of algorithms:

    ours       all of ours and cubic; they are told the path's line rate
    cubic      cubic alone
    stock      the kernel's own: cubic, reno and bbr
    automatic  all of ours and cubic; nothing is told: they take veth's 10 Gbit/s for the rate of a path of 20 Mbit/s

Fails if a byte is wrong, a module or memory stays, a program fails, or a connection of "ours" stands still for more than a second, and for longer
than any of the same server's did under cubic, or is reset and none of cubic's is. Of "automatic" stops and resets are only counted: each
connection begins at 500 times the path's rate. What a machine printed is kept in build/soak/results: a run that was stopped goes on where it was.

The machine's clock counts instructions, so that a busy host changes nothing; its processors take turns. That needs the QEMU of Debian 13 (qemu.sh).

    soak.py [--minutes N] [--seconds N] [--pause N] [--jobs N] [--kinds NAME,...]
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
KINDS = {
    "ours": " soak_line_mbps=20",
    "cubic": " soak_algorithms=cubic",
    "stock": " soak_algorithms=cubic,reno,bbr",
    "automatic": "",
}
PORTS = {"22": "scp", "80": "nginx", "5001": "xfer", "5201": "iperf3", "6379": "redis"}
# run.sh: there is no such kernel or QEMU here.
SKIPPED = 77


class NotHere(Exception):
    """The machine cannot be booted here."""


@dataclasses.dataclass(frozen=True)
class Machine:
    """One boot."""
    kind: str  # of KINDS
    seed: int
    seconds: int
    cycles: int = CYCLES
    pause: int = 0

    @property
    def name(self):
        return f"{self.kind}-{self.seed}"

    @property
    def words(self):
        words = f"soak_seconds={self.seconds} soak_cycles={self.cycles} soak_seed={self.seed}"
        return words + (f" soak_pause={self.pause}" if self.pause else "") + KINDS[self.kind]

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


def machines(minutes, seconds, kinds=tuple(KINDS), pause=0):
    """In the order in which they run: after one of each kind there is something to compare."""
    rounds = max(1, -(-minutes * 60 // (seconds * CYCLES)))
    return [Machine(kind, seed, seconds, pause=pause) for seed in range(1, rounds + 1) for kind in kinds]


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
    # Somebody may have ended the machine: it is booted again next time.
    if "\nEND" not in console:
        return console, False
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
    refused: int = 0
    late: int = 0

    def add(self, name, console):
        for program, n in re.findall(r"^DID (\S+) (\d+)$", console, re.MULTILINE):
            self.did[program] = self.did.get(program, 0) + int(n)
        for words in re.findall(r"^SOAKED (.*)$", console, re.MULTILINE):
            for what, n in re.findall(r"(\w+)=(\d+)", words):
                together = max if what == "longest_ms" else sum
                self.soaked[what] = together((self.soaked.get(what, 0), int(n)))
        for ms, port, algorithm in re.findall(r"^STILL (\d+) (\d+) (\S*)", console, re.MULTILINE):
            self.still.setdefault(port, []).append((int(ms), algorithm))
        self.refused += len(re.findall(r"^REFUSED ", console, re.MULTILINE))
        self.late += len(re.findall(r"^LATE ", console, re.MULTILINE))
        self.faults += [f"{name}: {line}" for line in re.findall(r"^(?:WRONG|FAIL) .*$", console, re.MULTILINE)]
        if "\nEND" not in console:
            self.faults.append(f"{name}: the machine did not come to its end: {console.strip().splitlines()[-1]}")
        left = [int(kb) for kb in re.findall(r"^LEFT (\d+)$", console, re.MULTILINE)]
        if left and left[-1] - left[0] > LEFT_KB * (len(left) - 1):
            self.faults.append(f"{name}: memory in use grows from cycle to cycle, KB: {left}")

    def longest_ms(self, port):
        return max((ms for ms, _ in self.still.get(port, [])), default=0)


def stalls(ours, cubic):
    """Each stop that is longer than the longest of the same server's connections under cubic, and resets that cubic does not have."""
    found = [f"{ours.refused} connections were reset; with cubic {cubic.refused}"] if ours.refused > cubic.refused else []
    for port, each in sorted(ours.still.items()):
        longest = cubic.longest_ms(port)
        found += [f"a connection of {PORTS.get(port, port)} stood still for {ms / 1000:.1f} s with {algorithm}; "
                  f"with cubic {longest / 1000:.1f} s at most"
                  for ms, algorithm in sorted(each, reverse=True) if ms > max(STILL_MS, longest)]
    return found


def table(outcomes):
    """outcomes: {kind: Outcome}, a column each."""
    each = list(outcomes.values())
    rows = [("", *outcomes)]
    for prefix, counts in (("did ", [o.did for o in each]), ("", [o.soaked for o in each])):
        rows += [(prefix + name, *(str(count.get(name, 0)) for count in counts)) for name in sorted(set().union(*counts))]
    rows.append(("connections that were reset", *(str(o.refused) for o in each)))
    rows.append(("responses after more than 2 s", *(str(o.late) for o in each)))
    for port, name in PORTS.items():
        rows.append((f"{name}: stops of more than {STILL_MS // 1000} s", *(str(len(o.still.get(port, []))) for o in each)))
        rows.append((f"{name}: the longest of them, s", *(f"{o.longest_ms(port) / 1000:.1f}" for o in each)))
    return "".join(f"{what:<40}" + "".join(f"{cell:>11}" for cell in cells) + "\n" for what, *cells in rows)


def run_all(chosen, jobs, say, folder, same, start=boot):
    """{kind: Outcome}"""
    outcomes = {machine.kind: Outcome() for machine in chosen}
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


def number(least, most=None):
    """What argparse calls for a number from least to most, or on."""
    def read(text):
        if not text.isdigit() or int(text) < least or most is not None and int(text) > most:
            raise argparse.ArgumentTypeError(f'"{text}" is not a number from {least} {"on" if most is None else f"to {most}"}')
        return int(text)
    return read


def some_kinds(text):
    kinds = text.split(",")
    for kind in kinds:
        if kind not in KINDS:
            raise argparse.ArgumentTypeError(f'"{kind}" is none of {", ".join(KINDS)}')
    return kinds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--minutes", type=number(1), default=60, metavar="N",
                        help="of the machines' clock for each kind (%(default)s)")
    parser.add_argument("--seconds", type=number(1), default=75, metavar="N", help=f"of a cycle; each machine has {CYCLES} (%(default)s)")
    parser.add_argument("--pause", type=number(0, 60), default=0, metavar="N",
                        help="seconds between two uses of a program, 0 to 60: 10 take a third of the processor time (%(default)s)")
    parser.add_argument("--jobs", type=number(1), default=1, metavar="N", help="machines at a time (%(default)s)")
    parser.add_argument("--kinds", type=some_kinds, default=tuple(KINDS), metavar="NAME,...", help=f"of {', '.join(KINDS)} (all)")
    arguments = parser.parse_args()
    try:
        prepare()
    except (NotHere, ValueError) as why:
        sys.exit(f"soak.py: {why}")
    try:
        chosen = machines(arguments.minutes, arguments.seconds, arguments.kinds, arguments.pause)
        outcomes = run_all(chosen, arguments.jobs, lambda line: print(line, flush=True), WORK / "results", identity())
    except KeyboardInterrupt:
        print("interrupted; the next call goes on from here", file=sys.stderr)
        # No thread waits for its machine, which ends with it.
        os._exit(1)
    made = table(outcomes)
    (WORK / "table.txt").write_text(made, encoding="utf-8")
    print(made, end="")
    faults = [fault for outcome in outcomes.values() for fault in outcome.faults]
    if {"ours", "cubic"} <= set(outcomes):
        faults += stalls(outcomes["ours"], outcomes["cubic"])
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
