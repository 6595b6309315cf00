#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/agent.py on a terminal: it asks, Ctrl-C is no error of Python's, and the session goes on."""
import os
import pty
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
AGENT = os.path.join(HERE, "..", "..", "examples", "agent.py")


def talk(*steps):
    """Each step is what is waited for and what is typed then. Returns all that was shown, and the exit code."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, AGENT])
    shown, seen = b"", 0
    try:
        for wait, typed in steps:
            while wait not in shown[seen:]:
                shown += os.read(fd, 4096)
            seen = len(shown)
            os.write(fd, typed)
        while more := os.read(fd, 4096):
            shown += more
    except OSError:  # the other end is closed
        pass
    os.close(fd)
    return shown.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


with tempfile.TemporaryDirectory() as home:
    os.environ.update(REPRISE_HOME=home, PATH=os.path.dirname(os.environ["REPRISE"]) + ":" + os.environ["PATH"])
    shown, code = talk((b"you: ", b"my train leaves at nine\n"), (b"remember that.\r\nyou: ", b"\x03"))
    assert code == 130 and "interrupted" in shown and "Traceback" not in shown, (code, shown)
    shown, code = talk((b"with 2 messages)\r\nyou: ", b"when does my train leave?\n"), (b"at nine\"\r\nyou: ", b"\x04"))
    assert code == 0 and "Traceback" not in shown, (code, shown)
    shown, code = talk((b"(a new session)\r\nyou: ", b"\x04"))
    assert code == 0 and "Traceback" not in shown, (code, shown)
print("asked, interrupted, came back and ended")
