#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns cues.ini into the tables that the digest is compiled with: cues.py INI HEADER.

Phrases are sorted into buckets by their list and first two bytes, so that a text is compared with few of them.
"""
import hashlib
import re
import sys

LISTS = ["rules", "rule beginnings", "lasting rules", "no rules", "pointing words", "go on", "refusals", "announcements", "fillers", "errors", "noise", "quiet commands", "edit tools",
         "run tools", "todo tools", "ask tools", "plan tools", "log lines"]
BUCKETS = 2048


def read(path):
    lists, section = {name: [] for name in LISTS}, None
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if not line.strip() or line.startswith(";"):
            continue
        if line.startswith("["):
            section = lists[line.strip()[1:-1]]
            continue
        value = line.strip() if line[0] == " " else line.split("=", 1)[1].strip()
        for entry in re.split(r" \| ", value):
            if entry != entry.lower():
                sys.exit(f"{path}:{number}: '{entry}' is not in lower case")
            if entry and entry not in section:
                section.append(entry)
    return lists


def literal(raw):
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in raw) + '"'


def bucket(which, raw):
    return (which * 347 + raw[0] * 31 + (raw[1] if len(raw) > 1 else 0)) % BUCKETS


def main():
    ini, header = sys.argv[1:]
    lists = read(ini)
    cues = [(bucket(i, e.encode()), e.encode(), i) for i, name in enumerate(LISTS) if name != "log lines" for e in lists[name]]
    cues.sort()
    with open(header, "w", encoding="ascii") as out:
        out.write("/* Made from cues.ini by tools/cues.py. */\n")
        out.write("static const struct cue cues[] = {\n")
        for _, raw, which in cues:
            goes_on = raw.endswith(b"*") and len(raw) > 1
            text = raw[:-1] if goes_on else raw
            out.write(f"    {{{literal(text)}, {len(text)}, {which}, {'true' if goes_on else 'false'}}},\n")
        out.write("};\nstatic const uint16_t cue_buckets[] = {\n    ")
        out.write(", ".join(str(sum(c[0] < b for c in cues)) for b in range(BUCKETS + 1)))
        out.write("\n};\nstatic const char *const log_patterns[] = {\n")
        patterns = sorted((e.encode() for e in lists["log lines"]), key=lambda e: e[0])
        for entry in patterns:
            out.write(f"    {literal(entry)},\n")
        out.write("};\nstatic const uint16_t log_buckets[] = {\n    ")
        out.write(", ".join(str(sum(e[0] < b for e in patterns)) for b in range(257)))
        out.write("\n};\n")
        digest = hashlib.blake2b(repr(sorted(lists.items())).encode(), digest_size=8).hexdigest()
        out.write(f'#define CUES_HASH "{digest}"\n')


main()
