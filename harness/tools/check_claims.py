#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a scenario's `claim` is what its [[expect]] sections test.

usage: check_claims.py [FILE...]     FILE: scenarios, by default all of harness/scenarios

A claim that ends with a full stop is a sentence that is true or not. Then the file has
- an [[expect]];
- for a number with a unit ("25 us", "98 %", "ten times"): an [[expect]] with that limit (min, max or value), up to a power of
  ten, as 1.4 ms is max = 1400 and 98 % is min = 0.98; 8 % more is max = 1.08;
- for a comparison ("sooner", "than the others", "as fast as", another algorithm's name): an [[expect]] with `of`, `of_case` or `over`;
- for a trend ("grows", "rises", "falls", "the larger"): an [[expect]] with `over`;
- for a word like "any", "whatever", "however many": an [[expect]] with `every_case = true`;
- no "again at once": within how long?
A claim without a full stop is a topic and asserts nothing. Exit status 1 and a line for what is missing.
"""

import math
import pathlib
import re
import sys
import tomllib

TOP = pathlib.Path(__file__).resolve().parents[2]
WORDS = {word: n for n, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())}
NUMBER = r"(\d+(?:\.\d+)?|" + "|".join(WORDS) + r")"
# What a result is measured in. Flows, hosts and levels are the set-up's.
UNIT = r"(us|ns|ms|s|microseconds?|milliseconds?|%|packets|bytes|kb|mb|[mg]bit/s|times(?! as many))(?!\w)"
# "than a packet", "than one extra BDP" are limits; a lower priority is a name.
COMPARISON = (r"\bthan (?!an?\b|\d|one\b|two\b)[\w-]+|\bas (?!soon|long|well|far|many)\w+ as\b|\bagainst\b|\bcompared\b|"
              r"\b(?:larger|smaller|shorter|(?<!no )longer|sooner|later|faster|slower|stiller|narrower|wider|better|worse|fewer)\b")
TREND = r"\b(?:grows?|rises?|falls?|shrinks?|increases with|decreases with|in proportion|the (?:larger|smaller|more|fewer|wider|longer) the)\b"
GENERAL = r"\b(?:any|whatever|however|always|never)\b"
# Ratios of two methods by their definition.
RATIOS = {"gradient_gain"}


def numbers_of(claim):
    """(text, value) of every number that has a unit; both of "100 to 200 packets"."""
    found = []
    for match in re.finditer(NUMBER + r"(?: (?:to|and|or) " + NUMBER + r")? ?" + UNIT, claim.lower()):
        for text in match.groups()[:2]:
            if text:
                found.append((f"{text} {match[3]}", float(WORDS.get(text, text)), match[3]))
    return found


def limits_of(expectations):
    """Every limit that is a number; an expression of parameters is none."""
    return [float(e[key]) for e in expectations for key in ("min", "max", "value") if isinstance(e.get(key), (int, float))]


def is_limit(value, unit, limits):
    """Whether a limit has the number's digits."""
    wanted = [value]
    if unit == "%":
        wanted += [100 + value, 100 - value]
    if unit == "times" and value:
        wanted.append(1 / value)

    def same(a, b):
        if a == 0 or b == 0:
            return a == b
        power = math.log10(abs(a / b))
        return abs(power - round(power)) < 1e-6
    return any(same(w, limit) for w in wanted for limit in limits)


def missing(scenario):
    """What the claim says and no expectation tests."""
    claim = scenario.get("claim", "")
    if not claim.endswith("."):
        return []
    expectations = scenario.get("expect", [])
    if not expectations:
        return ['is a sentence and there is no [[expect]]; a topic has no full stop']
    lacks = [f'says "{text}", which is the limit of no [[expect]] (min, max or value)'
             for text, value, unit in numbers_of(claim) if not is_limit(value, unit, limits_of(expectations))]
    subject = scenario.get("subject", scenario["cc"][0])
    others = [name for name in scenario["cc"] if not subject.startswith(name)]
    names = [name for name in others if re.search(r"(?<![\w-])" + re.escape(name).replace("_", "[ _-]") + r"(?![\w-])", claim, re.I)]
    compared = re.search(COMPARISON, claim, re.I)
    if (compared or names) and not any(e.keys() & {"of", "of_case", "over"} or e["metric"] in RATIOS for e in expectations):
        lacks.append(f'says "{compared[0] if compared else names[0]}", a comparison, and no [[expect]] has of = "ALGORITHM", an of_case or an over')
    trend = re.search(TREND, claim, re.I)
    if trend and not any("over" in e for e in expectations):
        lacks.append(f'says "{trend[0]}", a trend, and no [[expect]] has over = "PARAMETER"')
    general = re.search(GENERAL, claim, re.I)
    if general and not any(e.get("every_case") or "over" in e for e in expectations):
        lacks.append(f'says "{general[0]}", and no [[expect]] has every_case = true')
    if re.search(r"again at once|at once\.$", claim):
        lacks.append('says "again at once": within how long, as an [[expect]] has it?')
    return lacks


def main():
    """Checks the files, and prints what is missing."""
    failed = False
    for path in [pathlib.Path(name) for name in sys.argv[1:]] or sorted((TOP / "harness/scenarios").rglob("*.toml")):
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(TOP) if path.is_relative_to(TOP) else path
        line = next((i for i, row in enumerate(text.splitlines(), 1) if re.match(r"claim\s*=", row)), 1)
        for what in missing(tomllib.loads(text)):
            print(f"{name}:{line}: claim: {what}")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
