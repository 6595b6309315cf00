#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Plays a program in a terminal, as somebody at the keyboard would.

usage: terminal.py COMMAND…      the play stands on stdin, a line each

  wait TEXT     until the program has shown it since the last wait; blanks do not count, for a screen is drawn, not written
  file PATH     until that file is there
  type TEXT     the text, as keys, until it is shown: a key that came together with it would be part of a paste
  key NAME      enter, escape, tab, down
  paste PATH    the file's text, as a terminal pastes it
  hangup        the terminal is closed
  kill          SIGKILL to the program and what it started

At the end of the play the program has to end by itself. All that was shown goes to stdout; 1 when something did not come.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

PATIENCE = 60  # seconds for each wait
ROWS, COLUMNS = 50, 160
KEYS = {"enter": "\r", "escape": "\033", "tab": "\t", "down": "\033[B"}
ESCAPES = re.compile(rb"\033\[[0-9;?<>=]*[ -/]*[@-~]|\033\][^\007\033]*(?:\007|\033\\)|\033[()][A-Z0-9]|\033.")


class Terminal:
    def __init__(self, words):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvp(words[0], words)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.shown, self.seen = b"", 0

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.shown += data
        return bool(data)

    def wait(self, done, what):
        until = time.monotonic() + PATIENCE
        while not done():
            if not self.read(0.05) or time.monotonic() > until:
                os.kill(self.pid, signal.SIGKILL)
                sys.stdout.write(ESCAPES.sub(b"", self.shown[-6000:]).decode(errors="replace"))
                sys.exit("\nterminal: did not come: " + what)

    def wait_text(self, text):
        wanted = re.sub(r"\s", "", text).encode()

        def done():
            return wanted in re.sub(rb"\s", b"", ESCAPES.sub(b"", self.shown[self.seen :]))

        self.wait(done, text)
        self.seen = len(self.shown)

    def quiet(self):
        """The program has taken in what it was given and drawn it."""
        had, until = -1, time.monotonic() + 5
        while had != len(self.shown) and time.monotonic() < until:
            had = len(self.shown)
            self.read(0.3)

    def send(self, text):
        self.quiet()
        os.write(self.fd, text.encode())


def main():
    terminal, verb = Terminal(sys.argv[1:]), ""
    for line in sys.stdin.read().splitlines():
        verb, _, rest = line.partition(" ")
        if verb == "wait":
            terminal.wait_text(rest)
        elif verb == "file":
            terminal.wait(lambda: os.path.exists(rest), rest)
        elif verb == "type":
            terminal.send(rest)
            terminal.wait_text(rest)
        elif verb == "key":
            terminal.send(KEYS[rest])
        elif verb == "paste":
            with open(rest, encoding="utf-8") as f:
                terminal.send("\033[200~" + f.read() + "\033[201~")
        elif verb == "hangup":
            terminal.quiet()
            os.close(terminal.fd)
        elif verb == "kill":
            os.killpg(terminal.pid, signal.SIGKILL)
        else:
            sys.exit("terminal: what is " + verb)
    if verb not in ("hangup", "kill"):
        until = time.monotonic() + PATIENCE
        while terminal.read(0.1):
            if time.monotonic() > until:
                os.killpg(terminal.pid, signal.SIGKILL)
                sys.exit("terminal: the program did not end")
    os.waitpid(terminal.pid, 0)
    sys.stdout.write(ESCAPES.sub(b"", terminal.shown).decode(errors="replace"))


main()
