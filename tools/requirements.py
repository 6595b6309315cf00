#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the last column of docs/requirements.md: the test files that cite each requirement.

usage: requirements.py [--check]
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = "docs/requirements.md"
ID = r"\b([NLCXOB]-\d\d)\b"
NOT_YET = "not yet"


def citations():
    """Test files by the requirement they cite."""
    found = {}
    for folder, subs, names in os.walk(os.path.join(ROOT, "tests")):
        subs[:] = sorted(s for s in subs if s not in ("corpus", "data", "lint", "node_modules", "__pycache__"))
        for name in sorted(names):
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8", errors="replace") as f:
                for cited in set(re.findall(ID, f.read())):
                    found.setdefault(cited, []).append(os.path.relpath(path, os.path.join(ROOT, "tests")))
    return found


def rows(page):
    """(id, the last column) of each requirement of the page."""
    return re.findall(r"^\| ([NLCXOB]-\d\d) \|.*\| ?([^|\n]*?) ?\|$", page, re.M)


def column(requirement, old, found):
    paths = found.get(requirement)
    if not paths:
        return NOT_YET if old == NOT_YET else ""
    return " ".join("`%s`" % p for p in sorted(paths))


def rewritten(page, found):
    def row(m):
        text = column(m.group(2), m.group(3).strip(), found)
        return m.group(1) + (" %s |" % text if text else " |")

    return re.sub(r"^(\| ([NLCXOB]-\d\d) \|.*\|)([^|\n]*)\|$", row, page, flags=re.M)


def main():
    path = os.path.join(ROOT, PAGE)
    with open(path, encoding="utf-8") as f:
        page = f.read()
    new = rewritten(page, citations())
    if "--check" in sys.argv:
        if new != page:
            sys.exit("%s is out of date: run tools/requirements.py" % PAGE)
    elif new != page:
        with open(path, "w", encoding="utf-8") as f:
            f.write(new)


if __name__ == "__main__":
    main()
