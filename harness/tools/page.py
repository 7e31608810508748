# SPDX-License-Identifier: Apache-2.0
"""Tables that a tool makes, in a page of the documentation: between a comment with the table's name and its maker, and <!-- end -->.

A tool that has made a part of a table anew replaces those columns, or those rows, and leaves the others. What does not fit ends the program with
the reason (SystemExit), before anything is written.
"""

import pathlib
import re


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows(shown):
    return [cells(line) for line in shown.splitlines()]


def text(lines):
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)


def table(head, body):
    return text([head, ["---"] * len(head), *body])


def columns(new, shown, keys, names=None):
    """The shown table with columns of the new one in place of its own: those of names, or all. Both begin with as many columns of keys."""
    fresh, lines = rows(new), rows(shown)
    if [row[:keys] for row in fresh] != [row[:keys] for row in lines]:
        raise SystemExit("the page has other cases than were run: make the whole table anew")
    for column, name in enumerate(fresh[0][keys:], keys):
        if names is not None and name not in names:
            continue
        if name not in lines[0]:
            raise SystemExit(f"the page has no column {name}: make the whole table anew")
        for row, made in zip(lines, fresh):
            row[lines[0].index(name)] = made[column]
    return text(lines)


def rows_by_name(new, shown):
    """The shown table with the new one's rows in place of its own; the first column has their names."""
    fresh, lines = rows(new), rows(shown)
    if fresh[0] != lines[0]:
        raise SystemExit("the page's table has another head than was made: make the whole table anew")
    made = {row[0]: row for row in fresh[2:]}
    absent = [name for name in made if name not in [row[0] for row in lines]]
    if absent:
        raise SystemExit(f"the page has no row {', '.join(absent)}: make the whole table anew")
    return text(lines[:2] + [made.get(row[0], row) for row in lines[2:]])


def cells_by_name(new, shown):
    """The shown table with the new one's cells instead of its own; the first row and the first column have their names."""
    fresh, lines = rows(new), rows(shown)
    by_name = {row[0]: row for row in lines[2:]}
    for row in fresh[2:]:
        if row[0] not in by_name:
            raise SystemExit(f"the page has no row {row[0]}: make the whole table anew")
        for name, cell in zip(fresh[0][1:], row[1:]):
            if name not in lines[0]:
                raise SystemExit(f"the page has no column {name}: make the whole table anew")
            by_name[row[0]][lines[0].index(name)] = cell
    return text(lines)


class Page:
    """A page's text; save() writes it."""

    def __init__(self, file):
        self.file = pathlib.Path(file)
        self.text = self.file.read_text(encoding="utf-8")

    def find(self, name, maker):
        mark = f"<!-- {name}: from {maker} -->\n"
        found = re.search(f"{re.escape(mark)}(.*?)\n<!-- end -->", self.text, flags=re.S)
        if not found or self.text.count(mark) > 1:
            raise SystemExit(f"{self.file} has not one {mark}")
        return found

    def get(self, name, maker):
        return self.find(name, maker)[1]

    def put(self, name, maker, new, merge=None):
        """merge: what becomes of the new and the shown table; None: the new one."""
        found = self.find(name, maker)
        self.text = self.text[:found.start(1)] + (merge(new, found[1]) if merge else new) + self.text[found.end(1):]

    def save(self):
        self.file.write_text(self.text, encoding="utf-8")
