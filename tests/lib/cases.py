# SPDX-License-Identifier: Apache-2.0
"""The functions test_… of a file, one after the other: each is told of, and the words of the command line choose among them."""
import sys
import time
import traceback


def run(names, wanted):
    """How many failed."""
    failed = 0
    for name, test in [(name[5:], f) for name, f in list(names.items()) if name.startswith("test_")]:
        if wanted and not any(name.startswith(w) for w in wanted):
            continue
        verdict = "ok    "
        began = time.monotonic()
        try:
            test()
        except Exception:
            traceback.print_exc()
            verdict = "FAILED"
            failed += 1
        print(verdict, name.replace("_", " "), "%.1f s" % (time.monotonic() - began), flush=True)
    return failed


def main(names):
    sys.exit(1 if run(names, sys.argv[1:]) else 0)
