# SPDX-License-Identifier: Apache-2.0
"""What hostile clients need: raw requests, answers told apart, a server that is looked at before and after."""
import contextlib
import os
import re
import resource
import select
import socket
import sqlite3
import sys
import time

import cases
import watch
from serve import DEADLINE, wait_until

RSS_MAX = 64 << 20  # bytes that an attack may leave behind: caches and the allocator's, no more
HOSTILE_S = 600


def statuses(data):
    """The statuses of the answers in it, one after the other."""
    found = []
    while data:
        head, mark, rest = data.partition(b"\r\n\r\n")
        line = re.match(rb"HTTP/1\.[01] (\d{3}) ", head)
        assert line and mark, data[:300]
        if line.group(1) != b"100":
            found.append(int(line.group(1)))
        size = re.search(rb"\r\ncontent-length: *(\d+)", head.lower())
        data = rest[int(size.group(1)):] if size else b""
    return found


def read_all(s):
    """Everything until the other end closes or cuts off."""
    out = b""
    while True:
        try:
            part = s.recv(65536)
        except ConnectionError:
            return out
        if not part:
            return out
        out += part


def read_until(s, mark):
    out = b""
    while mark not in out:
        part = s.recv(65536)
        if not part:
            raise ConnectionError("it ended with %r" % out[-300:])
        out += part
    return out


def has_news(s):
    """Whether something is there to be read, be it the end."""
    return bool(select.select([s], [], [], 0)[0])


def ended(s):
    """Whether the other end has closed; what it said before is read and dropped."""
    try:
        while has_news(s):
            if not s.recv(65536):
                return True
        return False
    except OSError:
        return True


def endless(server, head, piece, most=64 << 20):
    """Sends head and then the same piece again and again, until the server has had enough; what it said."""
    with server.socket() as s:
        s.sendall(head)
        sent = 0
        try:
            while sent < most and not has_news(s):
                s.sendall(piece)
                sent += len(piece)
        except (ConnectionError, TimeoutError):
            pass
        assert sent < most, "it took %d bytes" % sent
        return read_all(s)


def post(path, body, headers=b"Connection: close\r\n"):
    return (b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s"
            % (path.encode(), headers, len(body), body))


def ask(server, path, body, connection=None):
    """A body of bytes as JSON."""
    return server.post(path, body, {"Content-Type": "application/json"}, connection=connection)


def begin(server, key=None):
    answer = server.post("/v1/sessions", {"scope": "otters", "id": key} if key else {"scope": "otters"})
    assert answer.status == 201, answer
    return answer.json["session_id"]


def connect(server, rcvbuf=0):
    """A connected socket that takes few bytes at a time."""
    s = socket.socket()
    if rcvbuf:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    s.settimeout(DEADLINE)
    s.connect(("127.0.0.1", server.port))
    return s


def stream(server, key, rcvbuf=0):
    """An event stream whose head was read."""
    s = connect(server, rcvbuf)
    s.sendall(b"GET /v1/sessions/%s/events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n" % key.encode())
    read_until(s, b"\r\n\r\n")
    return s


def gauge(server, name):
    return float(re.search(r"^%s(?:\{[^}]*\})? (\S+)$" % name, server.get("/metrics").text, re.M).group(1))


def is_up(server):
    try:
        return server.get("/healthz").status == 200
    except (OSError, ValueError):
        return False


def limit_files(pid, n):
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (n, n))


def limit_from_the_start(server, n):
    """The server, not started yet, will have n file descriptors and no way to get more."""
    wrapper = os.path.join(server.folder, "few-files")
    with open(wrapper, "w", encoding="utf-8") as f:
        f.write('#!/bin/sh\nulimit -n %d\nexec "%s" "$@"\n' % (n, server.program))
    os.chmod(wrapper, 0o700)
    server.program = wrapper


def is_sanitized():
    """Whether the server was built with a sanitizer, whose own memory and time say nothing about the server's."""
    return watch.is_sanitized(os.environ["REPRISE_SERVE"])


@contextlib.contextmanager
def held(server):
    """Somebody else has the database for writing."""
    other = sqlite3.connect(server.db[len("sqlite:"):], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()


@contextlib.contextmanager
def unharmed(server):
    """After the attack the server answers, has its memory and sockets back and as many threads, and ends in peace."""
    assert server.get("/healthz").status == 200
    sockets, memory, threads = watch.sockets(server.pid), watch.rss(server.pid), watch.status(server.pid, "Threads")
    yield
    assert server.process.poll() is None, "\n".join(server.log)
    assert server.get("/healthz").status == 200
    wait_until(lambda: watch.sockets(server.pid) <= sockets)
    assert watch.status(server.pid, "Threads") <= threads + 2
    grown = watch.rss(server.pid) - memory
    assert grown < RSS_MAX or is_sanitized(), "%d bytes more than before" % grown
    code = server.stop()
    assert code == 0, (code, "\n".join(server.log)[-8000:])


def main(names):
    """Runs the functions test_… of a file; with REPRISE_SOAK=1 again and again for REPRISE_HOSTILE_S seconds."""
    soak = os.environ.get("REPRISE_SOAK", "0") not in ("", "0")
    end = time.monotonic() + (float(os.environ.get("REPRISE_HOSTILE_S") or HOSTILE_S) if soak else 0)
    rounds = failed = 0
    while not failed and (not rounds or time.monotonic() < end):
        failed = cases.run(names, sys.argv[1:])
        rounds += 1
    print("hostile clients: %d rounds, %d failed" % (rounds, failed))
    sys.exit(1 if failed else 0)
