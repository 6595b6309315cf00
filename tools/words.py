#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns words.ini into the table that the words of texts are looked up in: words.py INI HEADER.

The table is open-addressed by the hash that src/facets/words.h has for words; a probe that meets an empty place ends.
"""
import sys

SECTIONS = ["stop", "general"]
SIZE = 8192
WORD_MAX = 48


def word_hash(raw):
    h = len(raw)
    raw += b"\0" * (-len(raw) % 8)
    for i in range(0, len(raw), 8):
        h = (h ^ int.from_bytes(raw[i:i + 8], "little")) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
        h ^= h >> 29
    return h >> 16 & 0xFFFFFFFF


def read(path):
    words, section = {}, None
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        if not line.strip() or line.startswith(";"):
            continue
        if line.startswith("["):
            section = SECTIONS.index(line.strip()[1:-1])
            continue
        for word in (line if line[0] == " " else line.split("=", 1)[1]).split():
            if word != word.lower() or len(word.encode()) > WORD_MAX:
                sys.exit(f"{path}:{number}: '{word}' is too long or not in lower case")
            words.setdefault(word.encode(), section)
    return words


def literal(raw):
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in raw) + '"'


def main():
    ini, header = sys.argv[1:]
    words = sorted(read(ini).items())
    places, text, at = [None] * SIZE, [], 0
    if 3 * len(words) > 2 * SIZE:
        sys.exit(f"{ini}: {len(words)} words are too many for a table of {SIZE}")
    for raw, section in words:
        place = word_hash(raw) % SIZE
        while places[place]:
            place = (place + 1) % SIZE
        room = len(raw) + -len(raw) % 8
        places[place] = (at, len(raw), section + 1)
        text.append(raw + b"\0" * (room - len(raw)))
        at += room
    with open(header, "w", encoding="ascii") as out:
        out.write("/* Made from words.ini by tools/words.py. */\n")
        out.write(f"#define LISTED_PLACES {SIZE}\n")
        out.write("static const char listed_text[] __attribute__((aligned(8))) =\n")
        out.writelines(f"    {literal(raw)}\n" for raw in text)
        out.write("    ;\nstatic const struct listed listed[LISTED_PLACES] = {\n")
        out.writelines(f"    [{i}] = {{{p[0] // 8}, {p[1]}, {p[2]}}},\n" for i, p in enumerate(places) if p)
        out.write("};\n")


main()
