#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the rooms of harness/ include each other in one direction only, and as their READMEs say.

usage: rooms.py [--draw]

A room is a folder of harness/ with C++ code, named by its path below harness/. Its README.md has a line
"May include: a, b." with the rooms whose headers it may use ("nothing" for none). A folder of its own with a
README is a room of its own. Exit status 1 and a line for each include that is not allowed, each arrow of a
README that no include uses, and each cycle.
"""

import argparse
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
HARNESS = TOP / "harness"
README_LINES = 20


def files(pattern):
    """Files of harness/, without the packages that `make setup` puts there."""
    return [path for path in sorted(HARNESS.rglob(pattern)) if "node_modules" not in path.parts]


def find_rooms():
    """Room name -> rooms that it may include, and what is wrong with the READMEs."""
    allowed, wrong = {}, []
    for readme in files("README.md"):
        name = str(readme.parent.relative_to(HARNESS))
        text = readme.read_text()
        found = re.search(r"^May include: (.+)\.$", text, re.MULTILINE)
        if not found:
            wrong.append(f"harness/{name}/README.md: no line \"May include: ROOM, ROOM.\"")
            continue
        if len(text.splitlines()) > README_LINES:
            wrong.append(f"harness/{name}/README.md: more than {README_LINES} lines")
        allowed[name] = [] if found[1] == "nothing" else re.split(r", ", found[1])
    return allowed, wrong


def room_of(path, rooms):
    """The innermost room of a file below harness/, or None."""
    for folder in path.relative_to(HARNESS).parents:
        if str(folder) in rooms:
            return str(folder)
    return None


def find_arrows(rooms):
    """(from, to) -> "file:line" of the first include, and what is wrong."""
    arrows, wrong = {}, []
    for path in files("*.cc") + files("*.h"):
        name = path.relative_to(TOP)
        room = room_of(path, rooms)
        if room is None:
            if "kernel" not in path.parts:
                wrong.append(f"{name}: in no room (a folder with a README.md)")
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = re.match(r'#include "([^"]+)"', line)
            if not found:
                continue
            target = HARNESS / found[1]
            if not target.exists():
                wrong.append(f"{name}:{number}: \"{found[1]}\" is not below harness/")
                continue
            other = room_of(target, rooms)
            if other != room:
                arrows.setdefault((room, other), f"{name}:{number}")
    return arrows, wrong


def find_cycle(allowed):
    """Rooms on a cycle of what the READMEs allow, or None."""
    done = set()

    def visit(room, path):
        if room in path:
            return path[path.index(room):] + [room]
        if room in done:
            return None
        for other in allowed.get(room, []):
            cycle = visit(other, path + [room])
            if cycle:
                return cycle
        done.add(room)
        return None

    for room in sorted(allowed):
        cycle = visit(room, [])
        if cycle:
            return cycle
    return None


def floors(allowed):
    """Rooms by the longest way down, lowest first."""
    height = {}

    def measure(room):
        if room not in height:
            height[room] = 1 + max((measure(other) for other in allowed[room]), default=0)
        return height[room]

    for room in allowed:
        measure(room)
    return [[room for room in sorted(height) if height[room] == level] for level in sorted(set(height.values()))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--draw", action="store_true", help="print the rooms, lowest floor last, with what each includes")
    options = parser.parse_args()
    allowed, wrong = find_rooms()
    arrows, more = find_arrows(allowed)
    wrong += more
    for (room, other), where in sorted(arrows.items(), key=lambda item: item[1]):
        if other not in allowed[room]:
            wrong.append(f"{where}: {room} may not include {other} (harness/{room}/README.md)")
    for room, others in sorted(allowed.items()):
        for other in others:
            if other not in allowed:
                wrong.append(f"harness/{room}/README.md: there is no room {other}")
            elif (room, other) not in arrows:
                wrong.append(f"harness/{room}/README.md: {room} never includes {other}")
    cycle = find_cycle(allowed)
    if cycle:
        wrong.append("the READMEs allow a cycle: " + " -> ".join(cycle))
    elif options.draw:
        for floor in reversed(floors(allowed)):
            for room in floor:
                print(f"{room:12} -> {', '.join(sorted(allowed[room])) or 'nothing'}")
            print()
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
