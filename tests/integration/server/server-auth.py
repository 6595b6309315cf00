#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Who may do what, by real requests: names and origins, local callers, tokens, sessions' tokens, limits (C-02, C-06).

usage: server-auth.py [NAME…]: only the tests whose names begin so
"""
import base64
import os
import pwd
import re
import stat
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
import cases  # noqa: E402
from serve import DEADLINE, Server, wait_until  # noqa: E402

MESSAGE = {"kind": "message", "body": {"role": "user", "content": "hello"}}
NAME = "box.example.net"  # a name from outside
AWAY = {"Host": NAME}
HANDSHAKE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
             "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
CONFIG = """
allowed_hosts = %s, *.wild.example
allowed_origins = https://app.example, chrome-extension://abcdefghijklmnop
""" % NAME


def start(s, scope="auth", **more):
    got = s.post("/v1/sessions", {"scope": scope, **more})
    assert got.status == 201, got
    return got.json


def create_token(s, *args):
    return s.cli("token", "create", *args).strip()


def bearer(token, **more):
    return {**AWAY, "Authorization": "Bearer " + token, **more}


def expect(answer, status, code):
    assert answer.status == status and answer.json["code"] == code, answer
    return answer


# ---- names and pages ----


def test_host():
    """A page that lets its own name point here (DNS rebinding) is known by that name."""
    with Server(config=CONFIG) as s:
        port = s.port
        for host in ("localhost", "localhost:%d" % port, "127.0.0.1", "127.0.0.1:1", "127.9.9.9", "[::1]:%d" % port):
            assert s.get("/v1/sessions", {"Host": host}).status == 200, host
        for host in ("evil.example", "evil.example:%d" % port, "localhost.evil.example", "127.0.0.1.evil.example", "0.0.0.0",
                     "box.example.net.evil.example", "wild.example", "10.0.0.1", "localhost:0", "a b", "user@localhost"):
            for path in ("/v1/sessions", "/healthz", "/metrics", "/"):
                expect(s.get(path, {"Host": host}), 403, "auth.host")
            got = s.get("/socket/websocket?vsn=2.0.0", {"Host": host, **HANDSHAKE})
            expect(got, 403, "auth.host")
        assert b" 400 " in s.raw(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n").split(b"\r\n")[0]
        got = s.raw(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert b" 403 " in got.split(b"\r\n")[0] and b"auth.host" in got, got
        for host in (NAME, NAME.upper() + ":443", "a.b.wild.example"):  # goes by that name, but is nobody local
            assert s.get("/healthz", {"Host": host}).status == 200
            expect(s.get("/v1/sessions", {"Host": host}), 401, "auth.required")


def test_wildcard_goes_by_its_addresses():
    with Server(listen="0.0.0.0:0") as s:
        s.address = "127.0.0.2:%d" % s.port
        assert s.get("/v1/sessions").status == 200
        expect(s.get("/v1/sessions", {"Host": "192.0.2.7"}), 403, "auth.host")
        expect(s.get("/v1/sessions", {"Host": "box.example.net"}), 403, "auth.host")


def test_unix_socket_takes_any_host():
    with Server(config=CONFIG) as s:
        path = os.path.join(s.folder, "sock")
        s.kill()
        s.listen = "unix:" + path
        s.start()
        for host in ("localhost", "whatever.example", "x"):
            assert s.get("/v1/sessions", {"Host": host}).status == 200
        expect(s.get("/v1/sessions", {"Host": "x", "Origin": "https://evil.example"}), 403, "auth.origin")
        expect(s.get("/v1/sessions", {"Host": "x", "X-Forwarded-For": "10.0.0.1"}), 401, "auth.required")


def test_origin():
    with Server(config=CONFIG) as s:
        own = "http://localhost:%d" % s.port
        host = {"Host": "localhost:%d" % s.port}
        assert s.get("/v1/sessions", {**host, "Origin": own}).status == 200
        for origin in ("https://evil.example", "null", "", "http://localhost:1", "http://127.0.0.1:%d" % s.port,
                       "https://app.example.evil.example", "http://app.example", "chrome-extension://other", own + "/"):
            foreign = {**host, "Origin": origin}
            expect(s.get("/v1/sessions", foreign), 403, "auth.origin")  # no preflight comes before a simple GET
            got = expect(s.post("/v1/sessions", {"scope": "forged"}, foreign), 403, "auth.origin")
            assert "Access-Control-Allow-Origin" not in got.headers
            expect(s.get("/socket/websocket?vsn=2.0.0", {**foreign, **HANDSHAKE}), 403, "auth.origin")
            expect(s.get("/internal/session", {**foreign, **HANDSHAKE}), 403, "auth.origin")
        assert not s.get("/v1/sessions?scope=forged").json["sessions"]
        for origin in ("https://app.example", "chrome-extension://abcdefghijklmnop"):
            got = s.get("/v1/sessions", {**host, "Origin": origin})
            assert got.status == 200 and got.headers["Access-Control-Allow-Origin"] == origin, got
            assert got.headers["Vary"] == "Origin"
            got = s.get("/v1/sessions/nobody", {**host, "Origin": origin})  # errors can be read as well
            assert got.status == 404 and got.headers["Access-Control-Allow-Origin"] == origin, got
        got = s.request("OPTIONS", "/v1/sessions", headers={
            **host, "Origin": "https://app.example", "Access-Control-Request-Method": "POST"})
        assert got.status == 204 and "POST" in got.headers["Access-Control-Allow-Methods"], got
        got = s.request("OPTIONS", "/v1/sessions", headers={
            **host, "Origin": "https://evil.example", "Access-Control-Request-Method": "POST"})
        assert got.status == 403 and "Access-Control-Allow-Origin" not in got.headers, got


def test_browsers_are_told_how_to_treat_every_answer():
    """No type is guessed and no foreign page embeds it: pages, documents, errors, preflights, streams, sockets."""
    want = ("X-Content-Type-Options", "nosniff"), ("Cross-Origin-Resource-Policy", "same-origin")
    with Server(config=CONFIG) as s:
        start(s, id="told")
        origin = {"Origin": "https://app.example"}
        answers = [s.get(path) for path in ("/", "/healthz", "/metrics", "/openapi.json", "/v1/sessions", "/nowhere", "/v1/sessions?x=1")]
        answers += [s.get("/v1/sessions", AWAY), s.get("/v1/sessions", {"Host": "evil.example"}), s.get("/v1/sessions", origin),
                    s.request("OPTIONS", "/v1/sessions", headers=origin), s.request("PUT", "/v1/sessions"),
                    s.post("/v1/sessions", b"{", {"Content-Type": "application/json"}), s.request("HEAD", "/v1/sessions"),
                    s.post("/v1/sessions/told/events", MESSAGE), s.request("DELETE", "/v1/sessions/told")]
        assert {a.status for a in answers} >= {200, 204, 400, 401, 403, 404, 405}, [a.status for a in answers]
        for answer in answers:
            assert all(answer.headers[name] == value for name, value in want), (answer, answer.headers)
            assert not answer.body or answer.body.endswith(b"\n"), answer
        for head in (b"GET /v1/sessions/stream HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"GET /socket/websocket?vsn=2.0.0 HTTP/1.1\r\nHost: localhost\r\n" +
                     b"".join(b"%s: %s\r\n" % (k.encode(), v.encode()) for k, v in HANDSHAKE.items()) + b"\r\n",
                     b"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5x\r\n\r\n"):
            with s.socket() as raw:
                raw.sendall(head)
                got = b""
                while b"\r\n\r\n" not in got:
                    part = raw.recv(4096)
                    assert part, got
                    got += part
                assert all(b"\r\n%s: %s\r\n" % (n.encode(), v.encode()) in got for n, v in want), got


def test_page_runs_no_scripts():
    with Server() as s:
        got = s.get("/")
        assert got.status == 200 and got.type == "text/html" and "<script" not in got.text
        assert got.headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert "/openapi.json" in got.text and "/metrics" in got.text


def test_bad_lists_stop_the_server():
    for line in ("allowed_hosts = https://x.example", "allowed_origins = x.example", "trusted_proxies = proxy.lan"):
        s = Server(config=line + "\n")
        s.start(wait=False)
        assert s.wait() == 2, list(s.log)
        wait_until(lambda: s._closed)
        assert line.split(" ")[0] in "\n".join(s.log)


# ---- local or not ----


def test_proxies_are_not_local():
    with Server(config=CONFIG) as s:
        assert s.get("/v1/sessions").status == 200
        for name, value in (("X-Forwarded-For", "127.0.0.1"), ("Forwarded", "for=127.0.0.1"), ("X-Real-IP", "127.0.0.1"),
                            ("X-Forwarded-Host", "localhost"), ("X-Forwarded-Proto", "https"), ("Via", "1.1 x"),
                            ("X-Forwarded-For", ""), ("X-Forwarded-Server", "x"), ("X-Forwarded-Ssl", "on"),
                            ("X-Forwarded-Scheme", "http"), ("x-forwarded-prefix", "/r"), ("X-Forwarded", "for=x"),
                            ("X-Original-Forwarded-For", "127.0.0.1"), ("X-Client-IP", "127.0.0.1"),
                            ("CF-Connecting-IP", "127.0.0.1"), ("True-Client-IP", "127.0.0.1")):
            for path in ("/v1/sessions", "/metrics", "/v1/sessions/nobody", "/v1/audit"):
                got = expect(s.get(path, {name: value}), 401, "auth.required")
                assert got.headers["WWW-Authenticate"].startswith("Bearer"), got.headers
            assert s.get("/healthz", {name: value}).status == 200


AS_USER = """
import encodings.idna, os, socket, sys
uid, address, hang_ups, request = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4].encode()
os.setgroups([])
os.setgid(uid)
os.setuid(uid)
def ask():
    if address.startswith("unix:"):
        s = socket.socket(socket.AF_UNIX)
        s.connect(address[5:])
    else:
        host, port = address.rsplit(":", 1)
        s = socket.create_connection((host.strip("[]"), int(port)), 30)
    s.sendall(request)
    return s
for _ in range(hang_ups):
    ask().close()
if not hang_ups:
    s = ask()
    s.settimeout(30)
    print(s.recv(65536).split(b" ")[1].decode())
"""


def as_user(s, uid, address, request, hang_ups=0):
    """The status that a process of that user is answered with; or it asks so many times and hangs up at once."""
    return subprocess.run([sys.executable, "-c", AS_USER, str(uid), address, str(hang_ups), request], text=True,
                          capture_output=True, timeout=DEADLINE, check=True).stdout.strip()


def test_other_users_of_the_machine():
    """local = uid: who is neither root nor the server's own user needs a token; a closed connection is nobody's."""
    with Server() as s:
        assert "local = uid" in s.wait_log("event=local_users")
        assert s.get("/v1/sessions").status == 200
    if os.getuid() != 0:
        print("  not root: no process of another user can be made")
        return
    list_all = "GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    body = '{"scope":"forged"}'
    forge = "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    nobody = pwd.getpwnam("nobody").pw_uid
    with Server() as s:  # the default: any user
        assert as_user(s, nobody, s.address, list_all) == "200"
    for listen in ("127.0.0.1:0", "[::1]:0", "[::]:0"):
        with Server(config="local = uid\n", listen=listen) as s:
            assert not [line for line in s.log if "local_users" in line or "local_unknown" in line], list(s.log)
            addresses = ["127.0.0.1:%d" % s.port] if listen[0] == "1" else ["[::1]:%d" % s.port]
            addresses += ["127.0.0.1:%d" % s.port] if listen == "[::]:0" else []  # an IPv4 client of an IPv6 socket
            token = create_token(s)
            for address in addresses:
                assert as_user(s, 0, address, list_all) == "200", address
                for uid in (nobody, 12345):
                    assert as_user(s, uid, address, list_all) == "401", address
                shown = list_all.replace("\r\n\r\n", "\r\nAuthorization: Bearer %s\r\n\r\n" % token)
                assert as_user(s, 12345, address, shown) == "200", address
                as_user(s, 12345, address, forge, hang_ups=500)  # the kernel shows sockets that were closed as root's
            s.address = addresses[0]
            wait_until(lambda: s.get("/v1/sessions").status == 200)
            assert s.get("/v1/sessions?scope=forged").json["sessions"] == []
    with Server(config="local = uid\n") as s:  # a socket that everybody may connect to
        path = os.path.join(s.folder, "sock")
        s.kill()
        s.listen = "unix:" + path
        s.start()
        os.chmod(s.folder, 0o755)
        os.chmod(path, 0o666)
        assert as_user(s, 0, s.address, list_all) == "200" and as_user(s, nobody, s.address, list_all) == "401"


def test_nobody_learns_what_exists():
    with Server(config=CONFIG) as s:
        start(s, id="there")
        for path in ("/v1/sessions/there", "/v1/sessions/missing", "/v1/sessions/there/state", "/v1/sessions/missing/state",
                     "/v1/sessions/there/events/stream", "/api/sessions/there/ping", "/api/session"):
            expect(s.get(path, AWAY), 401, "auth.required")
        for path in ("/v1/sessions", "/v1/sessions/there/events", "/v1/sessions/missing/events", "/v1/sessions/there/close"):
            expect(s.post(path, MESSAGE, AWAY), 401, "auth.required")
        expect(s.get("/socket/websocket?vsn=2.0.0", {**AWAY, **HANDSHAKE}), 401, "auth.required")
        assert len(s.get("/v1/sessions/there/events").json["events"]) == len(
            [e for e in s.get("/v1/sessions/there/events").json["events"] if e["kind"] != "message"])


# ---- tokens ----


def test_tokens():
    with Server(config=CONFIG) as s:
        start(s, "nova", id="n1")
        start(s, "other", id="o1")
        everything, reader, nova = create_token(s), create_token(s, "--read-only"), create_token(s, "--scope", "nova")
        for path in ("/v1/sessions", "/v1/sessions/n1", "/v1/sessions/o1/state", "/metrics", "/v1/audit"):
            assert s.get(path, bearer(everything)).status == 200, path
            assert s.get(path, bearer(reader)).status == 200, path
        assert s.post("/v1/sessions/o1/events", MESSAGE, bearer(everything)).status == 200
        expect(s.post("/v1/sessions/o1/events", MESSAGE, bearer(reader)), 403, "auth.forbidden")
        expect(s.post("/v1/sessions", {"scope": "x"}, bearer(reader)), 403, "auth.forbidden")
        expect(s.request("DELETE", "/v1/sessions/o1", headers=bearer(reader)), 403, "auth.forbidden")

        assert s.get("/v1/sessions/n1/state", bearer(nova)).status == 200
        assert s.post("/v1/sessions/n1/events", MESSAGE, bearer(nova)).status == 200
        for path in ("/v1/sessions/o1", "/v1/sessions/o1/state", "/v1/sessions/o1/events/stream", "/metrics",
                     "/v1/sessions?scope=other", "/v1/scopes/other/brief", "/v1/search?q=hello&scope=other", "/v1/recap?scope=other",
                     "/v1/sessions/stream?scope=other"):
            expect(s.get(path, bearer(nova)), 403, "auth.forbidden")
        expect(s.post("/v1/sessions/o1/events", MESSAGE, bearer(nova)), 403, "auth.forbidden")
        expect(s.post("/v1/sessions", {"scope": "other"}, bearer(nova)), 403, "auth.forbidden")
        ids = [x["session_id"] for x in s.get("/v1/sessions", bearer(nova)).json["sessions"]]
        assert ids == ["n1"], ids  # lists are of its scope
        hits = wait_until(lambda: s.get("/v1/search?q=hello", bearer(everything)).json["hits"])
        assert {h["session_id"] for h in hits} == {"n1", "o1"}, hits
        assert {h["session_id"] for h in s.get("/v1/search?q=hello", bearer(nova)).json["hits"]} == {"n1"}
        # A token that is given counts for local callers too.
        expect(s.post("/v1/sessions/o1/events", MESSAGE, {"Authorization": "Bearer " + reader}), 403, "auth.forbidden")


def test_ways_to_show_a_token():
    with Server(config=CONFIG) as s:
        token = create_token(s)
        assert s.get("/v1/sessions", {**AWAY, "Authorization": "bearer  " + token}).status == 200
        assert s.get("/v1/sessions?token=" + token, AWAY).status == 200
        coded = base64.b64encode(token.encode()).decode().rstrip("=")
        protocols = {"Sec-WebSocket-Protocol": "phoenix, base64url.bearer.phx." + coded}
        with s.socket() as raw:  # by a real handshake
            head = {**AWAY, **HANDSHAKE, **protocols}
            raw.sendall(b"GET /socket/websocket?vsn=2.0.0 HTTP/1.1\r\n" +
                        b"".join(b"%s: %s\r\n" % (k.encode(), v.encode()) for k, v in head.items()) + b"\r\n")
            assert raw.recv(4096).startswith(b"HTTP/1.1 101"), "refused"
        expect(s.get("/v1/sessions", {**AWAY, "Authorization": "Basic eDp5"}), 401, "auth.required")
        expect(s.get("/v1/sessions", {**AWAY, "Authorization": "Bearer "}), 401, "auth.required")
        expect(s.get("/v1/sessions", {"Authorization": "Bearer x"}), 401, "auth.required")  # local, and wrong


def test_wrong_tokens():
    with Server(config=CONFIG) as s:
        token = create_token(s)
        short = create_token(s, "--expires", "1s")
        for wrong in (token[:-1], token + "A", token[:-1] + ("A" if token[-1] != "A" else "B"), "rpt_",
                      "rpt_aaaaaaaa_" + "A" * 43):
            expect(s.get("/v1/sessions", bearer(wrong)), 401, "auth.required")
        assert s.get("/v1/sessions", bearer(token)).status == 200
        expired = lambda: s.get("/v1/sessions", {"Authorization": "Bearer " + short}).status == 401  # noqa: E731
        wait_until(expired)


def test_a_revoked_token_dies_soon():
    with Server(config=CONFIG) as s:
        token = create_token(s)
        connection = s.connect()
        assert s.get("/v1/sessions", bearer(token), connection=connection).status == 200
        s.cli("token", "rm", token.split("_")[1])
        dead = lambda: s.get("/v1/sessions", bearer(token), connection=connection).status == 401  # noqa: E731
        wait_until(dead)
        connection.close()


# ---- sessions' tokens ----


def test_session_tokens():
    with Server(config=CONFIG) as s:
        mine, other = start(s, id="mine"), start(s, id="other")
        token = mine["token"]
        assert re.fullmatch(r"rps_[A-Za-z0-9_-]{43}", token) and token != other["token"]
        for path in ("/v1/sessions/mine", "/v1/sessions/mine/state", "/v1/sessions/mine/events", "/api/sessions/mine/ping",
                     "/v1/sessions/mine/brief", "/v1/sessions/mine/snapshots"):
            assert s.get(path, bearer(token)).status == 200, (path, s.get(path, bearer(token)))
        assert s.post("/v1/sessions/mine/events", MESSAGE, bearer(token)).status == 200
        for path in ("/v1/sessions/other", "/v1/sessions/other/state", "/v1/sessions/missing/state", "/v1/sessions/missing",
                     "/v1/sessions", "/v1/search?q=hello", "/v1/recap", "/v1/audit", "/metrics", "/v1/scopes/auth/brief", "/api/session",
                     "/v1/sessions/stream", "/v1/sessions/other/events/stream"):
            expect(s.get(path, bearer(token)), 403, "auth.forbidden")
        expect(s.post("/v1/sessions/other/events", MESSAGE, bearer(token)), 403, "auth.forbidden")
        expect(s.post("/v1/sessions", {"scope": "auth"}, bearer(token)), 403, "auth.forbidden")
        forged = token[:-1] + ("A" if token[-1] != "A" else "B")
        expect(s.get("/v1/sessions/mine", bearer(forged)), 403, "auth.forbidden")
        # Nothing beyond that session: no copy with a token of its own, no end for good, nothing of another's.
        expect(s.post("/v1/sessions/mine/fork", {}, bearer(token)), 403, "auth.forbidden")
        for source in ("other", "missing", "mine"):
            expect(s.post("/v1/sessions/mine/continue", {"from": source}, bearer(token)), 403, "auth.forbidden")
        expect(s.request("DELETE", "/v1/sessions/mine", headers=bearer(token)), 403, "auth.forbidden")
        expect(s.get("/v1/sessions/m/state", bearer(other["token"])), 403, "auth.forbidden")
        with s.socket() as raw:  # the socket opens; what it may join depends on the topic
            head = {**bearer(token), **HANDSHAKE}
            raw.sendall(b"GET /socket/websocket?vsn=2.0.0 HTTP/1.1\r\n" +
                        b"".join(b"%s: %s\r\n" % (k.encode(), v.encode()) for k, v in head.items()) + b"\r\n")
            assert raw.recv(4096).startswith(b"HTTP/1.1 101"), "refused"
        s.stop()
        s.start()  # C-06: stable across restarts
        assert s.get("/v1/sessions/mine", bearer(token)).status == 200


def test_a_session_made_anew_has_another_token():
    with Server(config=CONFIG) as s:
        old = start(s, id="again")["token"]
        assert s.get("/v1/sessions/again", bearer(old)).status == 200
        s.cli("end", "again")
        s.cli("rm", "again", "--now", "--yes")
        # Nothing is there: the token neither reads nor makes a session of that id.
        assert s.get("/v1/sessions/again", bearer(old)).status in (403, 404)
        expect(s.post("/v1/sessions", {"scope": "auth", "id": "again"}, bearer(old)), 403, "auth.forbidden")
        new = start(s, scope="elsewhere", id="again")["token"]
        assert new != old
        for path in ("/v1/sessions/again", "/v1/sessions/again/state", "/v1/sessions/again/events", "/api/sessions/again/ping",
                     "/v1/sessions/again/events/stream"):
            expect(s.get(path, bearer(old)), 403, "auth.forbidden")
        expect(s.post("/v1/sessions/again/events", MESSAGE, bearer(old)), 403, "auth.forbidden")
        s.stop()
        s.start()
        expect(s.get("/v1/sessions/again", bearer(old)), 403, "auth.forbidden")
        assert s.post("/v1/sessions/again/events", MESSAGE, bearer(new)).status == 200
        # In the same scope too.
        s.cli("end", "again")
        s.cli("rm", "again", "--now", "--yes")
        last = start(s, scope="elsewhere", id="again")["token"]
        expect(s.get("/v1/sessions/again", bearer(new)), 403, "auth.forbidden")
        assert s.get("/v1/sessions/again", bearer(last)).status == 200


# ---- the internal secret ----


def secret_file(s):
    return os.path.join(os.path.dirname(s.db[len("sqlite:"):]), "internal-secret")


def test_internal_secret_file():
    with Server() as s:
        path = secret_file(s)
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        with open(path, encoding="ascii") as f:
            first = f.read()
        assert re.fullmatch(r"[A-Za-z0-9_-]{43}\n", first)
        s.stop()
        s.start()
        with open(path, encoding="ascii") as f:
            assert f.read() == first
        s.stop()
        os.chmod(path, 0o644)
        s.start(wait=False)
        assert s.wait() == 2
        wait_until(lambda: s._closed)
        text = "\n".join(s.log)
        assert "others may read" in text and "chmod 600" in text and first.strip() not in text, text


def test_internal_secret_is_wanted():
    secret = "an-internal-secret-of-some-length"
    with Server(env={"INTERNAL_SECRET": secret}) as s:
        assert not os.path.exists(secret_file(s))
        for headers, query in (({}, ""), ({"x-internal-secret": "wrong"}, ""), ({}, "?secret=wrong"),
                               ({"x-internal-secret": secret[:-1]}, ""), ({"x-internal-secret": ""}, "?secret=" + secret),
                               ({"Authorization": "Bearer " + create_token(s)}, "")):
            got = s.get("/internal/session" + query, {**HANDSHAKE, **headers})
            expect(got, 403, "auth.forbidden")


# ---- limits ----


def test_wrong_tokens_are_limited():
    """Off loopback an address may be wrong ten times a minute; right ones still come in."""
    with Server(config=CONFIG + "trusted_proxies = 127.0.0.1\n") as s:
        token = create_token(s)
        wrong = "rpt_aaaaaaaa_" + "A" * 43
        proxied = lambda t, address: {"Authorization": "Bearer " + t, "X-Forwarded-For": address}  # noqa: E731
        codes = [s.get("/v1/sessions", proxied(wrong, "192.0.2.1")).status for _ in range(14)]
        assert codes[:10] == [401] * 10 and codes[-1] == 429, codes
        got = expect(s.get("/v1/sessions", proxied(wrong, "6.6.6.6, 192.0.2.1")), 429, "limit.count")  # the nearest counts
        assert int(got.headers["Retry-After"]) >= 1
        lines = ("GET /v1/sessions HTTP/1.1", "Host: localhost", "Connection: close", "Authorization: Bearer " + wrong,
                 "X-Forwarded-For: 192.0.2.77", "X-Forwarded-For: 192.0.2.1", "", "")  # a proxy may add a line of its own
        assert b" 429 " in s.raw("\r\n".join(lines).encode()).split(b"\r\n")[0]
        assert s.get("/v1/sessions", proxied(token, "192.0.2.1")).status == 200
        expect(s.get("/v1/sessions", proxied(wrong, "192.0.2.2")), 401, "auth.required")
        codes = [s.get("/v1/sessions", {"Authorization": "Bearer " + wrong}).status for _ in range(20)]
        assert codes == [401] * 20, codes  # loopback is not limited


def test_wrong_session_tokens_are_limited():
    with Server(config=CONFIG + "trusted_proxies = 127.0.0.1\n") as s:
        right, wrong = start(s, id="guarded")["token"], "rps_" + "A" * 43
        proxied = lambda t, address: {"Authorization": "Bearer " + t, "X-Forwarded-For": address}  # noqa: E731
        paths = ("/v1/sessions/guarded", "/v1/sessions/missing", "/v1/sessions/guarded/state", "/v1/sessions/missing/state")
        codes = [s.get(paths[i % 4], proxied(wrong, "192.0.2.1")).status for i in range(16)]
        assert codes[:10] == [403] * 10 and codes[-1] == 429, codes
        assert s.get("/v1/sessions/guarded", proxied(right, "192.0.2.1")).status == 200
        expect(s.get("/v1/sessions/guarded", proxied(wrong, "192.0.2.2")), 403, "auth.forbidden")
        for _ in range(20):  # right, and not allowed that: nothing is guessed
            expect(s.post("/v1/sessions/guarded/fork", {}, proxied(right, "192.0.2.3")), 403, "auth.forbidden")
        codes = [s.get("/v1/sessions/guarded", {"Authorization": "Bearer " + wrong}).status for _ in range(20)]
        assert codes == [403] * 20, codes  # loopback is not limited


def test_client_rate():
    with Server(config=CONFIG + "client_rate = 5\ntrusted_proxies = 127.0.0.1\n") as s:
        one, two = create_token(s), create_token(s)
        connection = s.connect()
        codes = []

        def ask():
            codes.append(s.get("/healthz", bearer(one), connection=connection).status)
            return codes[-1] == 429

        wait_until(ask, step=0)
        assert set(codes) == {200, 429} and codes.index(429) >= 5, codes
        got = s.get("/healthz", bearer(one), connection=connection)
        assert got.status == 200 or int(got.headers["Retry-After"]) >= 1
        assert s.get("/healthz", bearer(two), connection=connection).status == 200  # another client
        assert s.get("/healthz", {"X-Forwarded-For": "192.0.2.9"}, connection=connection).status == 200
        wait_until(lambda: s.get("/healthz", bearer(one), connection=connection).status == 200)
        connection.close()


def test_servers_that_start_at_once_make_one_secret():
    """C-02: of several with databases in one folder the first makes it, and all have it."""
    with Server() as s:
        path = secret_file(s)
        s.stop()
        os.remove(path)
        others = [Server(db="%s-%d" % (s.db, i)) for i in range(4)]
        threads = [threading.Thread(target=o.start) for o in others]
        for t in threads:
            t.start()
        for t in threads:
            t.join(DEADLINE)
        with open(path, encoding="ascii") as f:
            secret = f.read().strip()
        for o in others:
            with o.socket() as raw:  # each takes the one secret for its own
                raw.sendall(b"GET /internal/session HTTP/1.1\r\nHost: localhost\r\n" + b"".join(
                    b"%s: %s\r\n" % (k.encode(), v.encode())
                    for k, v in {**HANDSHAKE, "x-internal-secret": secret}.items()) + b"\r\n")
                assert raw.recv(4096).startswith(b"HTTP/1.1 101"), "refused"
        tokens = [start(o, "auth-%d" % i, id="shared")["token"] for i, o in enumerate(others)]
        for i, o in enumerate(others):  # the same id in another store is another session
            got = [o.get("/v1/sessions/shared", {"Authorization": "Bearer " + t}).status for t in tokens]
            assert got == [200 if k == i else 403 for k in range(len(others))], got
        for o in others:
            assert o.stop() == 0
        names = os.listdir(os.path.dirname(path))
        assert [n for n in names if n.startswith("internal-secret")] == ["internal-secret"], names


# ---- what nobody gets to see ----


def test_no_secret_in_log_or_answer():
    secret = "an-internal-secret-of-some-length"
    with Server(config=CONFIG, args=["-v"], env={"INTERNAL_SECRET": secret}) as s:
        session = start(s, id="quiet")
        token = create_token(s)
        wrong = token[:-4] + "AAAA"
        seen = []
        for headers in (bearer(token), bearer(wrong), bearer(session["token"]), {**AWAY, "x-internal-secret": secret}):
            for path in ("/v1/sessions", "/v1/sessions/quiet", "/healthz", "/nowhere", "/metrics", "/internal/session"):
                seen.append(s.get(path, headers))
        for query in ("token=" + token, "token=" + wrong, "token=" + session["token"], "secret=" + secret):
            seen.append(s.get("/v1/sessions?" + query, AWAY))
            seen.append(s.get("/internal/session?" + query, {**AWAY, **HANDSHAKE, "Upgrade": "x"}))
        assert s.stop() == 0
        text = "\n".join(s.log) + "\n".join(a.text + str(a.headers) for a in seen)
        assert text.count("event=request") > 20
        for hidden in (token, token.split("_", 2)[2], wrong.split("_", 2)[2], session["token"], session["token"][4:], secret):
            assert hidden not in text, hidden
        who = [line for line in s.log if "who=" + token.split("_")[1] in line]
        assert who, "the log names tokens by their id"


if __name__ == "__main__":
    cases.main(globals())
