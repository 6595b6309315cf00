#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What hostile HTTP clients can do to the server: nothing. Each attack ends with a server that answers, whose memory and
file descriptors are as before (X-13, L-13; channels and streams: server-hostile-sockets.py).

usage: server-hostile.py [NAME…]: only the tests whose names begin so. With REPRISE_SOAK=1 all are repeated for
REPRISE_HOSTILE_S seconds (600).
"""
import os
import select
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
import siege  # noqa: E402
import watch  # noqa: E402
from phx import Phoenix  # noqa: E402
from serve import DEADLINE, Server, wait_until  # noqa: E402
from siege import ask, begin, statuses  # noqa: E402

HOST = b"Host: localhost\r\n"
LORIS = 200
EVENT = b'{"kind":"x-otter","body":{"n":1}}'


# ---- slow and silent clients ----


def drip(sockets, pieces, tick, until):
    """A byte of each piece per tick to each socket that is still open; returns those that were never cut off."""
    alive, at, end = dict(enumerate(sockets)), 0, time.monotonic() + DEADLINE
    while alive and time.monotonic() < end and not until():
        for i, s in list(alive.items()):
            piece = pieces[i % len(pieces)]
            try:
                s.send(piece[at % len(piece):][:1])
            except OSError:
                del alive[i]
        at += 1
        readable, _, _ = select.select(list(alive.values()), [], [], tick)
        for i, s in list(alive.items()):
            if s in readable and siege.ended(s):
                del alive[i]
    return alive


def test_slow_loris():
    """Heads that come byte by byte are cut off after request_s; meanwhile everybody else is served."""
    with Server(env={"REPRISE_REQUEST_S": "2"}) as s, siege.unharmed(s):
        heads = [b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"o" * 9000, b"\r\n" * 9000, b"P" * 9000]
        sockets = [s.socket() for _ in range(LORIS)]
        connection, took = s.connect(), []

        def others():
            for _ in range(20):
                began = time.monotonic()
                assert s.get("/healthz", connection=connection).status == 200
                if not siege.ended(sockets[0]):
                    took.append(time.monotonic() - began)

        alive = drip(sockets, heads, 0.2, others)
        assert not alive, "%d were never cut off" % len(alive)
        assert len(took) >= 20, "only %d were served while they dripped" % len(took)
        print("  %d slow clients: %d requests served meanwhile, the slowest in %.1f ms" % (LORIS, len(took), max(took) * 1e3))
        for x in sockets + [connection]:
            x.close()


def test_slow_body():
    """A body that comes byte by byte is cut off too, after four times request_s, and nothing of it is stored."""
    with Server(env={"REPRISE_REQUEST_S": "1"}) as s, siege.unharmed(s):
        sid = begin(s)
        heads = (b"Content-Length: 9000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n2328\r\n")
        sockets = [s.socket() for _ in range(20)]
        for i, x in enumerate(sockets):
            x.sendall(b"POST /v1/sessions/%s/events HTTP/1.1\r\n%sContent-Type: application/json\r\n%s"
                      % (sid.encode(), HOST, heads[i % 2]))
        alive = drip(sockets, [b" " * 9000], 0.2, lambda: s.get("/healthz").status != 200)
        assert not alive, "%d were never cut off" % len(alive)
        for x in sockets:
            x.close()
        assert s.get("/v1/sessions/" + sid).json["seq"] == 0


def test_silent_and_half_open():
    """Who connects and says nothing, says half of it, ends its side, or vanishes with a reset."""
    with Server(env={"REPRISE_REQUEST_S": "1", "REPRISE_IDLE_CONNECTION_S": "1"}) as s, siege.unharmed(s):
        silent = [s.socket() for _ in range(100)]
        for x in silent[50:]:
            x.sendall(b"GET /healthz HTTP/1.1\r\nHost: loc")
        for x in silent[75:]:
            x.shutdown(socket.SHUT_WR)
        for _ in range(200):
            x = s.socket()
            x.sendall(b"GET /v1/sessions HTTP/1.1\r\n" + HOST)
            x.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            x.close()
        idle = s.socket()
        idle.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
        for x in silent + [idle]:
            siege.read_all(x)
            x.close()
        # A whole request whose sender has ended its side is answered.
        with s.socket() as x:
            x.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
            x.shutdown(socket.SHUT_WR)
            assert statuses(siege.read_all(x)) == [200]


def test_gone_before_the_answer():
    """Clients that ask and go: every append is done or not, and no thread is lost."""
    with Server() as s, siege.unharmed(s):
        sid = begin(s)
        for _ in range(300):
            with s.socket() as x:
                x.sendall(siege.post("/v1/sessions/%s/events" % sid, EVENT))
                x.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wait_until(lambda: siege.gauge(s, "reprise_http_pending") == 1)
        journal = s.get("/v1/sessions/%s/events?limit=1000" % sid).json["events"]
        assert [e["seq"] for e in journal] == list(range(1, len(journal) + 1)) and len(journal) <= 300


# ---- heads ----


def test_heads():
    """Malformed request lines and headers: one refusal, then the end; nothing behind it is read as a request."""
    tail = b"GET /metrics HTTP/1.1\r\n" + HOST + b"\r\n"
    line = b"GET /healthz HTTP/1.1\r\n"
    bad = {
        "no words": b"\x01\x02\r\n\r\n", "one word": b"GET\r\n\r\n", "two words": b"GET /healthz\r\n\r\n",
        "two spaces": b"GET  /healthz HTTP/1.1\r\n" + HOST + b"\r\n", "a tab": b"GET\t/healthz\tHTTP/1.1\r\n" + HOST + b"\r\n",
        "version": b"GET /healthz HTTP/9.9\r\n" + HOST + b"\r\n", "TLS": bytes.fromhex("16030100a5010000a10303") + b"\0" * 160,
        "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "absolute": b"GET http://evil.example/ HTTP/1.1\r\n" + HOST + b"\r\n",
        "CONNECT": b"CONNECT evil.example:80 HTTP/1.1\r\n" + HOST + b"\r\n", "fragment": b"GET /healthz#x HTTP/1.1\r\n" + HOST + b"\r\n",
        "no Host": line + b"\r\n", "two Hosts": line + HOST + HOST + b"\r\n", "empty Host": line + b"Host:\r\n\r\n",
        "space in name": line + HOST + b"X Y: 1\r\n\r\n", "space before colon": line + HOST + b"Content-Length : 5\r\n\r\n",
        "no colon": line + HOST + b"nonsense\r\n\r\n", "folded": line + HOST + b"X: 1\r\n 2\r\n\r\n", "no name": line + HOST + b": 1\r\n\r\n",
        "NUL": line + HOST + b"X: a\0b\r\n\r\n", "bare CR": line + HOST + b"X: a\rb\r\n\r\n", "bare LF": b"GET /healthz HTTP/1.1\n" + HOST + b"\n",
        "CL and TE": b"POST /v1/sessions HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "two CL": b"POST /v1/sessions HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\nContent-Length: 5\r\n\r\n",
        "same CL": b"POST /v1/sessions HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
        "CL list": b"POST /v1/sessions HTTP/1.1\r\n" + HOST + b"Content-Length: 0, 5\r\n\r\n",
        "CL sign": b"POST /v1/sessions HTTP/1.1\r\n" + HOST + b"Content-Length: +5\r\n\r\n",
        "CL negative": b"POST /v1/sessions HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n",
        "CL hex": b"POST /v1/sessions HTTP/1.1\r\n" + HOST + b"Content-Length: 0x5\r\n\r\n",
        "CL huge": b"POST /v1/sessions HTTP/1.1\r\n" + HOST + b"Content-Length: 99999999999999999999999\r\n\r\n",
        "TE other": b"POST /v1/sessions HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "TE twice": b"POST /v1/sessions HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        "TE vtab": b"POST /v1/sessions HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
        "TE 1.0": b"POST /v1/sessions HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "path bytes": b"GET /v1/sessions/\xff\xfe HTTP/1.1\r\n" + HOST + b"\r\n",
        "query bytes": b"GET /v1/sessions?scope=\xc3\x28 HTTP/1.1\r\n" + HOST + b"\r\n",
    }
    with Server(env={"REPRISE_REQUEST_S": "1", "REPRISE_IDLE_CONNECTION_S": "1"}) as s, siege.unharmed(s):
        for name, data in bad.items():
            got = s.raw(data + tail)
            assert not got or got[9:12] in (b"400", b"403", b"413", b"505"), (name, got[:300])
            assert got.count(b"HTTP/1.1 ") <= 1, (name, got)
            assert b"reprise_http_requests_total" not in got, (name, got)
        assert s.get("/v1/sessions").json["sessions"] == []


def test_injection():
    """What a client says comes back, in headers, bodies and the log, as text and never as lines of its own."""
    with Server() as s, siege.unharmed(s):
        for value in (b"http://localhost%0d%0aX-Evil:1", b"null", b"http://evil.example\tX: 1", b"\xff\xfe", b"a" * 4000):
            got = s.raw(b"GET /healthz HTTP/1.1\r\n" + HOST + b"Connection: close\r\nOrigin: " + value + b"\r\n\r\n")
            assert statuses(got) in ([400], [403]), (value, got)
            assert b"X-Evil" not in got.split(b"\r\n\r\n")[0] and b"Allow-Origin" not in got, got
        for target in (b"/%0d%0aX-Evil:%201", b"/v1/sessions/a%0d%0aevent=forged", b"/v1/sessions?scope=%0aevent%3dforged"):
            got = s.raw(b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
            assert statuses(got) and b"\nX-Evil" not in got, (target, got)
        assert not [line for line in s.log if not line.startswith("time=") or " event=forged" in line], list(s.log)


def test_oversized():
    """431 for the head; 413 for the body from its length alone, or as soon as it is too much."""
    with Server(env={"REPRISE_MAX_REQUEST_BYTES": "65536"}) as s, siege.unharmed(s):
        for head in (b"X: " + b"o" * 40000 + b"\r\n", b"X: 1\r\n" * 8000, b"".join(b"X%d: %s\r\n" % (i, b"o" * 900) for i in range(30))):
            assert statuses(s.raw(b"GET /healthz HTTP/1.1\r\n" + HOST + head + b"\r\n")) == [431], head[:20]
        assert statuses(s.raw(b"GET /" + b"o" * 60000 + b" HTTP/1.1\r\n" + HOST + b"\r\n")) in ([431], [414])
        assert statuses(siege.endless(s, b"GET /healthz HTTP/1.1\r\n" + HOST, b"X-Endless: " + b"o" * 1000 + b"\r\n")) in ([431], [])
        post = b"POST /v1/sessions HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
        for more in (b"Content-Length: 65537\r\n\r\n", b"Content-Length: 9223372036854775807\r\n\r\n",
                     b"Content-Length: 1000000000\r\nExpect: 100-continue\r\n\r\n"):
            assert statuses(s.raw(post + more)) == [413], more  # not a byte of the body was sent
        chunks = b"8000\r\n" + b" " * 0x8000 + b"\r\n"
        assert statuses(siege.endless(s, post + b"Transfer-Encoding: chunked\r\n\r\n", chunks)) in ([413], [])
        assert statuses(siege.endless(s, post + b"Content-Length: 100000000\r\n\r\n", b" " * 65536)) in ([413], [])
        exact = b'{"scope":"otters","meta":{"text":"%s"}}' % (b"o" * 1000)
        assert statuses(s.raw(siege.post("/v1/sessions", exact.ljust(65536)))) == [201]


def test_chunks():
    """Bad chunking is refused and stores nothing; good chunking works, and the connection ends with it."""
    chunk = b"%x\r\n%s\r\n" % (len(EVENT), EVENT)
    bad = (b"zz\r\n" + EVENT + b"\r\n0\r\n\r\n", b"-1\r\n" + chunk, b"ffffffffffffffffff\r\n" + EVENT, b"0x21\r\n" + EVENT + b"\r\n0\r\n\r\n",
           b"5\r\n" + EVENT + b"\r\n0\r\n\r\n", b"\r\n" + chunk + b"0\r\n\r\n", b"21 \r\n" + EVENT, b";\r\n", chunk + b"0\r\nX: \0\r\n\r\n" * 0 + b"g\r\n")
    with Server(env={"REPRISE_REQUEST_S": "1"}) as s, siege.unharmed(s):
        sid = begin(s)
        head = b"POST /v1/sessions/%s/events HTTP/1.1\r\n%sContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" % (sid.encode(), HOST)
        for body in bad:
            with s.socket() as x:
                x.sendall(head + body)
                x.shutdown(socket.SHUT_WR)
                got = statuses(siege.read_all(x))
            assert got in ([], [400], [413], [422]), (body, got)
        assert s.get("/v1/sessions/" + sid).json["seq"] == 0
        tail = b"GET /metrics HTTP/1.1\r\n" + HOST + b"\r\n"
        assert statuses(s.raw(head + chunk + b"0\r\n\r\n" + tail)) == [200]
        assert s.get("/v1/sessions/" + sid).json["seq"] == 1


def test_pipelining():
    """Requests sent without waiting are answered in order."""
    with Server() as s, siege.unharmed(s):
        one = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
        last = b"GET /nothing HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
        assert statuses(s.raw(one * 500 + last)) == [200] * 500 + [404]


# ---- bodies ----


def test_bodies():
    """Deep, doubled, endless and broken JSON: refused with a place, nothing stored."""
    deep = b"[" * 500000
    bodies = (deep, deep + b"]" * 500000, b'{"a":' * 200000, b'{"kind":"x-a","body":' + b'{"a":' * 65 + b"1" + b"}" * 65 + b"}",
              b'{"kind":"x-a","body":{"a":1,"a":2}}', b'{"kind":"x-a","kind":"x-b","body":{}}', b'{"kind":"x-a","body":{"a":"\xc3\x28"}}',
              b'{"kind":"x-a","body":{"a":"\xed\xa0\x80"}}', b'{"kind":"x-a","body":{"a":"\\ud80"}}', b'{"kind":"x-a","body":{"\\u0000":1e999}}' + b"}",
              b"\xff\xfe{\0}\0", b"\0" * 1000, b'{"kind":"x-a","body":{"n":' + b"9" * 100000, b'{"kind":"../../etc","body":{}}',
              b'{"kind":"' + b"x-" + b"o" * 70000 + b'","body":{}}', b"[" + b"{}," * 20000 + b"{}]", b'"' + b"\\" * 99999)
    with Server() as s, siege.unharmed(s):
        sid = begin(s)
        for path in ("/v1/sessions/%s/events" % sid, "/v1/sessions"):
            for body in bodies:
                answer = ask(s, path, body)
                assert answer.status in (400, 413, 422), (path, body[:60], answer)
                assert answer.json["detail"] and answer.type == "application/problem+json", answer
        assert s.get("/v1/sessions/" + sid).json["seq"] == 0
        assert len(s.get("/v1/sessions").json["sessions"]) == 1


def test_names():
    """Path tricks in ids reach no file: refused, also in headers and members."""
    tricks = ("..", "%2e%2e", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "..%5c..", "%00", "a%00.db", "%ff", "%c0%ae%c0%ae", "%252e%252e", "~root",
              "%2fetc%2fpasswd", "a%2fb", "x" * 129, "x" * 5000, "%u002e", "a%0d%0ab", "%e2%80%ae", ".", "-rf", "$(id)", "%7bid%7d", "'--", "|id")
    with Server() as s, siege.unharmed(s):
        before = sorted(os.listdir(s.folder))
        for name in tricks:
            for path in ("/v1/sessions/%s", "/v1/sessions/%s/state", "/v1/scopes/%s/brief", "/api/sessions/%s/ping", "/%s"):
                got = statuses(s.raw(b"GET %s HTTP/1.1\r\n%sConnection: close\r\n\r\n" % ((path % name).encode(), HOST)))
                assert got in ([400], [404]), (path, name, got)
        for name in ("../x", "a/b", "", "é", "x" * 129, "a\0b", "-a", ".", "a b", "a\nb"):
            for member in ("id", "key", "scope", "channel"):
                answer = s.post("/v1/sessions", dict({"scope": "x"}, **{member: name}))
                assert answer.status in (400, 422), (member, name, answer)
        assert sorted(os.listdir(s.folder)) == before


# ---- who ----


def test_wrong_tokens():
    """Thousands of guesses: 401, then 429 for who is not on this machine; the right one is let in all the while."""
    with Server() as s, siege.unharmed(s):
        right = s.cli("token", "create", "--scope", "zoo").split()[0]
        seen = set()
        connection = s.connect()
        for i in range(2000):
            headers = {"Authorization": "Bearer rpt_%040d" % i, "Host": "localhost", "X-Forwarded-For": "203.0.113.7"}
            seen.add(s.get("/v1/sessions", headers, connection=connection).status)
            if i % 100 == 0:
                headers["Authorization"] = "Bearer " + right
                assert s.get("/v1/sessions", headers, connection=connection).status == 200
        assert seen == {401, 429}, seen
        connection.close()
        for value in ("Bearer", "Bearer ", "Basic cm9vdDpyb290", "Bearer " + "x" * 9000, "bearer rps_" + "A" * 43, "Bearer ' OR 1=1 --"):
            headers = {"Authorization": value}
            assert s.get("/v1/sessions", headers).status in (401, 403), value


def test_foreign_pages():
    """A page of another site, and a name that was rebound to us, get nothing: by HTTP, streams or sockets."""
    with Server() as s, siege.unharmed(s):
        begin(s, "crumbs")
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://localhost.evil.example"},
                        {"Origin": "file://"}, {"Host": "evil.example"}, {"Host": "localhost.evil.example"},
                        {"Host": "127.0.0.1.evil.example"}, {"Host": "localhost:80:80"}, {"Host": "localhost@evil.example"}, {"Host": "[::1"}):
            for path in ("/v1/sessions", "/v1/sessions/crumbs/events/stream", "/metrics"):
                answer = s.get(path, headers)
                assert answer.status in (400, 403), (path, headers, answer)
                assert "Access-Control-Allow-Origin" not in answer.headers, answer.headers
            try:
                Phoenix(s, headers={k: v for k, v in headers.items() if k != "Host"}, host=headers.get("Host", "localhost"))
                raise AssertionError("%r was let in" % headers)
            except ConnectionError as why:
                assert "403" in str(why) or "400" in str(why), why


# ---- too many ----


def test_too_many_connections():
    """max_connections: the next one gets 503 and is closed, the old ones live, and there is room again afterwards."""
    with Server(env={"REPRISE_MAX_CONNECTIONS": "50"}) as s, siege.unharmed(s):
        old = [s.connect() for _ in range(50)]
        for c in old:
            assert s.get("/healthz", connection=c).status == 200
        for _ in range(100):
            got = s.raw(b"")
            assert statuses(got) == [503] and b"Retry-After" in got, got
        for c in old:
            assert s.get("/healthz", connection=c).status == 200
        for c in old[:10]:
            c.close()
        wait_until(lambda: statuses(s.raw(b"GET /healthz HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")) == [200])
        for c in old[10:]:
            assert s.get("/healthz", connection=c).status == 200
            c.close()


def hoard(s, n):
    """Connections, until n are open or the server accepts none; those that it refused are counted."""
    kept, refused = [], 0
    for _ in range(n):
        x = s.socket()
        x.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
        ready, _, _ = select.select([x], [], [], 5)
        got = x.recv(4096) if ready else b""
        if b" 200 " in got[:20]:
            kept.append(x)
        else:
            assert not got or b" 503 " in got[:20], got
            refused += 1
            x.close()
    return kept, refused


def exhaust(s, files, reads):
    """The server has `files` descriptors from now on, and somebody who takes them all. Questions on an old connection
    get one of `reads` meanwhile."""
    sid = begin(s, "old")
    old, channel, stream = s.connect(), Phoenix(s), siege.stream(s, "old")
    channel.join("session:old", {"scope": "otters"})
    append = "/v1/sessions/%s/events" % sid
    assert ask(s, append, EVENT, old).status == 200
    siege.limit_files(s.pid, files)
    kept, refused = hoard(s, files)
    assert refused and kept, (refused, len(kept))
    hungry = [s.socket() for _ in range(20)]  # they knock all the while
    share = watch.share(s.pid, 1)
    assert share < 0.5 or siege.is_sanitized(), "it spins: %.0f %% of a core" % (share * 100)
    for i in range(20):
        assert ask(s, append, EVENT, old).status == 200, "an old connection suffers"
        assert s.get("/v1/sessions/old", connection=old).status in reads
        assert channel.ask("session:old", "event", {"kind": "x-otter", "body": {"n": i}})[0] == "ok"
    siege.read_until(stream, b"id: 41\n")
    print("  %d file descriptors: %d connections kept, %d refused, then %.1f %% of a core" % (files, len(kept), refused, share * 100))
    for x in kept + hungry:
        x.close()
    wait_until(lambda: siege.is_up(s))
    assert ask(s, append, EVENT, old).status == 200
    assert s.get("/v1/sessions/old", connection=old).status == 200
    for x in (old, channel.sock, stream):
        x.close()


def test_no_file_descriptors():
    """The limit is lowered while it runs, so that accept itself fails, and so may opening the database once more."""
    with Server() as s, siege.unharmed(s):
        exhaust(s, watch.files(s.pid) + 40, (200, 503))


def test_few_file_descriptors():
    """A small limit from the start: some are kept back for the store and for those who are in."""
    with Server(args=["--threads", "1"]) as probe:
        few = watch.files(probe.pid) + 60
    s = Server(args=["--threads", "1"])
    siege.limit_from_the_start(s, few)
    with s, siege.unharmed(s):
        exhaust(s, few, (200,))


if __name__ == "__main__":
    siege.main(globals())
