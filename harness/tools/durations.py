#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the tests need of the processor, by file: the table of docs/develop/tests.md, and the budget of `make test`.

run NAME COMMAND...   runs the command and records what it and its children needed, as a test of that name
table [--page]        the table of what build/durations.jsonl has (tests/conftest.py writes it), and else of the page; --page puts it there
check                 fails if the tests that `make test` selects need more than the budget by the page's table
"""

import argparse
import collections
import json
import os
import pathlib
import resource
import subprocess
import sys

import page

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/develop/tests.md"
RECORD = pathlib.Path(os.environ.get("DELAYCC_BUILD", ROOT / "build")) / "durations.jsonl"
HEAD = ["file", "quick tests", "processor s", "other tests", "processor s"]
TOTAL = "**all**"
# 8 minutes on two processors, of which a twentieth is for what does not run on both.
BUDGET_S = 8 * 60 * 2 * 0.95


def fail(why):
    raise SystemExit(f"durations.py: {why}")


def file_of(test):
    return test.split("::")[0]


def recorded(lines, quick):
    """{file: [quick tests, their s, other tests, their s]} of the last run of each test; quick: what `make test` selects of pytest's now."""
    last = {}
    for line in lines:
        one = json.loads(line)
        last[one["test"]] = one
    files = collections.defaultdict(lambda: [0, 0.0, 0, 0.0])
    for one in last.values():
        count = files[file_of(one["test"])]
        tier = 0 if one["test"] in quick or "::" not in one["test"] else 2
        count[tier] += 1
        count[tier + 1] += one["cpu_s"]
    return files


def table(files):
    body = [[name, *(f"{x:.0f}" for x in files[name])] for name in sorted(files, key=lambda name: -files[name][1] - files[name][3] / 1e6)]
    sums = [sum(files[name][i] for name in files) for i in range(4)]
    return page.table(HEAD, [*body, [TOTAL, *(f"{x:.0f}" for x in sums)]])


def shown(text):
    """{file: [quick tests, their s, other tests, their s]} of a table that table() made."""
    rows = page.rows(text)
    if rows[0] != HEAD:
        fail(f"the table of {PAGE} has another head than is made: make it anew with `durations.py table --page`")
    return {row[0]: [int(row[1]), float(row[2]), int(row[3]), float(row[4])] for row in rows[2:] if row[0] != TOTAL}


def gone(name):
    """Also of a file that a test wrote and ran."""
    return name.endswith(".py") and not (ROOT / name).exists()


def keep(files, before):
    """What has not run keeps the figures of the table before, as long as its file is there: the tiers run apart."""
    for name in filter(gone, list(files)):
        del files[name]
    for name, row in before.items():
        if gone(name):
            continue
        for tier in (0, 2):
            if not files[name][tier]:
                files[name][tier:tier + 2] = row[tier:tier + 2]


def needed(selected, known):
    """Processor seconds of the selected tests by what is known of their files; fails where nothing is."""
    counts = collections.Counter(map(file_of, selected))
    new = sorted(name for name in counts if not known.get(name, (0,))[0])
    if new:
        fail(f"{PAGE.relative_to(ROOT)} has no quick tests of {', '.join(new)}: run `make test` and `harness/tools/durations.py table --page`")
    outside = sum(row[1] for name, row in known.items() if not name.endswith(".py"))
    return outside + sum(n * known[name][1] / known[name][0] for name, n in counts.items())


def quick_tests():
    done = subprocess.run(["/usr/bin/python3", "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "-m", "not ci", "tests"], cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        fail("pytest does not collect the tests:\n" + done.stdout)
    return [line for line in done.stdout.splitlines() if "::" in line]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("name")
    run.add_argument("argv", nargs=argparse.REMAINDER, metavar="COMMAND")
    commands.add_parser("table").add_argument("--page", action="store_true")
    commands.add_parser("check")
    options = parser.parse_args()

    if options.command == "run":
        status = subprocess.run(options.argv, check=False).returncode
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        line = {"test": options.name, "cpu_s": round(used.ru_utime + used.ru_stime, 2)}
        with open(RECORD, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        return status if status >= 0 else 128 - status
    if options.command == "table":
        if not RECORD.exists():
            fail(f"no {RECORD}: run `make test-all` first")
        files = recorded(RECORD.read_text(encoding="utf-8").splitlines(), set(quick_tests()))
        to = page.Page(PAGE)
        keep(files, shown(to.get("durations", "harness/tools/durations.py")))
        if options.page:
            to.put("durations", "harness/tools/durations.py", table(files))
            to.save()
        else:
            print(table(files))
        return 0
    text = page.Page(PAGE).get("durations", "harness/tools/durations.py")
    used = needed(quick_tests(), shown(text))
    if used > BUDGET_S:
        fail(f"`make test` needs {used:.0f} s of processor time by the table of {PAGE.relative_to(ROOT)}, more than its budget of {BUDGET_S:.0f} s: "
             "mark what a quicker test covers with pytest.mark.ci")
    print(f"make test: {used:.0f} of {BUDGET_S:.0f} s of processor time")
    return 0


if __name__ == "__main__":
    sys.exit(main())
