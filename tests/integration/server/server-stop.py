#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stopping ends, whatever was asked before, whoever is connected, and whatever is still at work (C-07, L-03).

usage: server-stop.py [NAME…]: only the tests whose names begin so
"""
import fcntl
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
import cases  # noqa: E402
from serve import DEADLINE, Server, wait_until  # noqa: E402
from phx import Phoenix  # noqa: E402
from ws import WebSocket  # noqa: E402

PAGE = "https://page.example"
CONFIG = "allowed_origins = %s\n" % PAGE
HUGE = 1 << 40


def ends(s, overdue=None):
    """After SIGTERM it ends by itself: with all done, or, where `overdue` says for what it would wait, at the bound."""
    code = s.stop()
    late = [line for line in s.log if "event=stop_overdue" in line]
    if overdue is None:
        assert code == 0 and not late, (code, list(s.log)[-20:])
        assert [line for line in s.log if "event=stopped" in line], list(s.log)[-20:]
    else:
        assert code == 1 and len(late) == 1 and overdue in late[0], (code, list(s.log)[-20:])
        assert not [line for line in s.log if "event=stopped" in line]


def gauge(s, name):
    return int(re.search(r"^%s (\d+)$" % name, s.get("/metrics").text, re.M).group(1))


def nobody_is_left(s):
    """Who has gone is counted nowhere; the one that asks is."""
    counts = {"reprise_http_pending": 1, "reprise_http_connections": 1, "reprise_server_streams": 0,
              "reprise_server_sockets": 0, "reprise_server_subscriptions": 0, "reprise_server_list_subscriptions": 0,
              "reprise_server_pool_waiting": 0}
    for name, n in counts.items():
        try:
            wait_until(lambda: gauge(s, name) == n)
        except AssertionError:
            raise AssertionError("%s is %d, not %d\n%s" % (name, gauge(s, name), n, "\n".join(s.log)))


def operations(s, sid):
    """Every route as (method, path), its parameters filled in."""
    doc = s.get("/openapi.json").json
    for path, item in doc["paths"].items():
        filled = re.sub(r"\{(\w+)\}", lambda m: sid if m.group(1) == "id" else "1", path)
        for method in item:
            if method in ("get", "post", "put", "patch", "delete"):
                yield method.upper(), filled


def head(method, path, *fields, host="localhost", length=None):
    lines = ["%s %s HTTP/1.1" % (method, path), "Host: " + host, *fields]
    if length is not None:
        lines.append("Content-Length: %d" % length)
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def early_answers(method, path):
    """Requests that are answered before anybody has handled them, by what they are."""
    yield "an allowed preflight", head("OPTIONS", path, "Origin: " + PAGE, "Access-Control-Request-Method: " + method)
    yield "an allowed preflight with a body", head("OPTIONS", path, "Origin: " + PAGE, length=2) + b"{}"
    yield "a foreign preflight", head("OPTIONS", path, "Origin: https://evil.example")
    yield "no preflight", head("OPTIONS", path)
    yield "a method the path has not", head("TRACE", path)
    yield "HEAD", head("HEAD", path)
    yield "a parameter the path has not", head(method, path + "?nonsense=1", length=0)
    yield "a foreign host", head(method, path, host="evil.example", length=0)
    yield "a wrong token", head(method, path, "Authorization: Bearer wrong", length=0)
    yield "a body that is too large", head(method, path, length=HUGE)
    yield "too large, and asked before", head(method, path, "Expect: 100-continue", length=HUGE)
    yield "a body in chunks that is too large", (head(method, path, "Transfer-Encoding: chunked") +
                                                 b"1000001\r\n" + b" " * 100000)
    yield "two lengths", head(method, path, "Content-Length: 1", length=2) + b"{}"
    yield "a length that is none", head(method, path, "Content-Length: x")
    yield "a body that is no JSON", head(method, path, "Content-Type: application/json", length=1) + b"{"
    yield "another type of body", head(method, path, "Content-Type: image/png", length=1) + b"x"
    yield "a head that is too large", head(method, path, "X-Long: " + "x" * 20000)
    yield "an upgrade that is none", head(method, path, "Upgrade: websocket", "Connection: Upgrade")


def ask(s, data, seconds=0.05):
    """Sends, waits for the beginning of an answer (streams and cut connections have none), and hangs up."""
    with s.socket() as c:
        try:
            c.sendall(data)
            if select.select([c], [], [], seconds)[0]:
                c.recv(4096)
        except ConnectionError:
            pass  # refused before all of it was read


# ---- what was asked before ----


def test_one_allowed_preflight_and_the_server_stops():
    with Server(config=CONFIG) as s:
        connection = s.connect()
        for _ in range(2):  # the connection stays open between them
            answer = s.request("OPTIONS", "/v1/sessions", headers={"Origin": PAGE}, connection=connection)
            assert answer.status == 204 and answer.headers["Access-Control-Allow-Origin"] == PAGE, answer
        assert s.post("/v1/sessions", {"scope": "otters"}, headers={"Origin": PAGE}, connection=connection).status == 201
        ends(s)


def test_every_early_answer_of_every_route_leaves_nothing_behind():
    with Server(config=CONFIG, args=["--access-log", "off"]) as s:
        sid = s.post("/v1/sessions", {"scope": "otters"}).json["session_id"]
        kinds = set()
        for method, path in list(operations(s, sid)):
            for kind, data in early_answers(method, path):
                ask(s, data, 2)
                kinds.add(kind)
        assert len(kinds) == 18, sorted(kinds)
        nobody_is_left(s)
        ends(s)


# ---- who is connected ----


PHASES = {
    "nothing sent": b"",
    "half a request line": b"GET /v1/ses",
    "half a head": b"POST /v1/sessions HTTP/1.1\r\nHost: local",
    "no body": head("POST", "/v1/sessions", length=100),
    "half a body": head("POST", "/v1/sessions", length=100) + b'{"scope":',
    "half a chunk": head("POST", "/v1/sessions", "Transfer-Encoding: chunked") + b"100\r\n{",
    "waiting for 100": head("POST", "/v1/sessions", "Expect: 100-continue", length=100),
    "half a preflight's body": head("OPTIONS", "/v1/sessions", "Origin: " + PAGE, length=100) + b"{",
    "an answer nobody reads": head("GET", "/openapi.json") * 50,
    "a slow route's answer nobody reads": head("POST", "/v1/sessions", length=18) + b'{"scope":"otters"}',
    "a stream nobody reads": head("GET", "/v1/sessions/stream"),
    "a refused WebSocket": head("GET", "/socket/websocket?vsn=2.0.0", "Upgrade: websocket", "Connection: Upgrade"),
    "a WebSocket that says nothing": head("GET", "/socket/websocket?vsn=2.0.0", "Upgrade: websocket",
                                          "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                                          "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="),
}


def test_those_who_vanish_in_any_phase_hold_nothing_up():
    with Server(config=CONFIG, args=["--access-log", "off"]) as s:
        for data in PHASES.values():
            for farewell in (True, False):
                with s.socket() as c:
                    c.sendall(data)
                    if not farewell:
                        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        nobody_is_left(s)
        ends(s)


def test_those_who_stay_in_any_phase_hold_nothing_up():
    with Server(config=CONFIG, args=["--access-log", "off"]) as s:
        stuck = []
        for data in PHASES.values():
            stuck.append(s.socket())
            stuck[-1].sendall(data)
        silent = Phoenix(s)
        silent.join("session:otter", {"scope": "otters"})
        agent = WebSocket(s.socket(), "localhost", "/socket/websocket?vsn=2.0.0")
        ends(s)
        for c in stuck + [silent.sock, agent.sock]:
            c.close()


# ---- what is still at work ----


class WritersTurn:
    """Holds the turn of writers: whatever is to be stored waits, for longer than the bounds of these tests."""

    def __init__(self, s):
        self.f = open(s.db[len("sqlite:"):] + ".runs", "r+b")
        fcntl.lockf(self.f, fcntl.LOCK_EX, 1, 0)

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.f.close()


def waiting_start(s):
    """A start that a thread of the pool is busy with, for as long as nobody may write."""
    c = s.socket()
    c.sendall(head("POST", "/v1/sessions", length=18) + b'{"scope":"otters"}')
    wait_until(lambda: gauge(s, "reprise_http_pending") == 2)  # it, and who asks
    return c


def test_a_job_of_the_pool_is_cut_off_at_the_bound():
    with Server(config="stop_s = 1\n") as s, WritersTurn(s), waiting_start(s):
        ends(s, overdue="waited_for=")


def test_a_second_signal_shortens_the_bound():
    with Server(config="stop_s = 3600\n") as s, WritersTurn(s), waiting_start(s):
        s.process.send_signal(signal.SIGTERM)
        s.wait_log("event=stopping")
        ends(s, overdue="waited_for=")


def test_a_third_signal_ends_it_where_it_stands():
    with Server(config="stop_s = 3600\n") as s, WritersTurn(s), waiting_start(s):
        s.process.send_signal(signal.SIGTERM)
        s.wait_log("event=stopping")

        def ended():  # each as soon as the one before was taken: two that wait at once are one
            s.process.send_signal(signal.SIGTERM)
            return s.process.poll() is not None
        wait_until(ended)
        assert s.wait() == -signal.SIGTERM
        assert not [line for line in s.log if "event=stop_overdue" in line]


def test_what_was_acknowledged_is_there_after_a_stop_at_the_bound():
    with Server(config="stop_s = 1\n") as s:
        sid = s.post("/v1/sessions", {"scope": "otters", "key": "river"}).json["session_id"]
        acked = [s.post("/v1/sessions/river/events", {"kind": "x-crumb", "body": {"n": i}}).json["seq"] for i in range(5)]
        with WritersTurn(s), waiting_start(s):
            ends(s, overdue="waited_for=")
        s.start()
        got = [e["seq"] for e in s.get("/v1/sessions/%s/events?kind=x-crumb" % sid).json["events"]]
        assert got == acked, (got, acked)
        ends(s)


def test_a_log_that_nobody_reads_holds_nothing_up():
    s = Server(config="stop_s = 1\n")
    address = os.path.join(s.folder, "socket")
    process = subprocess.Popen([s.program, "--listen", "unix:" + address], env=s.env, stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    clients = []

    def unanswered():
        """Whether a thread that answers waits for room in the log."""
        c = socket.socket(socket.AF_UNIX)
        clients.append(c)
        c.settimeout(1)
        c.connect(address)
        try:
            c.sendall(head("GET", "/" + "x" * 150) * 30)
            return not c.recv(65536)
        except TimeoutError:
            return True

    try:
        while b"event=ready" not in process.stderr.readline():
            assert process.poll() is None
        wait_until(unanswered)
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE) in (1, -signal.SIGALRM)
    finally:
        for c in clients:
            c.close()
        process.kill()
        process.wait()
        process.stderr.close()


if __name__ == "__main__":
    cases.main(globals())
