#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds dead references to documentation.

usage: check_docs.py [ROOT]      prints one line per mistake; exits 1 if there is any

Checked in the files that git tracks below ROOT (default: this repository):
- a relative link in a .md file names a tracked file or folder, and its #anchor a heading of that file;
- a page named by its path from ROOT, in any text (comments, help, tests), is a tracked file;
- a file of the source tree that a .md file names by its path from ROOT is tracked, or the page has its text in a code block
  with that path behind the language;
- where a .md file says `function()` (`path`), that file has such a function;
- docs/index.md links every page in docs/.
"""

import os
import pathlib
import re
import subprocess

from mistakes import main

LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?[^)]*\)")
# NAME, <name>, * and {a,b} stand for several files.
SOURCE = re.compile(r"(?<![\w/.<-])(?:bpf|harness|kernel|tests|user)/[\w./-]*\w\.\w+\b(?![*{<])")
# DCC_HOOK(name) is a function that is named after its algorithm.
FUNCTION = re.compile(r"`(?:([\w:]+)\(\)|(DCC_HOOK\(\w+\)))` \(`([^`]+)`\)")
MENTION = re.compile(r"(?<![\w/.-])docs/[\w./-]+?\.md\b")


def tracked(root):
    names = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    return [name for name in names.split("\0") if name]


def text_of(path):
    """The file's text, or None where it is a link, a folder, removed, or not text."""
    if path.is_symlink() or not path.is_file():
        return None
    try:
        return path.read_text()
    except UnicodeDecodeError:
        return None


def prose_lines(text):
    """(number, line) outside of fenced code."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, re.sub(r"`[^`]*`", "", line)


def anchors(text):
    """The anchors that GitHub gives to the headings of a page."""
    found = set()
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and re.match(r"#{1,6} ", line):
            slug = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
            unique, n = slug, 0
            while unique in found:
                n += 1
                unique = f"{slug}-{n}"
            found.add(unique)
    return found


def mistakes(root):
    names = tracked(root)
    known = set(names) | {str(parent) for name in names for parent in pathlib.PurePath(name).parents}
    texts = {name: text for name in names if (text := text_of(root / name)) is not None}
    linked_from_index = set()
    for name, text in texts.items():
        # The tests of this check name pages of trees that they make.
        for number, line in enumerate(() if name.startswith("tests/tools/") else text.splitlines(), 1):
            for mention in MENTION.findall(line):
                if mention not in known:
                    yield f"{name}:{number}: no file {mention}"
        if not name.endswith(".md"):
            continue
        shown = set(re.findall(r"^```\w+ (\S+)$", text, re.MULTILINE))
        for number, line in enumerate(text.splitlines(), 1):
            for source in SOURCE.findall(line):
                if source not in known | shown and "NAME" not in source:
                    yield f"{name}:{number}: no file {source}"
            for plain, hook, path in FUNCTION.findall(line):
                if not re.search(rf"\b{re.escape(plain or hook)}\(", texts.get(path, "")):
                    yield f"{name}:{number}: no {plain or hook} in {path}"
        for number, line in prose_lines(text):
            for target in LINK.findall(line):
                if re.match(r"[a-z][a-z0-9+.-]*:", target):
                    continue
                path, _, anchor = target.partition("#")
                file = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
                if file not in known:
                    yield f"{name}:{number}: dead link {target}"
                elif anchor and anchor not in anchors(texts.get(file, "")):
                    yield f"{name}:{number}: no heading #{anchor} in {file}"
                elif name == "docs/index.md":
                    linked_from_index.add(file)
    for name in sorted(texts):
        if name.startswith("docs/") and name.endswith(".md") and name not in linked_from_index | {"docs/index.md"}:
            yield f"{name}: docs/index.md has no link to this page"


if __name__ == "__main__":
    main(mistakes)
