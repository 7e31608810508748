#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a law, or the path model, without each of its rules, one at a time, beside what it is.

usage: ablation.py [--of SUBJECT] [options] [RULE ...]        (default: --of oscar, all rules; --list names them)

harness/tools/ablation/SUBJECT.py has the subject's cases, figures and rules.  A rule is switched off by small edits of kernel/core in a copy of the
sources, from which modules are built for the lab.  Trials of the same number have the same random times with and without it, so what is shown is
the mean of their differences.  A figure is shown where the 95 % interval of that mean leaves out zero and the difference is more than --least of the
figure; * marks one that stays beyond chance among all of the rule's figures (Holm, 5 %).  An algorithm whose first trial of a case is the same
to the digit with and without a rule is run no further there: the rule does not act.

A run that was stopped goes on where it was.  --page writes the subject's table into docs/design/ablation.md; with RULE those rows alone.
Lines and constants are counted in the sources: statements, functions and constants that are the rule's, and what nothing else uses.
Needs `make` and `make lab`.
"""

import argparse
import hashlib
import json
import math
import os
import pathlib
import re
import runpy
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time
import types

import page
from sweep import ROOT, half_width

DEFINITIONS = ROOT / "harness" / "tools" / "ablation"
SUBJECTS = sorted(file.stem for file in DEFINITIONS.glob("*.py"))
CORE = ROOT / "kernel" / "core"
PAGE = ROOT / "docs" / "design" / "ablation.md"
MAKER = "harness/tools/ablation.py"
BUILD = pathlib.Path(os.environ.get("DELAYCC_BUILD", ROOT / "build"))
HEAD = ["rule", "lines", "constants", "case: figure", "with", "without", "difference ± 95 %"]
FIRST = 1  # trials after which an algorithm that the rule does not change is left out


def definitions(subject):
    """CASES, METRICS, MECHANISMS, ALGORITHMS, MODULES and TRIALS of a subject; MECHANISMS have all four parts."""
    made = types.SimpleNamespace(**runpy.run_path(str(DEFINITIONS / f"{subject}.py")))
    for name, parts in made.MECHANISMS.items():
        what, edits, *rest = parts
        owns, cases = (*rest, None, None)[:2]
        made.MECHANISMS[name] = (what, edits, owns or [], cases or list(made.CASES))
    return made


# ---- what a rule owns ----------------------------------------------------------------------------

class Sources:
    """The cores, for counting: which lines and constants are a rule's."""

    def __init__(self, core=CORE):
        self.texts = {str(file.relative_to(core)): file.read_text(encoding="utf-8") for file in sorted(core.rglob("*.h"))}
        self.code = {name: without_comments(text).splitlines() for name, text in self.texts.items()}
        self.places = {}
        for file, lines in self.code.items():
            for number, line in enumerate(lines):
                for word in set(re.findall(r"\w+", line)):
                    self.places.setdefault(word, set()).add((file, number))

    def block(self, file, first):
        """The lines from a definition's first to the } in its first column, or of a macro."""
        lines = self.code[file]
        last = first
        if lines[first].startswith("#"):
            while lines[last].endswith("\\"):
                last += 1
        else:
            while not lines[last].startswith("}"):
                last += 1
        return {(file, number) for number in range(first, last + 1)}

    def definition(self, name):
        """The lines of a function, a struct or a constant."""
        for file, number in sorted(self.places.get(name, ())):
            line = self.code[file][number]
            if re.match(rf"#define {name}\b", line) or re.match(rf"(struct|enum) {name} {{", line) or \
                    re.match(rf"[a-z].*\b{name}\(", line) and not line.endswith(";"):
                return self.block(file, number)
        raise KeyError(f"no function, struct or constant {name} in kernel/core")

    def between(self, file, begin, end):
        """The lines from the one that has begin to the first one that has end."""
        text = self.texts[file]
        start = text.index(begin)
        stop = text.index(end, start) + len(end) - 1
        return {(file, number) for number in range(text.count("\n", 0, start), text.count("\n", 0, stop) + 1)}

    def statement(self, file, old):
        """The lines of an edit's old text, and of the statement that it begins."""
        text = without_comments(self.texts[file])
        start = text.index(without_comments(old)) if old not in text else text.index(old)
        end = start + len(old.rstrip())
        begin = text.rindex("\n", 0, start + len(old) - len(old.lstrip())) + 1
        depth, at = 0, begin
        while at < len(text):
            depth += (text[at] in "({") - (text[at] in ")}")
            if depth < 0 or text[begin] == "#" and text[at] == "\n":
                at = end - 1
                break
            if at >= end - 1 and not depth and text[at] in ";}":
                break
            at += 1
        return {(file, number) for number in range(text.count("\n", 0, begin), text.count("\n", 0, max(at, begin)) + 1)}

    def owned(self, edits, owns):
        """All lines that are a rule's: what it names, or what is edited, and what nothing else uses."""
        lines = set()
        for item in owns:
            lines |= self.definition(item) if isinstance(item, str) else self.between(*item)
        for file, old, _ in edits if not owns else ():
            lines |= self.statement(file, old)
        grown = None
        while grown != lines:
            grown = set(lines)
            for name in {word for file, number in grown for word in re.findall(r"\b(?:dcc|DCC)_\w+", self.code[file][number])}:
                lines |= self.if_unshared(name, grown)
        return lines

    def if_unshared(self, name, lines):
        try:
            own = self.definition(name)
        except KeyError:
            return set()
        return own if self.places[name] <= lines | own else set()

    def count(self, edits, owns):
        """(lines of code without the constants', constants)"""
        code = [self.code[file][number] for file, number in self.owned(edits, owns) if self.code[file][number].strip()]
        constants = sum(line.startswith("#define") for line in code)
        return len(code) - constants, constants


def without_comments(text):
    """The text with blanks for comments; lines stay where they are."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.S)


# ---- modules and trials --------------------------------------------------------------------------

def edited(name, edits, core=CORE):
    """{file below core: its text with the edits}"""
    texts = {}
    for file, old, new in edits:
        text = texts.setdefault(file, (core / file).read_text(encoding="utf-8"))
        if text.count(old) != 1:
            sys.exit(f"ablation.py: {name}: kernel/core/{file} has not once, but {text.count(old)} times, the text: {old}")
        texts[file] = text.replace(old, new)
    return texts


def stamp(texts):
    """Of all that modules are built from."""
    digest = hashlib.sha256()
    for file in sorted((ROOT / "kernel").rglob("*")):
        if file.is_file():
            name = str(file.relative_to(CORE)) if CORE in file.parents else None
            content = texts[name].encode() if name in texts else file.read_bytes()
            digest.update(f"{file.relative_to(ROOT)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def own(entry, subject):
    """Is this entry of a lab a module of the edited sources?"""
    return entry.removesuffix(".ko") in subject.MODULES


def fits(entry, subject):
    """Modules of the path model that was edited do not fit those of the other one."""
    return own(entry, subject) or not ("delaycc" in subject.MODULES and entry.startswith("tcp_"))


def build(name, edits, subject, out):
    """The folder of a rule, with a lab whose modules are of the edited sources, in out."""
    folder = out / name
    texts = edited(name, edits)
    made = stamp(texts)
    if (folder / "stamp").exists() and (folder / "stamp").read_text(encoding="utf-8") == made:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    sources, modules, lab = folder / "src", folder / "modules", folder / "lab"
    shutil.copytree(ROOT / "kernel", sources)
    for file, text in texts.items():
        (sources / "core" / file).write_text(text, encoding="utf-8")
    with open(sources / "Kbuild", "a", encoding="utf-8") as stream:
        stream.write(f"obj-m := {' '.join(f'{module}.o' for module in subject.MODULES)}\n")
    symbols = [] if "delaycc" in subject.MODULES else [f"KBUILD_EXTRA_SYMBOLS={BUILD}/modules/lab/Module.symvers"]
    command = ["make", "-s", "--no-print-directory", "-C", sources, f"KDIR={BUILD}/lab-kernel", "ARCH=um", f"OUT={modules}", *symbols]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"ablation.py: {name}:\n{done.stdout}")
    lab.mkdir(parents=True)
    for entry in sorted(os.listdir(BUILD / "lab")):
        if fits(entry, subject):
            (lab / entry).symlink_to(modules / entry if own(entry, subject) else (BUILD / "lab" / entry).resolve())
    (folder / "stamp").write_text(made, encoding="utf-8")
    return folder


def stored(store, seed, metrics, sweep):
    """{(parameters, algorithm, metric): {trial: value}}"""
    values = {}
    if not store.exists():
        return values
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as results:
        for parameters, algorithm, trial, metric, value in results.execute(
                "select parameters, algorithm, number, name, value from trials, metrics where trial = id and seed = ? order by id", (int(seed),)):
            if metric in metrics:
                values.setdefault((parameters if sweep else "", algorithm, metric), {})[trial] = value
    return values


def run(folder, case, subject, options, algorithms, trials):
    """The values of a case, as stored() has them."""
    scenario, settings, sweep = subject.CASES[case][:3]
    out = folder / re.sub(r"\W+", "-", case)
    if time.monotonic() > options.until or options.case and case not in options.case:
        return stored(out / "results.sqlite", options.seed, subject.METRICS[scenario], sweep)
    command = [BUILD / "delaycc", "run", scenario, "--cc", ",".join(algorithms), "--seed", options.seed, "--jobs", "1",
               "--trials", str(trials), "--quiet", "--out", out]
    command += ["--sweep"] if sweep else []
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env={**os.environ, "DELAYCC_LAB": str(folder / "lab")}, cwd=ROOT)
    # 1: a trial failed twice, as where a rule is needed for a flow to get on at all.
    failed = re.findall(r"failed twice: (\S+) trial", done.stdout)
    if done.returncode and not (done.returncode == 1 and failed and (out / "results.sqlite").exists()):
        sys.exit(f"ablation.py: {' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout[:2000]}")
    note_failed(folder, case, {name: failed.count(name) for name in algorithms}, trials)
    return stored(out / "results.sqlite", options.seed, subject.METRICS[scenario], sweep)


def failures(folder):
    """{case: {algorithm: (trials that failed, of how many)}}"""
    file = folder / "failed.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def note_failed(folder, case, counts, trials):
    noted = failures(folder)
    for name, count in counts.items():
        noted.setdefault(case, {}).pop(name, None)
        if count:
            noted[case][name] = (count, trials)
    (folder / "failed.json").write_text(json.dumps(noted), encoding="utf-8")


def short(case):
    return case.removeprefix("held-out/")


def trials_of(case, subject, options):
    return int(options.trials or subject.CASES[case][3]) * options.times


def measure(folder, case, subject, options, default=None):
    """{(case, parameters, algorithm, metric): {trial: value}}; default: the same with the rule."""
    trials = trials_of(case, subject, options)
    algorithms = (*subject.CASES[case][4:], subject.ALGORITHMS)[0]
    values = {}
    if default is not None and trials > FIRST:
        values = run(folder, case, subject, options, algorithms, FIRST)
        algorithms = [name for name in algorithms if not unmoved(values, default, case, name)]
    if algorithms:
        values.update(run(folder, case, subject, options, algorithms, trials))
    return {(case, *key): by_trial for key, by_trial in values.items()}


def unmoved(values, default, case, algorithm):
    """Are the first trials of an algorithm what they are with the rule?  Not where they failed."""
    mine = {(case, *key): by_trial for key, by_trial in values.items() if key[1] == algorithm}
    has = {key for key in default if key[0] == case and key[2] == algorithm}
    return bool(mine) and mine.keys() == has and all(
        default[key].get(trial) == value for key, by_trial in mine.items() for trial, value in by_trial.items())


# ---- comparing -----------------------------------------------------------------------------------

def chance(values):
    """How likely a mean so far from 0 is where 0 is right: Student's t, two-sided."""
    deviation = statistics.stdev(values)
    if not deviation:
        return 1.0 if not any(values) else 0.0
    angle = math.atan(abs(statistics.mean(values)) / deviation * (len(values) / (len(values) - 1)) ** 0.5)
    return area(angle, len(values) - 2) / area(0, len(values) - 2)


def area(angle, power, steps=2000):
    """Of cos^power from angle to 90 degrees (Simpson)."""
    width = (math.pi / 2 - angle) / steps
    return width / 3 * sum((1 if i in (0, steps) else 4 if i % 2 else 2) * max(math.cos(angle + i * width), 0) ** power for i in range(steps + 1))


def compare(default, values, least):
    """([(key, with, without, mean difference, half of its interval, sure?)] of the figures beyond it, compared, moved)"""
    found, chances, compared = [], [], 0
    for key in sorted(values):
        both = sorted(default.get(key, {}).keys() & values[key].keys())
        differences = [values[key][trial] - default[key][trial] for trial in both]
        if not both or len(both) < 2 and any(differences):
            continue
        compared += 1
        if not any(differences):
            continue
        half, mean = half_width(differences), statistics.mean(differences)
        with_it = statistics.mean(default[key][trial] for trial in both)
        chances.append(chance(differences))
        if abs(mean) > half and abs(mean) > least * abs(with_it):
            found.append((key, with_it, with_it + mean, mean, half, chances[-1]))
    sure = holm(chances)
    return [(*figure[:-1], figure[-1] <= sure) for figure in found], compared, len(chances)


def holm(chances, level=0.05):
    """The greatest of the chances that is still below it among them all; -1: none is."""
    sure = -1.0
    for rank, value in enumerate(sorted(chances)):
        if value > level / (len(chances) - rank):
            break
        sure = value
    return sure


def number(metric, value, sign=""):
    value /= 1000 if metric.endswith("_bytes") else 1
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 3
    return f"{value:{sign}.{digits}f}"


def unit(metric):
    return " KB" if metric.endswith("_bytes") else " us" if metric.endswith("_us") else ""


def rows(name, counted, comparison, most, failed=None):
    """Of the table: the trials that failed, and those figures that differ most."""
    found, compared, moved = comparison
    head, made = [name, *map(str, counted)], []
    for case, algorithms in sorted((failed or {}).items()):
        for algorithm, (count, trials) in sorted(algorithms.items()):
            made.append(head + [f"{short(case)} {algorithm}: trials that failed", "", f"{count} of {trials}", ""])
            head = ["", "", ""]
    if not found:
        return [*made, head + [f"none of {compared} ({moved} differ in some trial)", "", "", ""]]
    found = sorted(found, key=lambda figure: (not figure[5], -abs(figure[3]) / max(abs(figure[1]), 1e-9)))
    # Of each case's metric the algorithm that differs most, before the other algorithms.
    of_each = {}
    for figure in found:
        of_each.setdefault((figure[0][:2], figure[0][3]), figure)
    found = sorted(found, key=lambda figure: figure not in of_each.values())
    for (case, parameters, algorithm, metric), with_it, without, mean, half, sure in found[:most]:
        label = " ".join(filter(None, (short(case), parameters, algorithm)))
        made.append(head + [f"{label}: {metric}", number(metric, with_it), number(metric, without) + unit(metric),
                            f"{number(metric, mean, '+')} ± {number(metric, half)}{'*' if sure else ''}"])
        head = ["", "", ""]
    if len(found) > most:
        made.append(head + [f"and {len(found) - most} more of {compared}", "", "", ""])
    return made


def merge(new, shown, order):
    """The shown table with the new one's rules instead of its own, in the order of the definitions."""
    def by_rule(lines):
        made, name = {}, ""
        for row in lines[2:]:
            name = row[0] or name
            made.setdefault(name, []).append(row)
        return made

    fresh, old = by_rule(page.rows(new)), by_rule(page.rows(shown))
    both = {**old, **fresh}
    return page.table(HEAD, [row for name in [*order, *(name for name in both if name not in order)] for row in both.get(name, [])])


# ---- the command ---------------------------------------------------------------------------------

def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mechanism", nargs="*", metavar="RULE", help="names of --list, or several with + between, which go together")
    parser.add_argument("--of", default="oscar", choices=SUBJECTS, help="the subject (default oscar)")
    parser.add_argument("--list", action="store_true", help="name the rules")
    parser.add_argument("--build", action="store_true", help="build the modules of each rule, and run nothing")
    parser.add_argument("--seed", default="9001", help="of all random times (default 9001)")
    parser.add_argument("--trials", type=int, help="of each case (default: the definitions')")
    parser.add_argument("--times", type=int, default=1, help="this many times the trials of each case (default 1)")
    parser.add_argument("--case", action="append", help="run this case alone (may be given more than once; what others have is compared)")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no trials after this many; what is there is compared (default: all)")
    parser.add_argument("--least", type=float, default=0.01, help="least difference shown, as a part of the figure (default 0.01)")
    parser.add_argument("--most", type=int, default=5, help="figures shown of a rule (default 5)")
    parser.add_argument("--page", action="store_true", help="write into docs/design/ablation.md")
    parser.add_argument("--out", default=BUILD / "ablation", type=pathlib.Path, help="folder (default build/ablation)")
    options = parser.parse_args()
    options.until = time.monotonic() + 60 * options.minutes
    return options


def together(name, subject):
    """A rule, or several with + between: what, edits, owns, cases."""
    if name in subject.MECHANISMS:
        return subject.MECHANISMS[name]
    parts = []
    for part in name.split("+"):
        if part not in subject.MECHANISMS:
            sys.exit(f"ablation.py: no rule \"{part}\" (--list names them)")
        parts.append(subject.MECHANISMS[part])
    owns = [item for what, edits, owns, cases in parts for item in owns]
    return ("together", [edit for part in parts for edit in part[1]], owns if all(part[2] for part in parts) else [],
            list(dict.fromkeys(case for part in parts for case in part[3])))


def main():
    options = arguments()
    subject = definitions(options.of)
    if options.list:
        for name, (what, *_) in subject.MECHANISMS.items():
            print(f"{name:20} {what}")
        return
    out = options.out.absolute() / options.of
    rules = {name: together(name, subject) for name in options.mechanism or subject.MECHANISMS}
    sources, default, table, done = Sources(), {}, [], set()
    as_it_is = build("as-it-is", [], subject, out)
    print(page.table(HEAD, []), flush=True)
    for name, mechanism in rules.items():
        folder = build(name, mechanism[1], subject, out)
        counted = sources.count(mechanism[1], mechanism[2])
        if options.build:
            print(f"| {name} | built | {counted[0]} | {counted[1]} |", flush=True)
            continue
        values = {}
        for case in mechanism[3]:
            if case not in done:
                done.add(case)
                default.update(measure(as_it_is, case, subject, options))
            values.update(measure(folder, case, subject, options, default))
        made = rows(name, counted, compare(default, values, options.least), options.most, failures(folder))
        print(page.text(made), flush=True)
        table += made
    if options.page:
        shown = page.Page(PAGE)
        shown.put(options.of, MAKER, page.table(HEAD, table),
                  (lambda new, old: merge(new, old, list(subject.MECHANISMS))) if options.mechanism else None)
        shown.save()


if __name__ == "__main__":
    main()
