#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fuzzes the cores for long: every target, until all of them together have run so many times.

usage: fuzz.py [--executions N] [--targets A,B] [--jobs N] [--keep] [BUILD]

Targets are BUILD/fuzz_NAME (default: build; `make tools` builds them). BUILD/fuzz/NAME has the inputs that a target found interesting; it
begins with those of tests/fuzz/corpus/NAME.zip. Interrupted, the next call goes on: BUILD/fuzz/NAME.json counts executions
of this very program. --keep then packs the fewest inputs that reach all of the code into tests/fuzz/corpus. A fault stops everything:
its input is kept in BUILD/fuzz, and the exit code is 1.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
# Executions in one go: half a minute or so.
SLICE = 2_000_000
MAX_LEN = 2048


def count(text):
    """100M, 2G or a plain number."""
    found = re.fullmatch(r"(\d+)([kMG]?)", text)
    if not found or int(found[1]) == 0:
        raise argparse.ArgumentTypeError(f'"{text}" is no number of executions such as 5000000, 100M or 2G')
    return int(found[1]) * {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}[found[2]]


class Target:
    def __init__(self, program, work):
        self.program, self.name = program, program.name.removeprefix("fuzz_")
        self.folder, self.state = work / self.name, work / f"{self.name}.json"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.kept = CORPUS / f"{self.name}.zip"
        if self.kept.exists():
            with zipfile.ZipFile(self.kept) as archive:
                archive.extractall(self.folder)
        self.digest = hashlib.sha256(program.read_bytes()).hexdigest()
        state = json.loads(self.state.read_text()) if self.state.exists() else {}
        # Of another program they say nothing.
        self.runs = state["executions"] if state.get("program") == self.digest else 0
        self.process = None

    def fuzz(self, executions):
        """Runs it so many times more. Returns why not, or None."""
        # Another seed for each part.
        command = [self.program, f"-runs={executions}", f"-seed={self.runs + 1}", f"-max_len={MAX_LEN}", "-print_final_stats=1",
                   f"-artifact_prefix={self.folder.parent}/{self.name}-", self.folder]
        # Interrupts are this program's to handle; killed, it takes the target along.
        with subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              start_new_session=True) as self.process:
            log = self.process.communicate()[1]
        ran = re.search(r"stat::number_of_executed_units: (\d+)", log)
        if self.process.returncode != 0 or not ran:
            return f"fuzz_{self.name} ended with {self.process.returncode}:\n{log[-3000:]}"
        self.runs += int(ran[1])
        fresh = self.state.with_suffix(".new")
        fresh.write_text(json.dumps({"executions": self.runs, "program": self.digest}) + "\n")
        os.replace(fresh, self.state)
        return None

    def keep(self):
        """Packs the fewest inputs that reach all of the code. Returns how many, and the bytes of the archive; without inputs there is none."""
        if not any(self.folder.iterdir()):
            return 0, 0
        small = self.folder.with_suffix(".small")
        if small.exists():
            shutil.rmtree(small)
        small.mkdir()
        subprocess.run([self.program, "-set_cover_merge=1", "-use_counters=0", f"-max_len={MAX_LEN}", small, self.folder],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        CORPUS.mkdir(exist_ok=True)
        with zipfile.ZipFile(self.kept, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(small.iterdir()):
                # The same inputs give the same bytes.
                archive.writestr(zipfile.ZipInfo(file.name), file.read_bytes(), zipfile.ZIP_DEFLATED)
        return len(list(small.iterdir())), self.kept.stat().st_size


def fuzz_all(targets, executions, jobs):
    """Returns the first fault, or None."""
    lock = threading.Lock()
    begin, before = time.monotonic(), sum(t.runs for t in targets)
    wanted = max(0, executions - before)
    share = executions // len(targets)
    faults, stop = [], threading.Event()

    def work(target):
        while target.runs < share and not stop.is_set():
            fault = target.fuzz(min(SLICE, share - target.runs))
            with lock:
                if fault and not stop.is_set():
                    faults.append(fault)
                    stop.set()
                done, spent = sum(t.runs for t in targets) - before, time.monotonic() - begin
                left = spent * (wanted - done) / done if done else 0
                print(f"{(before + done) / 1e6:.1f} of {executions / 1e6:.1f} million executions, {spent:.0f} s, about {max(0, left):.0f} s left",
                      flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        try:
            for future in [pool.submit(work, t) for t in targets]:
                future.result()
        except KeyboardInterrupt:
            stop.set()
            for target in targets:
                if target.process and target.process.poll() is None:
                    target.process.kill()
            raise
    return faults[0] if faults else None


def main():
    parser = argparse.ArgumentParser(description="Fuzzes the cores for long.")
    parser.add_argument("--executions", type=count, default=count("100M"), help="of all targets together (100M)")
    parser.add_argument("--targets", help="of these alone, by name, with commas")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="targets at a time")
    parser.add_argument("--keep", action="store_true", help="pack what was found into tests/fuzz/corpus")
    parser.add_argument("build", nargs="?", default=ROOT / "build", type=pathlib.Path)
    arguments = parser.parse_args()
    programs = sorted(p for p in arguments.build.glob("fuzz_*") if p.is_file() and os.access(p, os.X_OK))
    if not programs:
        parser.error(f"{arguments.build} has no fuzz targets: run `make tools` (they need the package clang)")
    names = [p.name.removeprefix("fuzz_") for p in programs]
    wanted = arguments.targets.split(",") if arguments.targets else names
    for name in wanted:
        if name not in names:
            parser.error(f"--targets: no {name}, there are {', '.join(names)}")
    # Also where a shell without job control has it ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    targets = [Target(p, arguments.build.absolute() / "fuzz") for p in programs if p.name.removeprefix("fuzz_") in wanted]
    try:
        fault = fuzz_all(targets, arguments.executions, max(1, arguments.jobs))
    except KeyboardInterrupt:
        sys.exit("interrupted; the next call goes on from here")
    if fault:
        sys.exit(fault)
    for target in targets:
        kept = " kept {} inputs, {} bytes".format(*target.keep()) if arguments.keep else ""
        print(f"{target.name:<18} {target.runs:>12} executions{kept}")


if __name__ == "__main__":
    main()
