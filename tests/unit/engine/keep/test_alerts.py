#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The alert rules that ship (O-07, L-09) are well-formed, and every metric they name is one that is told.

usage: test_alerts.py RULES SOURCE…: the files whose strings name the metrics

Reads the small part of YAML that the file uses: nested maps, lists of maps, plain and quoted scalars.
"""
import re
import sys


def scalar(text, where):
    if text[0] in "\"'":
        assert len(text) > 1 and text[-1] == text[0], "%s: a quote is not closed" % where
        return text[1:-1]
    assert ": " not in text and not text.startswith(("@", "`", "%", "&", "*", "{", "[")), "%s: must be quoted" % where
    return text


def lines_of(text):
    for n, line in enumerate(text.splitlines(), 1):
        assert "\t" not in line, "line %d: a tab" % n
        assert line == line.rstrip(), "line %d: blanks at its end" % n
        body = line.lstrip(" ")
        if body and not body.startswith("#"):
            yield n, len(line) - len(body), body


def parse(items, at, indent):
    """The value that begins at items[at]; returns it and where it ends."""
    if items[at][2].startswith("- "):
        out = []
        while at < len(items) and items[at][1] == indent and items[at][2].startswith("- "):
            n, _, body = items[at]
            items[at] = (n, indent + 2, body[2:])
            value, at = parse(items, at, indent + 2)
            out.append(value)
        return out, at
    out = {}
    while at < len(items) and items[at][1] == indent and not items[at][2].startswith("- "):
        n, _, body = items[at]
        m = re.match(r"([A-Za-z_]\w*):(?: (.+))?$", body)
        assert m, "line %d: no 'key: value'" % n
        assert m.group(1) not in out, "line %d: the key %s twice" % (n, m.group(1))
        at += 1
        if m.group(2):
            out[m.group(1)] = scalar(m.group(2), "line %d" % n)
        else:
            assert at < len(items) and items[at][1] > indent, "line %d: a key without a value" % n
            out[m.group(1)], at = parse(items, at, items[at][1])
    return out, at


def check_rule(rule, metrics):
    assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}, rule.keys()
    assert re.fullmatch(r"[A-Z]\w+", rule["alert"]), rule["alert"]
    assert re.fullmatch(r"\d+[smhd]", rule["for"]), rule["for"]
    assert rule["expr"].count("(") == rule["expr"].count(")") and rule["expr"].count("{") == rule["expr"].count("}")
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"]["summary"] and rule["annotations"]["description"]
    named = re.findall(r"\breprise_\w+", rule["expr"])
    assert named, rule["expr"]
    for name in named:
        assert re.search(r'"%s"|# TYPE %s ' % (name, name), metrics), "%s is not told" % name
    return rule["alert"]


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    metrics = "".join(open(name, encoding="utf-8").read() for name in sys.argv[2:])
    items = list(lines_of(text))
    doc, end = parse(items, 0, 0)
    assert end == len(items), "line %d: stands too far left or right" % items[end][0]
    assert set(doc) == {"groups"}
    names = [check_rule(rule, metrics) for group in doc["groups"] for rule in group["rules"]]
    assert len(set(names)) == len(names)
    assert "RepriseCheckpointsFail" in names and "RepriseSessionsAbandoned" in names, names
    print("%d rules" % len(names))


main()
