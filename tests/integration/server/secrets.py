#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""No credential is readable in the store's files, the log or what a model is told, whichever field it was put into (X-14).

usage: secrets.py [NAME…]: only the tests whose names begin so
"""
import hashlib
import json
import os
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
import cases  # noqa: E402
from serve import Server  # noqa: E402

# Of the form of vendors' tokens; in pieces, so that no scanner of other people's takes them for real ones.
TOKEN = "gh" + "p_%032d"
PASSWORD = "S3cretPw99"
URL = "postgres://ada:" + PASSWORD + "@db/prod"


def token(n):
    return TOKEN % n


def folder(s):
    return os.path.dirname(s.db[len("sqlite:"):])


def readable(s, *secrets):
    """Where one of them stands: in the files of the store or in the log."""
    found = []
    for base, _, names in os.walk(folder(s)):
        for name in names:
            path = os.path.join(base, name)
            if not os.path.isfile(path):
                continue
            with open(path, "rb") as f:
                data = f.read()
            found += [(name, x) for x in secrets if x.encode() in data]
    return found + [("log", x) for x in secrets if any(x in line for line in s.log)]


def mcp(s, method, headers=None, **params):
    answer = s.post("/mcp?scope=secrets", dict(jsonrpc="2.0", id=1, method=method, params=params), headers)
    assert answer.status == 200, answer
    return answer


def test_a_pin_without_a_label_is_masked_before_it_is_cut():
    with Server() as s:
        answer = mcp(s, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "e", "version": "1"})
        head = {"MCP-Session-Id": answer.headers["MCP-Session-Id"]}
        for content in (URL, "use " + token(1) + " for it", "0123456789012345678901234 " + token(2)):
            got = mcp(s, "tools/call", head, name="working_memory", arguments={"action": "pin", "content": content}).json
            assert not got["result"].get("isError"), got
            assert "[REDACTED" in got["result"]["structuredContent"]["label"], got
        seen = mcp(s, "tools/call", head, name="working_memory", arguments={"action": "view"}).text
        assert PASSWORD not in seen and token(1)[:12] not in seen and seen.count("[REDACTED") >= 3, seen
        mcp(s, "tools/call", head, name="working_memory", arguments={"action": "pin", "label": URL, "content": "x"})
        got = mcp(s, "tools/call", head, name="working_memory", arguments={"action": "unpin", "label": URL}).json
        assert not got["result"].get("isError"), got  # found by the label that was given
        again = mcp(s, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "e", "version": "1"})
        assert PASSWORD not in again.text and token(1)[:12] not in again.text
        s.stop()
        assert not readable(s, PASSWORD, token(1)[:20], token(2)[:20])


def test_names_that_are_credentials_are_refused():
    with Server() as s:
        for i, field in enumerate(("scope", "key", "id", "channel", "provider")):
            body = dict({"scope": "names"}, **{field: token(i)})
            got = s.post("/v1/sessions", body)
            assert got.status == 422 and got.json["field"] == field and token(i) not in got.text, got
        for text in ("--name", "--scope"):
            got = s.cli("token", "create", text, token(7), check=False)
            assert got.returncode == 2 and token(7) not in got.stdout + got.stderr, got
        assert s.post("/v1/sessions", {"scope": "names", "key": "secret:santa"}).status == 201
        got = s.post("/v1/sessions", {"scope": "names", "id": "named"}).json
        got = s.post("/v1/sessions/named/events?client_id=%s&client_seq=1" % token(8),
                     {"kind": "message", "body": {"role": "user", "content": "x"}})
        assert token(8) not in got.text, got
        s.stop()
        assert not readable(s, *[token(i) for i in range(9)])


def test_what_can_be_no_name_and_may_be_a_credential_is_not_told_back():
    texts = ("DB_PASSWORD=hunter2xyz", "postgres://ada:hunter2xyz@db")
    with Server() as s:
        for text in texts:
            quoted = urllib.parse.quote(text, safe="")
            answers = [s.post("/v1/sessions", dict({"scope": "names"}, **{field: text}))
                       for field in ("scope", "key", "id", "channel", "provider")]
            answers += [s.get("/v1/sessions/" + quoted), s.get("/v1/" + quoted), s.request("PUT", "/v1/sessions/" + quoted),
                        s.get("/v1/sessions?scope=" + quoted),
                        s.get("/v1/sessions?cursor=" + quoted), s.get("/v1/sessions?status=" + quoted),
                        s.get("/v1/sessions?" + quoted + "=1"), s.post("/v1/sessions", {"scope": "names", text: 1})]
            for got in answers:
                assert "hunter2xyz" not in got.text, (text, got)
            for words in (("start", "--scope", "a", "--key", text), ("token", "create", "--name", text), ("show", text),
                          ("ls", text), ("ls", "--status", text), ("token", "rm", text)):
                got = s.cli(*words, check=False)
                assert got.returncode and "hunter2xyz" not in got.stdout + got.stderr, (words, got)
            got = s.post("/mcp?scope=" + quoted, dict(jsonrpc="2.0", id=1, method="ping", params={}))
            assert "hunter2xyz" not in got.text, got
        name = "DB_PASSWORD:hunter2xyz"  # of a name's characters alone
        for path in ("/v1/sessions/" + name, "/v1/sessions/%s?scope=names" % name):
            got = s.get(path)
            assert got.status == 404 and "hunter2xyz" not in got.text, got
        for words in (("show", name), ("token", "rm", name), ("start", "--scope", "a", "--mode", "resume", "--key", name)):
            got = s.cli(*words, check=False)
            assert got.returncode and "hunter2xyz" not in got.stdout + got.stderr, (words, got)


def test_an_idempotency_key_that_is_a_credential_is_hashed():
    with Server() as s:
        s.post("/v1/sessions", {"scope": "keys", "id": "k"})
        event = {"kind": "message", "body": {"role": "user", "content": "x"}}
        seqs = [s.post("/v1/sessions/k/events", event, {"Idempotency-Key": token(n)}).json["seq"] for n in (1, 2, 1, 2)]
        assert seqs[0] != seqs[1] and seqs[0] == seqs[2] and seqs[1] == seqs[3], seqs
        s.stop()
        assert not readable(s, token(1), token(2))


def test_fields_of_all_kinds_are_masked():
    with Server() as s:
        got = s.post("/v1/sessions", {"scope": "fields", "id": "f", "meta": {"note": URL, "title": "with " + token(1)},
                                      "topics": "a," + token(2)})
        assert got.status == 201, got
        for n, (kind, body) in enumerate((("session", {"name": "about " + token(3)}),
                                          ("message", {"role": "user", "content": "see " + token(4)}),
                                          ("tool", {"call_id": "c1", "name": "sh", "status": "intended",
                                                    "input": {"command": ["curl", "-u", "ada:" + PASSWORD, "x"]}}),
                                          ("task", {"task_id": "t", "title": "rotate " + token(5), "stage": "open"}))):
            got = s.post("/v1/sessions/f/events", {"kind": kind, "body": body})
            assert got.status == 200, (kind, got)
        s.cli("remember", "f", "the key is " + token(6))
        s.cli("end", "f", "--reason", "done with " + token(7), check=False)
        text = s.cli("export", "f") + s.get("/v1/sessions/f").text + s.get("/v1/scopes/fields/brief").text
        for secret in (PASSWORD,) + tuple(token(n) for n in range(1, 8)):
            assert secret not in text, secret
        s.stop()
        assert not readable(s, PASSWORD, *[token(n) for n in range(1, 8)])


def test_a_prompt_that_is_cut_is_masked_first():
    """The token stands at every place across the limit of what is kept inline; the rest is a blob, masked too."""
    limit = 256 * 1024
    with Server() as s:
        hook = {"session_id": "9beb957a-0aee-49d2-b16c-6f31e6775f1f", "cwd": folder(s), "permission_mode": "default"}

        def tell(event, **more):
            got = s.cli("hook", event, "--agent", "claude", check=False, stdin=json.dumps(dict(hook, hook_event_name=event, **more)))
            assert got.returncode == 0, got

        tell("SessionStart", source="startup")
        for back in range(1, len(token(1)), 7):
            start = "word " * ((limit - back) // 5)
            tell("UserPromptSubmit", prompt=start + "x" * (limit - back - len(start) - 1) + " " + token(1) + " and more")
        texts = s.cli("log", "claude:" + hook["session_id"], "--json")
        assert texts.count("content_blob") == len(range(1, len(token(1)), 7)), texts[-500:]
        for n in range(6, len(token(1))):
            assert token(1)[:n] not in texts, n
        s.stop()
        assert not readable(s, token(1)[:12])


def test_an_import_is_masked():
    with Server() as s:
        s.post("/v1/sessions", {"scope": "import", "id": "i", "meta": {"note": "plain-note"}, "provider": "plain-provider"})
        s.cli("end", "i")
        lines = s.cli("export", "i").splitlines()
        for n, place in enumerate(("plain-note", "plain-provider", '"cause":"clean","restart"')):
            filled = '"cause":"clean","reason":"told %s","restart"' % token(n) if n == 2 else token(n)
            changed = "".join(x.replace('"session_id":"i"', '"session_id":"i-%d"' % n).replace(place, filled) + "\n"
                              for x in lines[:-1])
            end = json.loads(lines[-1])
            end["end"]["hash"] = hashlib.blake2b(changed.encode(), digest_size=32).hexdigest()
            got = s.cli("import", "-", check=False, stdin=changed + json.dumps(end) + "\n")
            # A provider is a name: it is refused where a note is masked.
            assert (got.returncode == 0) == (n != 1), got
        assert "[REDACTED]" in s.get("/v1/sessions/i-0").text
        s.stop()
        assert not readable(s, token(0), token(1), token(2))


def test_a_path_in_the_log_is_masked():
    with Server() as s:
        s.get("/v1/sessions/" + token(1))
        s.get("/v1/sessions/" + URL.replace("/", "%2F").replace(":", "%3A").replace("@", "%40"))
        s.get("/v1/sessions/" + "x" * 120 + "/" + token(2) + "/" + "y" * 50)
        s.stop()
        assert not readable(s, token(1), token(2), PASSWORD)
        assert any("path=" in x and "REDACTED" in x for x in s.log), s.log


if __name__ == "__main__":
    cases.main(globals())
