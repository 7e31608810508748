#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over the sources that have changed since it last found nothing in them.

usage: tidy.py BUILD FILE...

BUILD has compile_commands.json. A source has changed if what its preprocessor makes of it has, comments included (NOLINT), or .clang-tidy or
clang-tidy itself. What was clean is remembered in ~/.cache/delaycc/tidy (XDG_CACHE_HOME), for all folders that have this
repository: a fresh clone checks what differs. A source with a finding is never remembered. Exits with 1 if anything was found.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "delaycc" / "tidy"
# Entries that nobody has asked for in so long are removed.
KEEP_S = 30 * 24 * 3600


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


def preprocessed(entry):
    """What clang's preprocessor makes of a source, or None: then clang-tidy itself says why."""
    words, skip = [], False
    for word in shlex.split(entry["command"]):
        # The output and the lists of dependencies.
        if skip or word in ("-o", "-MF", "-MT", "-MQ"):
            skip = not skip
            continue
        if word not in ("-c", "-MD", "-MMD"):
            words.append(word)
    # Without lines' marks, which have paths; with comments, but for those in macros, which Boost makes strings of.
    done = run(["clang++", *words[1:], "-E", "-P", "-C", "-w"], cwd=entry["directory"])
    return done.stdout if done.returncode == 0 else None


def check(entry, build, settings):
    """(what clang-tidy printed, or None if it found nothing; whether it ran)"""
    text = preprocessed(entry)
    mark = None
    if text is not None:
        digest = hashlib.sha256(settings.encode())
        digest.update(text.replace(str(ROOT), "").encode())
        mark = CACHE / digest.hexdigest()
        if mark.exists():
            mark.touch()
            return None, False
    done = run(["clang-tidy", "-p", build, "--quiet", "--warnings-as-errors=*", entry["file"]])
    if done.returncode or done.stdout.strip():
        return done.stdout.strip() or done.stderr.strip(), True
    if mark:
        mark.touch()
    return None, True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("files", nargs="+")
    given = parser.parse_args()
    commands = {entry["file"]: entry for entry in json.loads((pathlib.Path(given.build) / "compile_commands.json").read_text(encoding="utf-8"))}
    CACHE.mkdir(parents=True, exist_ok=True)
    for old in CACHE.iterdir():
        if old.stat().st_mtime < time.time() - KEEP_S:
            old.unlink(missing_ok=True)
    settings = run(["clang-tidy", "--version"]).stdout + (ROOT / ".clang-tidy").read_text(encoding="utf-8")
    found = ran = done = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        # A source that is not compiled here (without libbpf, say) is not checked.
        entries = [commands[path] for path in (str(ROOT / name) for name in given.files) if path in commands]
        for output, was_run in pool.map(lambda entry: check(entry, given.build, settings), entries):
            done += 1
            ran += was_run
            if output:
                found += 1
                print(output, flush=True)
            if sys.stderr.isatty():
                print(f"\r{done} of {len(entries)} sources", end="", file=sys.stderr, flush=True)
    print(f"clang-tidy: {len(entries)} sources, {len(entries) - ran} of them as they were when nothing was found; {found} with findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
