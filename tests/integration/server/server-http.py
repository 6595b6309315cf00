#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every route and every error of the server, asked for with curl, each answer checked against /openapi.json.

usage: server-http.py [--docs]     $REPRISE_SERVE and $REPRISE name the programs; --docs prints the table of
                                   routes for docs/protocol.md
"""
import base64
import gzip
import hashlib
import json
import os
import re
import resource
import signal
import sqlite3
import sys
import threading
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
sys.dont_write_bytecode = True
try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(77)
from api import MESSAGE, Client, curl  # noqa: E402
from serve import Server, wait_until  # noqa: E402

# No request brings these about in a healthy server; each is met in a test of its own, here or elsewhere.
RARE = {"out_of_memory", "cancelled", "internal", "store.busy", "store.unreachable", "store.io", "store.full",
        "store.readonly", "store.corrupted", "seal.key_missing", "seal.key_wrong", "limit.count"}


# ---- the document itself ------------------------------------------------------------

def check_document(c):
    doc = c.api.doc
    assert doc["openapi"] == "3.1.0" and doc["info"]["title"] == "Reprise"
    for schema in doc["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    refs = re.findall(r'"\$ref": "([^"]+)"', json.dumps(doc))
    assert len(refs) > 100
    for ref in refs:
        c.api.resolver.resolve(ref)
    ids = [op["operationId"] for _, _, op in c.api.operations()]
    assert len(ids) == len(set(ids)) > 30
    for method, path, op in c.api.operations():
        named = {p["name"] for p in op["parameters"] if p["in"] == "path"}
        assert named == set(re.findall(r"\{(\w+)\}", path)), path
        assert op["tags"] and op["summary"] and op["responses"], (method, path)
        for p in op["parameters"]:
            jsonschema.Draft202012Validator.check_schema(p["schema"])


def doc_rows(c):
    """The table of docs/protocol.md."""
    for method, path, op in c.api.operations():
        query = ", ".join("`%s`" % p["name"] for p in op["parameters"]
                          if p["in"] == "query" and (p["name"], "{id}" in path) != ("scope", True))  # said once, of all
        yield "| `%s %s` | %s | %s |" % (method, re.sub(r"\{(\w+)\}", r":\1", path), op["summary"], query)


def check_docs(c):
    """docs/protocol.md has exactly the routes there are."""
    with open(os.path.join(ROOT, "docs", "protocol.md"), encoding="utf-8") as f:
        have = [line.rstrip("\n") for line in f if re.match(r"\| `(GET|POST|PUT|PATCH|DELETE) /", line)]
    want = list(doc_rows(c))
    assert have == want, "docs/protocol.md is behind; its rows should be (server-http.py --docs):\n" + "\n".join(want)


# ---- what works -----------------------------------------------------------------------

def check_service(c):
    c.ask("GET", "/", 200)
    c.ask("GET", "/healthz", 200)
    c.ask("GET", "/readyz", 200)
    c.ask("GET", "/metrics", 200)
    c.ask("GET", "/openapi.json", 200)
    for _, path, _ in c.api.operations():
        if "{" not in path and path.startswith(("/v1/sessions", "/healthz", "/openapi")) and "stream" not in path:
            head = c.ask("HEAD", path, 200)
            assert int(head.headers["Content-Length"]) > 0


def check_start(c):
    first = c.ask("POST", "/v1/sessions", 201, {
        "scope": "otters", "key": "tour", "topics": ["rivers", "fish"], "provider": "acme", "meta": {"room": 7},
        "mode": "auto", "force": False, "channel": None})
    assert first.headers["Location"] == "/v1/sessions/" + first.json["session_id"]
    again = c.start(200, key="tour")
    assert again["resumed"] and again["session_id"] == first.json["session_id"] and again["epoch"] == 2
    assert again["token"] == first.json["token"]
    shown = c.ask("GET", "/v1/sessions/{id}", 200, id="tour").json
    assert shown["meta"] == {"room": 7} and shown["provider"] == "acme"
    given = c.start(id="my.own:id-1", topics="a,b")
    assert given["session_id"] == "my.own:id-1"
    owned = c.start(owner=os.getpid(), key="owned")
    twice = c.start(200, owner=os.getpid(), key="owned")
    assert twice["repeated"] and twice["epoch"] == owned["epoch"] and twice["brief"] is None
    # L-09: over HTTP nobody is expected to stay connected, so silence does not end such a session.
    assert c.start(scope="rest")["channel"] == "cli"


def check_lists(c):
    want = [c.start(scope="many", key="k%d" % i)["session_id"] for i in range(25)][::-1]
    got, cursor = [], ""
    while cursor is not None:
        page = c.ask("GET", "/v1/sessions", 200, query="scope=many&limit=10&cursor=" + cursor).json
        got += [s["session_id"] for s in page["sessions"]]
        cursor = page["next_cursor"]
    assert got == want
    exact = c.ask("GET", "/v1/sessions", 200, query="scope=many&limit=25").json
    assert len(exact["sessions"]) == 25 and exact["next_cursor"] is None
    assert c.ask("GET", "/v1/sessions", 200, query="scope=none").json == {"sessions": [], "next_cursor": None}
    assert c.ask("GET", "/v1/sessions", 200, query="scope=many&status=closed").json["sessions"] == []
    assert len(c.ask("GET", "/v1/sessions", 200, query="scope=many&since=1h").json["sessions"]) == 25
    assert c.ask("GET", "/v1/sessions", 200, query="scope=many&since=2999-01-01T00:00:00Z").json["sessions"] == []


def check_events(c):
    sid = c.start(scope="events")["session_id"]
    for level in ("os", "disk"):
        assert c.append(sid, query="durability=" + level).json["durability"] == level
    assert c.append(sid, query="durability=memory").json == {"seq": None, "durability": "memory"}
    wait_until(lambda: c.ask("GET", "/v1/sessions/{id}", 200, id=sid).json["seq"] == 3)
    # All or nothing, one acknowledgement.
    ack = c.append(sid, [MESSAGE, {"kind": "x-mine", "body": {}, "at": "2026-01-02T03:04:05Z"}]).json
    assert ack == {"first_seq": 4, "seq": 5, "durability": "disk"}
    assert c.append(sid, [MESSAGE]).json == {"first_seq": 6, "seq": 6, "durability": "disk"}
    # The bytes that came are the bytes that are stored.
    odd = rb'{"z":1.0e2, "a" :[ 1,2 ],"e":"\u00e9\/", "role":"user","content":"x"}'
    c.append(sid, b'{"body": ' + odd + b' , "kind":"m\\u0065ssage"}', headers=["Content-Type: application/json"])
    page = c.ask("GET", "/v1/sessions/{id}/events", 200, id=sid, query="after=6")
    assert b'"body":' + odd in page.body and page.json["events"][0]["kind"] == "message"
    assert page.json["next_after"] is None and page.json["seq"] == 7
    assert c.ask("GET", "/v1/sessions/{id}/events", 200, id=sid).json["events"][4]["at"] == "2026-01-02T03:04:05.000Z"
    # Without a type, as curl sends it, too.
    c.append(sid, json.dumps(MESSAGE).encode())


def check_event_pages(c):
    sid = c.start(scope="events")["session_id"]
    c.append(sid, [{"kind": "x-even" if i % 2 else "x-odd", "body": {"i": i}} for i in range(1, 102)])
    for kind, want in (("", range(1, 102)), ("&kind=x-even", range(1, 102, 2)), ("&kind=x-odd,x-even", range(1, 102)),
                       ("&kind=x-no", [])):
        got, after = [], 0
        while after is not None:
            page = c.ask("GET", "/v1/sessions/{id}/events", 200, id=sid, query="limit=10&after=%d%s" % (after, kind)).json
            assert len(page["events"]) <= 10
            got += [e["body"]["i"] for e in page["events"]]
            after = page["next_after"]
        assert got == list(want), kind
    for kind, want in (("", range(101, 0, -1)), ("&kind=x-even", range(101, 0, -2)), ("&kind=x-no", [])):
        got, before = [], ""
        while before is not None:
            page = c.ask("GET", "/v1/sessions/{id}/events", 200, id=sid, query="order=desc&limit=10%s%s" % (before, kind)).json
            assert len(page["events"]) <= 10 and "next_after" not in page
            got += [e["body"]["i"] for e in page["events"]]
            before = page["next_before"] and "&before=%d" % page["next_before"]
        assert got == list(want), (kind, got)
    back = c.ask("GET", "/v1/sessions/{id}/events", 200, id=sid, query="order=desc&before=3").json
    assert [e["seq"] for e in back["events"]] == [2, 1] and back["next_before"] is None and back["seq"] == 1
    assert c.ask("GET", "/v1/sessions/{id}/events", 200, id=sid, query="order=desc&before=1").json["events"] == []
    for query, field in (("order=up", "order"), ("before=3", "before"), ("order=desc&after=3", "after"), ("order=desc&before=0", "before")):
        assert c.ask("GET", "/v1/sessions/{id}/events", 400, id=sid, query=query).json["field"] == field, query
    # A page is bounded in bytes too.
    big = {"kind": "x-big", "body": {"text": "o" * 1000000}}
    for _ in range(3):
        c.append(sid, [big] * 4)
    page = c.ask("GET", "/v1/sessions/{id}/events", 200, id=sid, query="after=101&limit=100")
    assert len(page.body) < 9 << 20 and 1 < len(page.json["events"]) < 12
    last = c.ask("GET", "/v1/sessions/{id}/events", 200, id=sid, query="order=desc&limit=100&kind=x-big")
    assert len(last.body) < 9 << 20 and [e["seq"] for e in last.json["events"]] == list(range(113, last.json["next_before"] - 1, -1))
    beyond = c.ask("GET", "/v1/sessions/{id}/events", 200, id=sid, query="after=500").json
    assert beyond == {"events": [], "next_after": None, "seq": 113}, beyond
    rest = c.ask("GET", "/v1/sessions/{id}/events", 200, id=sid, query="after=%d" % page.json["next_after"]).json
    assert len(page.json["events"]) + len(rest["events"]) == 12 and rest["next_after"] is None


def check_repeats(c):
    """Idempotency-Key and client numbers (L-10)."""
    sid = c.start(scope="repeats")["session_id"]
    key = ["Idempotency-Key: a-1"]
    first = c.append(sid, headers=key).json
    assert c.append(sid, headers=key).json == dict(first, repeated=True)
    own = dict(MESSAGE, idempotency_key="b-1")
    second = c.append(sid, own).json
    assert second["seq"] == 2 and c.append(sid, own).json == dict(second, repeated=True)
    many = c.append(sid, [MESSAGE] * 3, headers=["Idempotency-Key: c-1"]).json
    assert many == {"first_seq": 3, "seq": 5, "durability": "disk"}
    assert c.append(sid, [MESSAGE] * 3, headers=["Idempotency-Key: c-1"]).json == dict(many, repeated=True)
    c.append(sid, own, 422, headers=key, code="event.invalid", field="idempotency_key")
    c.append(sid, [MESSAGE, own], 422, code="event.invalid", field="events[1].idempotency_key")
    one = c.append(sid, query="client_id=tab&client_seq=1").json
    assert c.append(sid, query="client_id=tab&client_seq=1").json == dict(one, repeated=True)
    gap = c.append(sid, want=409, query="client_id=tab&client_seq=5", code="event.client_gap")
    assert "expected client_seq 2" in gap.json["detail"] and gap.json["expected"] == 2
    assert c.ask("GET", "/v1/sessions/{id}", 200, id=sid).json["seq"] == 6
    name = c.ask("PATCH", "/v1/sessions/{id}", 200, {"name": "otter tour", "settings": {"a": 1}}, id=sid,
                 headers=["Idempotency-Key: d-1"]).json
    assert c.ask("PATCH", "/v1/sessions/{id}", 200, {"name": "otter tour", "settings": {"a": 1}}, id=sid,
                 headers=["Idempotency-Key: d-1"]).json == dict(name, repeated=True)
    # The same key with another request is a conflict: it was never done, and nobody is told that it was.
    c.ask("PATCH", "/v1/sessions/{id}", 409, {"name": "other tour"}, id=sid, headers=["Idempotency-Key: d-1"],
          code="request.key_reused")
    other = {"kind": "message", "body": {"role": "user", "content": "something else"}}
    for body in (other, dict(MESSAGE, kind="x-message"), [MESSAGE] * 2):
        c.append(sid, body, 409, headers=key, code="request.key_reused", field="idempotency_key", query="expect=99&epoch=77")
    c.append(sid, b'{"kind":"message","body":{"role":"user", "content":"where do the otters live?"} }', 409,
             headers=key + ["Content-Type: application/json"], code="request.key_reused")  # bytes decide
    c.append(sid, dict(other, idempotency_key="b-1"), 409, code="request.key_reused")
    c.append(sid, [MESSAGE, MESSAGE, other], 409, headers=["Idempotency-Key: c-1"], code="request.key_reused")
    assert c.append(sid, headers=key).json == dict(first, repeated=True)
    assert c.ask("GET", "/v1/sessions/{id}", 200, id=sid).json["seq"] == 7
    state = c.ask("GET", "/v1/sessions/{id}/state", 200, id=sid).json
    assert state["settings"]["name"] == "otter tour" and state["conversation"]["total"] == 6


def check_repeated_starts(c):
    """Idempotency-Key where sessions are made: one session, one run, one copy."""
    key = ["Idempotency-Key: start-1"]
    wish = {"scope": "once", "topics": ["rivers"], "meta": {"n": 1}}
    first = c.ask("POST", "/v1/sessions", 201, wish, headers=key).json
    again = c.ask("POST", "/v1/sessions", 201, wish, headers=key)
    assert again.headers["Location"].endswith(first["session_id"])
    assert again.json["repeated"] and again.json["brief"] is None
    same = ("session_id", "scope", "key", "epoch", "resumed", "previous_session_id", "total_sessions", "restart", "token")
    assert {k: again.json[k] for k in same} == {k: first[k] for k in same}, (first, again.json)
    assert len(c.ask("GET", "/v1/sessions", 200, query="scope=once").json["sessions"]) == 1
    c.ask("POST", "/v1/sessions", 409, dict(wish, meta={"n": 2}), headers=key, code="request.key_reused", field="Idempotency-Key")
    assert c.ask("POST", "/v1/sessions", 201, dict(wish, scope="twice"), headers=key).json["session_id"] != first["session_id"]
    c.ask("POST", "/v1/sessions", 422, wish, headers=["Idempotency-Key: " + "k" * 256], code="event.invalid", field="idempotency_key")
    # A repeat takes nothing over: the epoch is its own, though another start has come since.
    tour = dict(wish, key="tour")
    begun = c.ask("POST", "/v1/sessions", 201, tour, headers=["Idempotency-Key: start-2"]).json
    assert c.ask("POST", "/v1/sessions", 200, tour).json["epoch"] == 2
    late = c.ask("POST", "/v1/sessions", 201, tour, headers=["Idempotency-Key: start-2"]).json
    assert late["epoch"] == begun["epoch"] == 1
    sid = begun["session_id"]
    assert c.ask("GET", "/v1/sessions/{id}", 200, id=sid).json["epoch"] == 2
    c.append(sid, want=409, query="epoch=1", code="session.fenced")
    resumed = c.ask("POST", "/v1/sessions", 200, tour, headers=["Idempotency-Key: start-3"]).json
    assert c.ask("POST", "/v1/sessions", 200, tour, headers=["Idempotency-Key: start-3"]).json["epoch"] == resumed["epoch"] == 3
    c.append(sid, [MESSAGE] * 3)
    fork = ["Idempotency-Key: fork-1"]
    made = c.ask("POST", "/v1/sessions/{id}/fork", 201, {"at": 2}, id=sid, headers=fork).json
    assert c.ask("POST", "/v1/sessions/{id}/fork", 201, {"at": 2}, id=sid, headers=fork).json == dict(made, repeated=True)
    c.ask("POST", "/v1/sessions/{id}/fork", 409, {"at": 1}, id=sid, headers=fork, code="request.key_reused")
    c.ask("POST", "/v1/sessions/{id}/fork", 409, {"at": 2}, id=sid, headers=key, code="request.key_reused")
    c.ask("POST", "/v1/sessions/{id}/fork", 409, {"at": 2}, id=made["session_id"], headers=fork, code="request.key_reused")
    forks = [s for s in c.ask("GET", "/v1/sessions", 200, query="scope=once").json["sessions"] if s.get("forked_from")]
    assert [s["session_id"] for s in forks] == [made["session_id"]], forks
    # Many at once make one.
    bodies, got = [dict(wish, topics=["crowd"])] * 8, []
    threads = [threading.Thread(target=lambda b=b: got.append(c.server.post("/v1/sessions", b, {"Idempotency-Key": "crowd"})))
               for b in bodies]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(got) == 8 and {a.status for a in got} == {201}, got
    assert len({a.json["session_id"] for a in got}) == 1 and sum("repeated" not in a.json for a in got) == 1, got


def with_blob(exported, blob_id, data):
    """An export with one more blob, which its last event names."""
    lines = [json.loads(line) for line in exported.splitlines()]
    lines[0]["reprise"] = 2
    at = lines[-2]["at"]
    lines[-2]["body"]["blob"] = blob_id
    first_event = next(i for i, line in enumerate(lines) if "seq" in line)
    parts = [data[i:i + 300000] for i in range(0, len(data), 300000)]
    lines[first_event:first_event] = [{"blob": {"id": blob_id, "at": at, "bytes": len(data), "part": n + 1,
                                                "data": base64.b64encode(part).decode()}} for n, part in enumerate(parts)]
    body = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines[:-1])
    end = {"end": {"events": lines[-1]["end"]["events"], "blobs": 1, "hash": hashlib.blake2b(body, digest_size=32).hexdigest()}}
    return body + json.dumps(end, separators=(",", ":")).encode() + b"\n"


def check_export(c):
    """A session as a file: the same as the command line writes, whatever its size."""
    path = "/v1/sessions/{id}/export"
    sid = c.start(scope="files", id="filed")["session_id"]
    c.append(sid, [MESSAGE, {"kind": "x-odd", "body": {"n": 1}}])
    types = {"reprise": "application/x-ndjson", "nova": "application/json", "clawd": "application/json",
             "orbitmesh": "application/gzip", "markdown": "text/markdown"}
    for name, kind in types.items():
        got = c.ask("GET", path, 200, id=sid, query="format=" + name)
        assert got.type == kind and "filed." in got.headers["Content-Disposition"], got.headers
        assert int(got.headers["Content-Length"]) == len(got.body) > 0
    assert c.ask("GET", path, 200, id=sid).body == c.server.cli("export", sid).encode()
    assert c.ask("GET", path, 200, id=sid, query="format=markdown").text == c.server.cli("export", sid, "--format", "markdown")
    assert gzip.decompress(c.ask("GET", path, 200, id=sid, query="format=orbitmesh").body).startswith(b"{")
    for name in ("cortex", "yaml", ""):
        c.ask("GET", path, 400, id=sid, query="format=" + name, code="usage", field="format")
    # More than memory is given for goes through a file that nobody sees.
    for _ in range(3):
        c.append(sid, [{"kind": "x-big", "body": {"text": "o" * 900000}}] * 2)
    big = c.ask("GET", path, 200, id=sid)
    assert len(big.body) > 5000000 and big.body == c.server.cli("export", sid).encode()
    assert int(c.ask("HEAD", path, 200, id=sid).headers["Content-Length"]) == len(big.body)
    assert not [n for n in os.listdir(c.server.folder) if n.startswith("#") or "tmp" in n], os.listdir(c.server.folder)
    # What comes out can be taken in; blobs too.
    data = os.urandom(2000000)
    small = c.start(scope="files", id="small")["session_id"]
    c.append(small, [{"kind": "x-note", "body": {}}])
    c.ask("POST", "/v1/sessions/{id}/close", 200, {}, id=small)
    exported = c.ask("GET", path, 200, id=small).body
    file = os.path.join(c.server.folder, "small.reprise")
    with open(file, "wb") as f:
        f.write(with_blob(exported.replace(b'"small"', b'"smaller"'), "blob-0123456789abcdef0123456789abcdef", data))
    c.server.cli("import", file)
    blob = c.ask("GET", "/v1/sessions/{id}/blobs/{blob}", 200, id="smaller", blob="blob-0123456789abcdef0123456789abcdef")
    assert blob.body == data and blob.type == "application/octet-stream"
    c.ask("GET", "/v1/sessions/{id}/blobs/{blob}", 404, id="smaller", blob="nope", code="blob.not_found")
    c.ask("GET", "/v1/sessions/{id}/blobs/{blob}", 404, id=small, blob="blob-0123456789abcdef0123456789abcdef", code="blob.not_found")
    # A session's own token reads it all, but not on which machines it ran.
    own = Client(c.server, c.api, headers=["Authorization: Bearer " + c.start(200, scope="files", id="filed")["token"]])
    own.ask("GET", path, 200, id=sid, query="format=markdown")
    own.ask("GET", path, 403, id=sid, code="auth.forbidden")
    own.ask("GET", path, 403, id=small, query="format=markdown", code="auth.forbidden")


def check_life(c):
    sid = c.start(scope="life", key="life")["session_id"]
    c.append(sid, [MESSAGE, {"kind": "note", "body": {"id": "n", "text": "by the mill", "timestamp": 12.5}},
                   {"kind": "frame", "body": {"frame_id": "f", "timestamp": 13}},
                   {"kind": "transcript", "body": {"text": "look", "final": True}},
                   {"kind": "pin", "body": {"label": "feeding", "content": "at three", "importance": "critical"}},
                   {"kind": "x-audio", "body": {"seconds": 1.5}}])
    assert c.ask("POST", "/v1/sessions/{id}/heartbeat", 200, id=sid).json == {"session_id": sid, "status": "active"}
    n = c.ask("POST", "/v1/sessions/{id}/checkpoint", 200, id=sid).json["snapshot"]
    assert [s["n"] for s in c.ask("GET", "/v1/sessions/{id}/snapshots", 200, id=sid).json["snapshots"]] == [n]
    assert c.ask("GET", "/v1/sessions/{id}/snapshots/{n}", 200, id=sid, n=n).json["conversation"]["total"] == 1
    assert "pins" not in c.ask("GET", "/v1/sessions/{id}/state", 200, id=sid, query="at=4").json
    around = c.ask("GET", "/v1/sessions/{id}/evidence", 200, id=sid, query="at=1s&window=60").json
    assert [len(around[k]) for k in ("notes", "frames", "transcript")] == [1, 1, 1]
    around = c.ask("GET", "/v1/sessions/{id}/evidence", 200, id=sid, query="video_at=12.6&window=0.2").json
    assert [len(around[k]) for k in ("notes", "frames", "transcript")] == [1, 0, 0]
    assert "feeding" in c.ask("GET", "/v1/sessions/{id}/brief", 200, id=sid).json["brief"]
    assert c.ask("GET", "/v1/sessions/{id}/brief", 200, id=sid, query="explain=1").json["lines"]
    assert c.ask("POST", "/v1/sessions/{id}/restore", 200, {"at": 4}, id=sid).json["seq"] == 7
    assert "pins" not in c.ask("GET", "/v1/sessions/{id}/state", 200, id=sid).json
    c.ask("POST", "/v1/sessions/{id}/restore", 200, {"snapshot": n}, id=sid)
    assert "pins" in c.ask("GET", "/v1/sessions/{id}/state", 200, id=sid).json
    c.ask("POST", "/v1/sessions/{id}/restore", 200, id=sid)
    c.ask("POST", "/v1/sessions/{id}/restore", 200, id=sid, query="at=6")
    forked = c.ask("POST", "/v1/sessions/{id}/fork", 201, {"at": 2}, id=sid)
    assert forked.headers["Location"].endswith(forked.json["session_id"])
    assert c.ask("GET", "/v1/sessions/{id}", 200, id=forked.json["session_id"]).json["forked_at_seq"] == 2
    c.ask("POST", "/v1/sessions/{id}/fork", 201, id=sid, query="at=1")
    # N-18, L-04
    told = c.ask("GET", "/api/session", 200, query="scope=life&_=1").json
    assert told["session_id"] == sid and told["total_sessions"] == 1 and told["uptime"] >= 0
    assert curl(c.server, "GET", "/api/feedback/stats").json["code"] == "http.not_found"
    assert c.ask("GET", "/api/sessions/{id}/ping", 200, id=sid).json["session_id"] == sid
    closed = c.ask("POST", "/v1/sessions/{id}/close", 200, {"reason": "good night"}, id=sid).json
    assert closed["status"] == "closed" and closed["ended_at"]
    c.ask("GET", "/api/sessions/{id}/ping", 404, id=sid, code="session.not_found")
    # An ended session takes no events, and comes back by its own id.
    c.append(sid, want=409, code="session.ended")
    for path, body in (("heartbeat", None), ("close", None), ("restore", {"at": 1}), ("continue", {"from": forked.json["session_id"]})):
        c.ask("POST", "/v1/sessions/{id}/" + path, 409, body, id=sid, code="session.ended")
    how = c.ask("POST", "/v1/sessions/{id}/restore", 409, {"at": 1}, id=sid, code="session.ended").json["hint"]
    assert f"--id {sid}" in how and f"fork {sid} --at 1" in how, how
    c.ask("PATCH", "/v1/sessions/{id}", 409, {"name": "x"}, id=sid, code="session.ended")
    heir = c.start(scope="life", key="life")
    assert heir["session_id"] != sid and heir["inherited"]["pins"] == 1 and "feeding" in heir["brief"]
    chain = c.ask("GET", "/v1/sessions/{id}/chain", 200, id=heir["session_id"], query="depth=2").json
    assert [s["session_id"] for s in chain] == [sid, heir["session_id"]]
    assert c.start(200, scope="life", id=sid)["resumed"]
    c.append(sid)
    c.ask("POST", "/v1/sessions/{id}/checkpoint", 200, id=sid)


def check_continue(c):
    old = c.start(scope="old", key="old")["session_id"]
    c.append(old, {"kind": "pin", "body": {"label": "mill", "content": "otters behind it"}})
    c.ask("POST", "/v1/sessions/{id}/close", 200, id=old)
    into = c.start(scope="old", id="empty-handed")["session_id"]
    told = c.ask("POST", "/v1/sessions/{id}/continue", 200, {"from": old, "by": "alice"}, id=into).json
    assert told == {"from": old, "into": into, "by": "alice", "pins": 0, "tasks": 0, "memories": 0}  # a start had it already
    alien = c.start(scope="new")["session_id"]
    c.ask("POST", "/v1/sessions/{id}/continue", 422, {"from": alien}, id=into, code="event.invalid", field="from")
    c.ask("POST", "/v1/sessions/{id}/continue", 404, {"from": "nobody"}, id=into, code="session.not_found")
    c.ask("POST", "/v1/sessions/{id}/continue", 422, {"by": "alice"}, id=into, code="event.invalid", field="from")
    hits = c.ask("GET", "/v1/search", 200, query="q=otters+behind&scope=old").json["hits"]
    assert hits and hits[0]["session_id"] == old and "[otters]" in hits[0]["snippet"]
    assert c.ask("GET", "/v1/search", 200, query="q=otters&scope=nowhere").json["hits"] == []
    assert "mill" in c.ask("GET", "/v1/scopes/{scope}/brief", 200, scope="old").json["brief"]
    told = c.ask("GET", "/v1/scopes/{scope}/brief", 200, scope="old", query="explain=1&topics=a,b&channel=cli").json
    assert told["candidates"][0]["verdict"] == "restored"


def check_recap(c):
    """What sessions were about (B-13): as the records of ended ones and the states of open ones have it."""
    done = c.start(scope="recap", key="done")["session_id"]
    c.append(done, {"kind": "message", "body": {"role": "user", "content": "Ändere die Farbe der Anmeldung"}})
    c.append(done, {"kind": "message", "body": {"role": "assistant", "content": "Sie ist jetzt blau."}})
    c.ask("POST", "/v1/sessions/{id}/close", 200, id=done)
    c.start(scope="recap", key="silent")
    goes_on = c.start(scope="recap", key="open")["session_id"]
    c.append(goes_on, {"kind": "message", "body": {"role": "user", "content": "Write the test for the new login page"}})
    c.append(goes_on, {"kind": "tool", "body": {"call_id": "e", "name": "Edit", "status": "done", "input": {"file_path": "/srv/a.ts"}}})
    told = c.ask("GET", "/v1/recap", 200, query="scope=recap&since=1h").json
    assert [(s["session_id"], s["last_request_end"]) for s in told["sessions"]] == [(goes_on, "open"), (done, "answered")], told
    assert told["sessions"][1]["last_request"] == "Ändere die Farbe der Anmeldung"
    assert [f["path"] for f in told["sessions"][0]["files"]] == ["/srv/a.ts"] and told["sessions"][0]["files_changed"] == 1
    assert (told["silent"], told["unreadable"], told["more"]) == (1, 0, False)
    assert c.ask("GET", "/v1/recap", 200, query="scope=recap&limit=1").json["more"]
    assert c.ask("GET", "/v1/recap", 200, query="scope=recap&until=1h").json["sessions"] == []
    chain = c.ask("GET", "/v1/sessions/{id}/chain", 200, id=goes_on).json
    assert chain[-1]["last_request"] == "Write the test for the new login page" and chain[0]["last_request_end"] == "answered"


def check_audit(c):
    everything = c.ask("GET", "/v1/audit", 200, query="limit=10000").json
    assert {r["event"] for r in everything["records"]} >= {"session_captured", "session_restored"}
    assert not everything["more"]
    counted = re.search(r"^reprise_audit_records_total (\d+)$", c.ask("GET", "/metrics", 200).body.decode(), re.M)
    assert int(counted.group(1)) >= len(everything["records"]), counted  # all of them are this server's
    mine = [r for r in everything["records"] if r["scope"] == "life"]
    got, after = [], 0
    while after is not None:
        page = c.ask("GET", "/v1/audit", 200, query="scope=life&limit=2&after=%d" % after).json
        got += page["records"]
        after = page["next_after"]
    assert got == mine and [r["n"] for r in got] == list(range(1, len(got) + 1)) and len(got) > 2
    assert c.ask("GET", "/v1/audit", 200, query="limit=1").json["more"]


def check_delete(c):
    sid = c.start(scope="gone", key="gone")["session_id"]
    c.append(sid)
    gone = c.ask("DELETE", "/v1/sessions/{id}", 200, id=sid, query="reason=done").json
    assert gone["session_id"] == sid and gone["until"] > gone["trashed_at"]
    for method, path, op in c.api.operations():
        if "{id}" in path:
            c.ask(method, path, 404, body_for(method, path, op), id=sid, n=1, code="session.not_found")
    assert [s["session_id"] for s in c.ask("GET", "/v1/sessions", 200, query="scope=gone&trashed=1").json["sessions"]] == [sid]
    assert c.ask("GET", "/v1/sessions", 200, query="scope=gone").json["sessions"] == []
    c.server.cli("untrash", sid)
    assert c.ask("GET", "/v1/sessions/{id}", 200, id=sid).json["seq"] == 2
    held = c.start(scope="gone", owner=os.getpid(), key="held")["session_id"]
    c.ask("DELETE", "/v1/sessions/{id}", 409, id=held, code="session.held")
    c.server.cli("hold", sid)
    c.ask("DELETE", "/v1/sessions/{id}", 409, id=sid, code="session.on_hold")


def check_names(c):
    """An id is a prefix, a key or `last` too; and another process's word is seen in the next answer."""
    sid = c.start(scope="names", key="by-name")["session_id"]
    for ref in (sid, sid[:30], "by-name", "last"):
        assert c.ask("GET", "/v1/sessions/{id}", 200, id=ref).json["session_id"] == sid, ref
        assert c.ask("GET", "/v1/sessions/{id}/state", 200, id=ref).json["session"]["session_id"] == sid, ref
        assert c.ask("GET", "/api/sessions/{id}/ping", 200, id=ref).json["session_id"] == sid, ref
    for n in range(1, 6):
        c.server.cli("append", sid, "message", '{"role":"user","content":"from elsewhere"}')
        assert c.ask("GET", "/v1/sessions/{id}", 200, id=sid).json["seq"] == n
    c.start(scope="names", id="twin-1")
    c.start(scope="names", id="twin-2")
    for method, path, op in c.api.operations():
        if "session.ambiguous" in c.api.codes(method, path):
            c.ask(method, path, 400, body_for(method, path, op), id="twin", n=1, code="session.ambiguous")


def check_scopes(c):
    """A name means what it means in the asker's scope, or in the one that is asked for."""
    ids = {scope: c.start(scope=scope, key="shared")["session_id"] for scope in ("north", "south")}
    c.start(scope="north", id="pond")  # an id there, a key here
    pond = c.start(scope="south", key="pond")["session_id"]

    def token(scope):
        out = c.server.cli("token", "create", "--json", "--scope", scope)
        return Client(c.server, c.api, ["Authorization: Bearer " + json.loads(out)["token"]])

    north, south = token("north"), token("south")
    for path in ("/v1/sessions/{id}", "/v1/sessions/{id}/state", "/api/sessions/{id}/ping"):
        def found(answer):
            return answer.json.get("session", answer.json)["session_id"]
        for who, scope in ((north, "north"), (south, "south")):
            assert found(who.ask("GET", path, 200, id="shared")) == ids[scope]
            assert found(c.ask("GET", path, 200, id="shared", query="scope=" + scope)) == ids[scope]
        several = c.ask("GET", path, 400, id="shared", code="session.ambiguous").json
        assert "?scope=" in several["hint"], several
        assert found(north.ask("GET", path, 200, id="last")) == "pond"
        assert found(south.ask("GET", path, 200, id="last")) == pond
        assert found(south.ask("GET", path, 200, id="pond")) == pond
        assert found(c.ask("GET", path, 200, id="pond")) == "pond"
        south.ask("GET", path, 403, id=ids["north"], code="auth.forbidden")
        south.ask("GET", path, 403, id="shared", query="scope=north", code="auth.forbidden")
        c.ask("GET", path, 404, id="shared", query="scope=west", code="session.not_found")
    c.ask("POST", "/v1/sessions/{id}/close", 200, id="shared", query="scope=north")
    assert c.ask("GET", "/v1/sessions/{id}", 200, id="shared").json["session_id"] == ids["south"]  # one is open


# ---- what is refused ---------------------------------------------------------------------

def body_for(method, path, op):
    """A body that the route takes."""
    if "requestBody" not in op:
        return None
    if path == "/v1/sessions":
        return {"scope": "otters"}
    if path == "/mcp":
        return {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    return {"from": "last"} if path.endswith("continue") else {"name": "x"} if method == "PATCH" else \
        MESSAGE if path.endswith("events") else {}


def check_mcp(c):
    """MCP's envelope; tests/integration/mcp/*.{mjs,sh} have the rest (B-04)."""
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "curl", "version": "1"}}}
    begun = c.ask("POST", "/mcp", 200, begin, query="scope=mcp")
    sid = "MCP-Session-Id: " + begun.headers["Mcp-Session-Id"]
    c.ask("POST", "/mcp", 202, {"jsonrpc": "2.0", "method": "notifications/initialized"}, query="scope=mcp", headers=[sid])
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    assert c.ask("POST", "/mcp", 200, ping, query="scope=mcp", headers=[sid]).json == {"jsonrpc": "2.0", "id": 2, "result": {}}
    assert c.ask("POST", "/mcp", 400, b"nonsense").json["error"]["code"] == -32700
    assert c.ask("POST", "/mcp", 400, b"").json["error"]["code"] == -32700
    c.ask("POST", "/mcp", 400, ping, query="scopes=mcp", code="usage", field="scopes")
    c.ask("POST", "/mcp", 400, ping, query="scope=no%20name", code="usage", field="scope")
    c.ask("POST", "/mcp", 404, ping, headers=[sid], code="session.not_found")
    c.ask("POST", "/mcp", 404, ping, headers=["MCP-Session-Id: a b"], code="session.not_found")
    c.ask("POST", "/mcp", 415, b"<a/>", code="http.media_type", headers=["Content-Type: text/xml"])
    c.ask("DELETE", "/mcp", 400, code="usage", field="MCP-Session-Id")
    c.ask("DELETE", "/mcp", 405, query="scope=mcp", headers=[sid, "MCP-Protocol-Version: 2026-07-28"], code="http.method")
    c.ask("DELETE", "/mcp", 204, query="scope=mcp", headers=[sid])
    c.ask("DELETE", "/mcp", 404, query="scope=mcp", headers=[sid], code="session.not_found")


def check_bad_starts(c):
    def refused(body, field, code="event.invalid", want=422):
        c.ask("POST", "/v1/sessions", want, body, code=code, field=field)

    refused({}, "scope")
    refused([], "body")
    refused({"scope": 7}, "scope")
    refused({"scope": "no spaces"}, "scope")
    refused({"scope": "../etc"}, "scope")
    refused({"scope": "x" * 129}, "scope")
    refused({"scope": "otters\u0000"}, "scope")
    refused({"scope": "otters", "chanel": "x"}, "chanel")
    refused({"scope": "otters", "key": ""}, "key")
    refused({"scope": "otters", "id": ".hidden"}, "id")
    refused({"scope": "otters", "mode": "maybe"}, "mode")
    refused({"scope": "otters", "owner": "me"}, "owner")
    refused({"scope": "otters", "owner": -1}, "owner")
    refused({"scope": "otters", "owner": 2 ** 22 + 1}, "owner")
    refused({"scope": "otters", "topics": [1]}, "topics")
    refused({"scope": "otters", "topics": 1}, "topics")
    refused({"scope": "otters", "meta": "x"}, "meta")
    refused({"scope": "otters", "force": 1}, "force")
    c.ask("POST", "/v1/sessions", 404, {"scope": "otters", "id": "nobody", "mode": "resume"}, code="session.not_found")
    c.start(scope="taken", id="taken", owner=os.getpid())
    c.ask("POST", "/v1/sessions", 409, {"scope": "taken", "id": "taken"}, code="session.held")
    c.ask("POST", "/v1/sessions", 409, {"scope": "elsewhere", "id": "taken"}, code="session.exists", field="scope")
    c.ask("POST", "/v1/sessions", 409, {"scope": "taken", "id": "taken", "mode": "successor"}, code="session.exists")
    assert c.start(200, scope="taken", id="taken", force=True)["epoch"] == 2


def check_bad_events(c):
    sid = c.start(scope="bad")["session_id"]

    def refused(body, field, want=422, code="event.invalid"):
        c.append(sid, body, want, code=code, field=field)

    refused({"kind": "message", "body": {"content": "x"}}, "body.role")
    refused({"kind": "message", "body": {"role": "nobody", "content": "x"}}, "body.role")
    refused({"kind": "frame", "body": {"frame_id": "f", "timestamp": "abc"}}, "body.timestamp")
    refused({"kind": "note", "body": {"id": "n", "text": "x", "confidence": 7}}, "body.confidence")
    refused({"kind": "mesage", "body": {}}, "kind")
    refused({"kind": "status", "body": {}}, "kind")
    refused({"kind": "x-" + "o" * 100, "body": {}}, "kind")
    refused({"kind": 7, "body": {}}, "kind")
    refused({"kind": "x-\u0000", "body": {}}, "kind")
    refused({"body": {}}, "kind")
    refused({"kind": "x-mine"}, "body")
    refused({"kind": "x-mine", "body": []}, "body")
    refused({"kind": "x-mine", "body": "{}"}, "body")
    refused({"kind": "x-mine", "body": {}, "at": "soon"}, "at")
    refused({"kind": "x-mine", "body": {}, "at": 5}, "at")
    refused({"kind": "x-mine", "body": {}, "idempotency_key": ""}, "idempotency_key")
    refused({"kind": "x-mine", "body": {}, "idempotency_key": "k" * 256}, "idempotency_key")
    refused({"kind": "x-mine", "body": {}, "bdy": {}}, "bdy")
    refused([MESSAGE, MESSAGE, {"kind": "message", "body": {"content": "x"}}], "events[2].body.role")
    refused([{"kind": "message", "body": {"content": "x"}}], "events[0].body.role")
    refused([MESSAGE, 7], "events[1]")
    refused([MESSAGE, {"kind": "x-mine"}], "events[1].body")
    refused([], "events")
    refused(7, "events")
    deep = b'{"kind":"x-mine","body":' + b'{"a":' * 65 + b"1" + b"}" * 66
    c.append(sid, deep, 422, code="event.invalid", field="body")
    deeper = c.append(sid, json.loads('{"kind":"x-deep","body":{"a":' + "[" * 80 + "]" * 80 + "}}"), 413, code="limit.size")
    assert "at most 64 levels" in deeper.json["detail"], deeper
    c.append(sid, [MESSAGE] * 10001, 413, code="limit.size")
    c.append(sid, {"kind": "x-big", "body": {"text": "o" * (1 << 20)}}, 413, code="limit.size")
    for query, field in (("durability=paper", "durability"), ("fallback=disk", "fallback"), ("epoch=0", "epoch"),
                         ("expect=-1", "expect"), ("expect=x", "expect"), ("client_id=a", "client_seq"),
                         ("client_seq=1", "client_id"), ("client_id=a&client_seq=0", "client_seq")):
        c.append(sid, want=400, query=query, code="usage", field=field)
    c.append(sid, want=422, query="client_id=%2e&client_seq=1", code="event.invalid", field="client_id")
    assert c.ask("GET", "/v1/sessions/{id}", 200, id=sid).json["seq"] == 0, "something of a bad request was stored"
    c.append(sid, query="epoch=1&expect=0")
    c.append(sid, want=409, query="expect=0", code="event.seq_conflict")
    fenced = c.append(sid, want=409, query="epoch=2", code="session.fenced")
    assert "there is no epoch 2 yet" in fenced.json["detail"], fenced
    c.ask("POST", "/v1/sessions/{id}/heartbeat", 200, id=sid)  # somebody's wrong epoch is nobody else's
    c.append(sid, [{"kind": "pin", "body": {"label": "p%d" % i, "content": "c"}} for i in range(10)])
    c.append(sid, {"kind": "pin", "body": {"label": "eleventh", "content": "c"}}, 409, code="limit.pins")
    c.append(sid, {"kind": "usage", "body": {"cost_usd": 3}})
    spent = c.start(scope="poor")["session_id"]
    c.append(spent, {"kind": "usage", "body": {"cost_usd": 3}})
    c.append(spent, want=429, code="limit.budget")


def check_bad_questions(c):
    sid = c.start(scope="bad")["session_id"]
    c.append(sid)
    one = "/v1/sessions/{id}"
    for path, query, field in (
            (one + "/events", "after=-1", "after"), (one + "/events", "limit=0", "limit"),
            (one + "/events", "limit=10001", "limit"), (one + "/events", "after=9223372036854775808", "after"),
            (one + "/state", "at=x", "at"), (one + "/chain", "depth=0", "depth"), (one + "/brief", "explain=maybe", "explain"),
            (one + "/evidence", "", "at"), (one + "/evidence", "at=then", "at"), (one + "/evidence", "at=1s&video_at=1", "at"),
            (one + "/evidence", "at=1s&window=wide", "window"), (one + "/evidence", "video_at=-1", "video_at"),
            ("/v1/sessions", "limit=1001", "limit"), ("/v1/sessions", "status=tired", "status"),
            ("/v1/sessions", "since=once", "since"), ("/v1/sessions", "cursor=nobody", "cursor"),
            ("/v1/sessions", "scope=a%20b", "scope"), ("/v1/sessions", "scope=%ff", "scope"),
            ("/v1/recap", "since=tuesday", "since"), ("/v1/recap", "limit=501", "limit"),
            ("/v1/search", "", "q"), ("/v1/search", "q=+", "q"), ("/v1/search", "q=%22", "q"),
            (one + "/events", "after=1&after=2", "after"), (one, "scope=a&scope=b", "scope"), (one + "/state", "scope=%20", "scope"),
             ("/v1/search", "q=x&limit=x", "limit"),
            ("/v1/search", "q=" + "x" * 2000, "q"), ("/v1/audit", "after=1", "after"), ("/v1/audit", "limit=0", "limit"),
            ("/v1/scopes/{scope}/brief", "explain=2", "explain"), ("/api/session", "scope=a%20b", "scope"),
            (one + "/events", "kind=%00", "kind")):
        c.ask("GET", path, 400, query=query, id=sid, scope="x", code="usage", field=field)
    c.ask("GET", one + "/snapshots/{n}", 400, id=sid, n="x", code="usage", field="n")
    c.ask("GET", one + "/snapshots/{n}", 404, id=sid, n=99, code="snapshot.not_found")
    c.ask("GET", one + "/state", 404, id=sid, query="at=99", code="event.not_found", field="at")
    c.ask("POST", one + "/fork", 404, {"at": 99}, id=sid, code="event.not_found")
    c.ask("POST", one + "/restore", 404, {"at": 99}, id=sid, code="event.not_found")
    c.ask("POST", one + "/restore", 404, {"snapshot": 99}, id=sid, code="snapshot.not_found")
    c.ask("POST", one + "/restore", 404, id=sid, code="snapshot.not_found")
    for path, body, field in (("restore", {"at": 1, "snapshot": 1}, "at"), ("restore", {"at": -5}, "at"),
                              ("restore", {"at": "x"}, "at"), ("restore", {"snapshot": -1}, "snapshot"),
                              ("fork", {"att": 1}, "att"), ("close", {"reason": 7}, "reason"),
                              ("close", {"reason": "x" * 200}, "reason"), ("continue", {}, "from"),
                              ("continue", {"from": 7}, "from"), ("continue", {"from": "a/b"}, "id")):
        c.ask("POST", one + "/" + path, 422, body, id=sid, code="event.invalid", field=field)
    for body, field in (({}, "body"), ({"name": 7}, "body.name"), ({"nam": "x"}, "nam"), ([], "body")):
        c.ask("PATCH", one, 422, body, id=sid, code="event.invalid", field=field)
    c.ask("GET", "/api/session", 404, query="scope=nobody", code="session.not_found")


def check_bad_bodies(c):
    """What every route with a body refuses, before it looks at what it means."""
    sid = c.start(scope="bad.bodies")["session_id"]
    json_type = ["Content-Type: application/json"]
    malformed = (b"{", b"{\"a\":1,}", b"{'a':1}", b"\xff", b"{\"a\":\"\xc3\x28\"}", b"{\"a\":1,\"a\":2}", b"nul", b"{} {}",
                 b"\xef\xbb\xbf{}", b"{\"a\":NaN}", b"{\"a\":\"\x01\"}", b"{\"a\":\"\\ud80\"}")
    for method, path, op in c.api.operations():
        if "requestBody" not in op and method == "POST":
            c.ask(method, path, 200, {}, id=sid)
            c.ask(method, path, 422, {"x": 1}, id=sid, code="event.invalid", field="x")
            c.ask(method, path, 400, b"{", id=sid, code="json.malformed", headers=json_type)
        elif "requestBody" not in op or path == "/mcp":  # which says it in its own words
            continue
        for text in malformed if path.endswith("events") else malformed[:5]:
            problem = c.ask(method, path, 400, text, id=sid, code="json.malformed", headers=json_type).json
            assert "byte" in problem["detail"], problem
        if op.get("requestBody", {}).get("required"):
            c.ask(method, path, 400, id=sid, code="json.malformed")
        c.ask(method, path, 415, b"<a/>", id=sid, code="http.media_type", headers=["Content-Type: text/xml"])
        c.ask(method, path, 422, b"[7]", id=sid, code="event.invalid", headers=json_type)
    for method, path, op in c.api.operations():
        if method != "GET":
            c.ask(method, path, 413, b" " * (17 << 20), id=sid, code="limit.size", headers=json_type + ["Expect:"])
    assert c.ask("GET", "/v1/sessions/{id}", 200, id=sid).json["seq"] == 0


def check_places(c):
    """Ids that are none, queries nobody asked for, methods, paths."""
    tricks = ("%2e%2e", "..", "%2e", "a%2fb", "a%5cb", "%00", "a%00b", "%", "%zz", "a%20b", "-a", "a..b", "%ff", "%c3%a9",
              "%c0%ae", "a;b", "x" * 129, "%3f", "a%0d%0ab")
    for method, path, op in c.api.operations():
        codes = c.api.codes(method, path)
        for ref in tricks if path == "/v1/sessions/{id}/state" else tricks[:7]:
            if "{" in path:
                c.ask(method, path, 400, id=ref, scope=ref, n=1, code="usage", field="path")
        if "session.not_found" in codes and "{id}" in path:
            c.ask(method, path, 404, body_for(method, path, op), id="nobody", n=1, code="session.not_found")
        lax = path in ("/", "/internal/session") or path.startswith(("/api", "/socket"))
        if not lax:
            c.ask(method, path, 400, id="x", scope="x", n=1, query="colour=red", code="usage", field="colour")
            c.ask(method, path, 400, id="x", scope="x", n=1, query="%zz", code="usage")
    problem = c.api.doc["components"]["schemas"]["Problem"]
    for target in ("/nothing", "/v1", "/v1/sessions/", "/v1/sessions/x/y", "/healthz/", "//", "/v1/sessions//events", "/%2e%2e/x"):
        answer = curl(c.server, "GET", target)
        if target == "/v1/sessions//events" or target == "/v1/sessions/":
            assert answer.status == 400, (target, answer)
        else:
            assert answer.status == 404 and answer.json["code"] == "http.not_found", (target, answer)
        c.api.validate(answer.json, problem)
    paths = {}
    for method, path, _ in c.api.operations():
        paths.setdefault(path, set()).update({method} | ({"HEAD"} if method == "GET" else set()))
    paths["/v1/sessions/stream"] |= paths["/v1/sessions/{id}"]  # a session may be called that
    for path, allowed in paths.items():
        for method in ("PUT", "POST", "DELETE", "PATCH", "OPTIONS", "PROPFIND"):
            if method not in allowed:
                answer = curl(c.server, method, re.sub(r"\{\w+\}", "1", path))
                assert answer.status == 405 and answer.json["code"] == "http.method", (method, path, answer)
                assert set(answer.headers["Allow"].split(", ")) == allowed
                c.api.validate(answer.json, problem)


def check_wire(c):
    """What no client library would send."""
    def head(data):
        return c.server.raw(data).split(b"\r\n")[0].split(b" ")[1:2]

    end = b"Host: 127.0.0.1\r\nConnection: close\r\n\r\n"
    assert head(b"GET /healthz HTTP/1.1\r\n" + end) == [b"200"]
    assert c.server.raw(b"HEAD /openapi.json HTTP/1.1\r\n" + end).endswith(b"\r\n\r\n"), "HEAD is answered with a body"
    for line in (b"GET /v1/sessions/\xff\xfe HTTP/1.1\r\n", b"GET /v1/sessions/\xc3\xa9 HTTP/1.1\r\n", b"GET /v1/sessions?scope=\xff HTTP/1.1\r\n"):
        assert head(line + end) == [b"400"], line
    assert head(b"POST /v1/sessions HTTP/1.1\r\nContent-Length: x\r\n" + end) in ([b"400"], [b"413"], [])
    assert head(b"GET /healthz HTTP/1.1\r\nX: " + b"o" * 40000 + b"\r\n" + end) in ([b"431"], [b"413"], [])
    assert head(b"nonsense\r\n\r\n") in ([b"400"], [b"505"], [])
    assert c.server.get("/healthz").status == 200


def check_doors(c):
    """Who may not: foreign pages, foreign names (DNS rebinding), wrong tokens; for every route."""
    for method, path, op in c.api.operations():
        body = body_for(method, path, op)
        params = dict(id="last", scope="x", n=1)
        c.ask(method, path, 403, body, headers=["Origin: http://evil.example"], code="auth.origin", **params)
        c.ask(method, path, 403, body, headers=["Host: evil.example"], code="auth.host", **params)
        c.ask(method, path, 401, body, headers=["Authorization: Bearer rpt_wrong"], code="auth.required", **params)


def check_tokens(c):
    """Through a name that is not loopback's everybody needs a token, and it opens what it says."""
    far = Client(c.server, c.api, ["Host: reprise.example"])
    mine = c.start(scope="mine", key="mine")
    other = c.start(scope="other", key="other")
    for method, path, op in c.api.operations():
        for ref in (mine["session_id"], "nobody") if {"bearer": []} in op["security"] else ():
            far.ask(method, path, 401, body_for(method, path, op), id=ref, scope="mine", n=1, code="auth.required")

    def token(*args):
        out = c.server.cli("token", "create", "--json", *args)
        return "Authorization: Bearer " + json.loads(out)["token"]

    def client(header):
        return Client(c.server, c.api, ["Host: reprise.example", header])

    full, reader = client(token()), client(token("--scope", "mine", "--read-only"))
    scoped, session = client(token("--scope", "mine")), client("Authorization: Bearer " + mine["token"])
    full.ask("GET", "/v1/sessions/{id}", 200, id=other["session_id"])
    full.ask("GET", "/metrics", 200)
    for who in (reader, scoped):
        assert {s["scope"] for s in who.ask("GET", "/v1/sessions", 200).json["sessions"]} == {"mine"}
        assert {r["scope"] for r in who.ask("GET", "/v1/audit", 200).json["records"]} <= {"mine"}
        assert who.ask("GET", "/api/session", 200).json["scope"] == "mine"
        assert {h["scope"] for h in who.ask("GET", "/v1/search", 200, query="q=otters").json["hits"]} <= {"mine"}
        assert {s["scope"] for s in who.ask("GET", "/v1/recap", 200).json["sessions"]} <= {"mine"}
        who.ask("GET", "/v1/sessions/{id}", 200, id=mine["session_id"])
    for who in (reader, scoped, session):
        for method, path, op in c.api.operations():
            if "auth.forbidden" not in c.api.codes(method, path) or path in ("/socket/websocket", "/internal/session"):
                continue
            if who is not session and path in ("/v1/sessions", "/v1/search", "/v1/recap", "/v1/audit", "/v1/sessions/stream") and method == "GET":
                who.ask(method, path, 403, query="scope=other&q=x" if "search" in path else "scope=other", code="auth.forbidden")
            elif who is not session and path == "/api/session":
                who.ask(method, path, 403, query="scope=other", code="auth.forbidden")
            elif path == "/mcp":
                who.ask(method, path, 403, body_for(method, path, op), query="scope=other", code="auth.forbidden",
                        headers=["MCP-Session-Id: none"])
            else:
                body = {"scope": "other"} if path == "/v1/sessions" and method == "POST" else body_for(method, path, op)
                who.ask(method, path, 403, body, id=other["session_id"], scope="other", n=1, code="auth.forbidden",
                        query="q=x" if "search" in path else "")
    reader.append(mine["session_id"], want=403, code="auth.forbidden")
    scoped.append(mine["session_id"])
    assert scoped.start(200, scope="mine", key="mine")["session_id"] == mine["session_id"]
    scoped.ask("POST", "/v1/sessions/{id}/continue", 403, {"from": other["session_id"]}, id=mine["session_id"], code="auth.forbidden")
    # A session's own token opens that session and no other.
    seq = session.append(mine["session_id"]).json["seq"]
    assert session.ask("GET", "/v1/sessions/{id}", 200, id=mine["session_id"]).json["seq"] == seq
    assert len(session.ask("GET", "/v1/sessions/{id}/chain", 200, id=mine["session_id"]).json) == 1
    session.ask("POST", "/v1/sessions", 403, {"scope": "mine"}, code="auth.forbidden")


# ---- sockets -------------------------------------------------------------------------------

def check_streams(c):
    sid = c.start(scope="live")["session_id"]
    c.append(sid, [MESSAGE] * 3)
    with c.server.socket() as s:
        s.sendall(b"GET /v1/sessions/%s/events/stream?after=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % sid.encode())
        got = b""
        while got.count(b"\ndata:") < 2:
            part = s.recv(65536)
            assert part, got
            got += part
    assert got.startswith(b"HTTP/1.1 200") and b"text/event-stream" in got and b"id: 3" in got and b"id: 1\n" not in got
    c.api.seen.add(("GET", "/v1/sessions/{id}/events/stream", 200, None))
    with c.server.socket() as s:
        s.sendall(b"GET /v1/sessions/stream?scope=live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        got = b""
        while sid.encode() not in got:
            part = s.recv(65536)
            assert part, got
            got += part
    assert got.startswith(b"HTTP/1.1 200") and b"text/event-stream" in got
    c.api.seen.add(("GET", "/v1/sessions/stream", 200, None))


def check_sockets(c):
    secret = open(os.path.join(c.server.folder, "internal-secret"), encoding="utf-8").read().strip()
    for path, query, more in (("/socket/websocket", "?vsn=2.0.0", ""),
                              ("/internal/session", "", "X-Internal-Secret: %s\r\n" % secret)):
        with c.server.socket() as s:
            s.sendall(("GET %s%s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                       "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n"
                       % (path, query, more)).encode())
            got = s.recv(65536)
        assert got.startswith(b"HTTP/1.1 101") and b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in got, got
        c.api.seen.add(("GET", path, 101, None))
    c.ask("GET", "/internal/session", 403, headers=["X-Internal-Secret: wrong"], code="auth.forbidden")


# ---- a server in trouble -----------------------------------------------------------------------

def check_limits(api):
    """429: more requests than client_rate allows, and the others go on after a while."""
    with Server(config="client_rate = 5\n") as server:
        c = Client(server, api)
        for _ in range(200):
            answer = server.get("/v1/sessions")
            if answer.status == 429:
                break
        assert answer.status == 429, answer
        answer.headers = {k.title(): v for k, v in answer.headers.items()}
        c.api.check("GET", "/v1/sessions", answer)
        assert answer.json["code"] == "limit.count"
        wait_until(lambda: server.get("/v1/sessions").status == 200)


def check_damage(api):
    """What is damaged in the store is said to be, and nothing else suffers."""
    with Server() as server:
        c = Client(server, api)
        sid, well = c.start(key="hurt")["session_id"], c.start(key="well")["session_id"]
        for _ in range(3):
            c.append(sid)
        c.ask("POST", "/v1/sessions/{id}/checkpoint", 200, id=sid)
        db = sqlite3.connect(server.db[7:])
        with db:
            db.execute("UPDATE rp_snapshots SET data = zeroblob(length(data))")
            db.execute("UPDATE rp_events SET body = replace(body, 'otters', 'badgers') WHERE seq = 2")
        db.close()
        c.ask("GET", "/v1/sessions/{id}/snapshots/{n}", 500, id=sid, n=1, code="snapshot.corrupted")
        read = c.ask("GET", "/v1/sessions/{id}/events", 200, id=sid).json["events"]
        assert [e["kind"] for e in read] == ["message", "x-damaged", "message"], read
        assert read[1]["body"] == {"reason": "its checksum does not fit", "original_kind": "message"}, read
        few = c.ask("GET", "/v1/sessions/{id}/events", 200, id=sid, query="kind=note").json["events"]
        assert [e["seq"] for e in few] == [2], few  # nobody takes a gap for silence
        c.append(well)
        assert len(c.ask("GET", "/v1/sessions/{id}/events", 200, id=well).json["events"]) == 1
        db = sqlite3.connect(server.db[7:])
        with db:  # no journal ends a million events behind its last one
            db.execute("UPDATE rp_heads SET last_seq = 1000000 WHERE session = (SELECT ref FROM rp_sessions WHERE id = ?)", (well,))
        db.close()
        c.ask("GET", "/v1/sessions/{id}/events", 500, id=well, query="limit=10000", code="store.corrupted")


def check_full(api):
    """The disk is full: reads go on, writes are told to come back, or kept in memory where that was asked for."""
    with Server() as server:
        c = Client(server, api)
        sid = c.start()["session_id"]
        c.append(sid)
        soft, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1, hard))
        big = {"kind": "x-big", "body": {"text": "o" * 100000}}
        refused = c.append(sid, big, 503).json
        assert refused["code"] in ("store.full", "store.io") and refused["retryable"], refused
        assert "/" not in refused["detail"].replace("I/O", ""), refused  # where files lie is nobody's business
        assert c.ask("GET", "/v1/sessions/{id}", 200, id=sid).json["seq"] == 1
        kept = c.append(sid, big, query="fallback=memory").json
        assert kept == {"seq": None, "durability": "memory"}
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (soft, hard))
        wait_until(lambda: c.ask("GET", "/v1/sessions/{id}/events", 200, id=sid, query="kind=x-big").json["events"])


def check_sealed(api):
    """A sealed scope without its key gives nothing away."""
    with Server(env={"REPRISE_KEY": "ab" * 32}) as server:
        c = Client(server, api)
        sid = c.start(scope="sealed")["session_id"]
        c.append(sid)
        assert c.ask("GET", "/v1/sessions/{id}/events", 200, id=sid).json["events"][0]["body"] == MESSAGE["body"]
        assert server.stop(signal.SIGTERM) == 0
        del server.env["REPRISE_KEY"]
        server.start()
        c.ask("GET", "/v1/sessions/{id}/events", 403, id=sid, code="seal.key_missing")
        assert server.stop() == 0
        server.env["REPRISE_KEY"] = "cd" * 32
        server.start()
        c.ask("GET", "/v1/sessions/{id}/state", 403, id=sid, code="seal.key_wrong")


# ---- all of it -----------------------------------------------------------------------------------

def check_coverage(api):
    """Every route gave every answer it may give."""
    missing = []
    for method, path, op in api.operations():
        seen = {(s, code) for m, p, s, code in api.seen if (m, p) == (method, path)}
        for status, response in op["responses"].items():
            successes = [t for t in response.get("content", {"101": 0}) if "problem" not in t]
            if successes and int(status) < 400 and (int(status), None) not in seen:
                missing.append("%s %s: %s" % (method, path, status))
            for code in response.get("x-codes", []):
                if code not in RARE and (int(status), code) not in seen and (method, path, code) not in EXCUSED:
                    missing.append("%s %s: %s" % (method, path, code))
    for code in ("limit.count", "store.corrupted", "seal.key_missing", "seal.key_wrong"):
        if not any(c == code for _, _, _, c in api.seen):
            missing.append("anywhere: " + code)
    assert not missing, "never seen:\n  " + "\n  ".join(missing)


# What a route has by the rules of its kind, but can't give.
EXCUSED = {
    ("GET", "/socket/websocket", "auth.forbidden"),  # a token opens the socket; joins are judged one by one
}


def main():
    config = "allowed_hosts = reprise.example\n[scope poor]\nbudget_usd = 2\n"
    with Server(config=config) as server:
        c = Client(server)
        if "--docs" in sys.argv:
            print("\n".join(doc_rows(c)))
            return
        checks = [check_document, check_docs, check_service, check_start, check_lists, check_events, check_event_pages,
                  check_repeats, check_repeated_starts, check_life, check_continue, check_recap, check_audit, check_export, check_delete, check_names, check_scopes,
                  check_mcp, check_bad_starts,
                  check_bad_events, check_bad_questions, check_bad_bodies, check_places, check_wire, check_doors,
                  check_tokens, check_streams, check_sockets]
        failed = 0
        for check in checks + [check_limits, check_damage, check_full, check_sealed, check_coverage]:
            try:
                check(c if check in checks else c.api)
                print("ok    ", check.__name__, flush=True)
            except Exception as why:  # the rest is worth knowing too
                failed += 1
                print("FAILED", check.__name__, str(why)[:2000], flush=True)
                traceback.print_exc()
        assert server.stop() == 0, "\n".join(server.log)
        print("%d requests by curl, %d kinds of answers, %d checks failed" % (
            sum("event=request" in line for line in server.log), len(c.api.seen), failed))
        sys.exit(failed != 0)


if __name__ == "__main__":
    main()
