#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the results of one `meson test` run.

usage: tally.py NAME TESTLOG.json LOG

Shows on stderr what failed, with its output, and prints "passed failed skipped".
A test program made of cmocka cases counts as its cases, any other as one.
"""
import json
import os
import re
import sys

GOOD = {"OK", "EXPECTEDFAIL"}
TAIL = 60  # lines of a failing test's output
QUIET = re.compile(r"^\[ (RUN     |      OK) \]")  # cmocka on cases that went well


def cases(text, word):
    return sum(int(n) for n in re.findall(r"^\[\s+%s\s+\] (\d+) test\(s\)" % word, text, re.M))


def judge(test):
    """(passed, failed, skipped) of one test program."""
    text = test.get("stdout", "") + "\n" + test.get("stderr", "")
    if test["result"] == "SKIP":
        return 0, 0, 1
    passed, failed, skipped = (cases(text, w) for w in ("PASSED", "FAILED", "SKIPPED"))
    if test["result"] in GOOD:
        return (passed, 0, skipped) if passed + skipped else (1, 0, 0)
    return passed, max(failed, 1), skipped


def show(run, test):
    print("---- FAILED (%s, %s): %s" % (run, test["result"], test["name"]), file=sys.stderr)
    print("     " + " ".join(test.get("command", [])), file=sys.stderr)
    for stream in ("stdout", "stderr"):
        lines = [s for s in test.get(stream, "").splitlines() if not QUIET.match(s)]
        if len(lines) > TAIL:
            print("     … %d lines more of %s" % (len(lines) - TAIL, stream), file=sys.stderr)
        for line in lines[-TAIL:]:
            print("     " + line, file=sys.stderr)


def main():
    run, log, talk = sys.argv[1:4]
    if not os.path.exists(log):
        said = open(talk, errors="replace").read()
        if "No suitable tests" in said or "No tests defined" in said:
            print("     nothing of that kind here", file=sys.stderr)
            print("0 0 0")
            return
        print("---- FAILED (%s): no results\n%s" % (run, said[-2000:]), file=sys.stderr)
        print("0 1 0")
        return
    total = [0, 0, 0]
    slow = []
    for line in open(log, errors="replace"):
        test = json.loads(line)
        result = judge(test)
        total = [a + b for a, b in zip(total, result)]
        slow.append((test.get("duration", 0), test["name"]))
        if result[1]:
            show(run, test)
        elif test["result"] == "SKIP" or result[2]:
            why = (test.get("stdout", "") + test.get("stderr", "")).strip().splitlines()
            print("     skipped: %s%s" % (test["name"], ": " + why[-1] if why else ""), file=sys.stderr)
    slow.sort(reverse=True)
    print("     %d passed, %d failed, %d skipped in this run; slowest: %s" %
          (*total, ", ".join("%s %.1f s" % (n, d) for d, n in slow[:3])), file=sys.stderr)
    print(*total)


main()
