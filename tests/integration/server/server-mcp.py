#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sessions of MCP clients over HTTP, where nobody says goodbye: many at once, coming again, a server that stops (B-04, X-09).

usage: server-mcp.py [NAME…]: only the tests whose names begin so
"""
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
import cases  # noqa: E402
from serve import Server  # noqa: E402

MODERN = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
PIN = {"action": "pin", "label": "gap", "content": "mind the gap"}


def post(server, message, headers=None):
    return server.post("/mcp?scope=web", dict(message, jsonrpc="2.0", id=1), headers)


def initialize(server, name="editor"):
    """The session's id and the instructions."""
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}
    answer = post(server, {"method": "initialize", "params": params})
    assert answer.status == 200, answer
    return answer.headers["MCP-Session-Id"], answer.json["result"]["instructions"]


def call(server, sid, tool, status=200, **args):
    answer = post(server, {"method": "tools/call", "params": {"name": tool, "arguments": args}}, {"MCP-Session-Id": sid})
    assert answer.status == status, answer
    return answer.json["result"]["structuredContent"] if status == 200 else None


def modern(server, tool, **args):
    head = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": tool}
    answer = post(server, {"method": "tools/call", "params": {"name": tool, "arguments": args, "_meta": META}}, head)
    assert answer.status == 200 and not answer.json["result"]["isError"], answer
    return answer.json["result"]["structuredContent"]


def log(server, sid):
    return [json.loads(line) for line in server.cli("log", sid, "--json").splitlines()]


def test_many_at_once_begin_one_session_once():
    with Server() as s:
        gate = threading.Barrier(24)
        ids, errors = [], []

        def one(i):
            try:
                gate.wait()
                modern(s, "remember", text="fact %d" % i)
                ids.append(modern(s, "session_status")["session_id"])
            except Exception as e:
                errors.append(e)

        threads = [threading.Thread(target=one, args=(i,)) for i in range(24)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not errors, errors
        assert len(set(ids)) == 1 and len(ids) == 24, ids
        assert not [e for e in log(s, ids[0]) if e["kind"] == "restored"], log(s, ids[0])
        show = json.loads(s.cli("show", ids[0], "--json"))
        assert show["epoch"] == 1 and not show["crash_recovered"], show


def test_who_comes_again_has_what_was_left():
    with Server() as s:
        first, told = initialize(s)
        call(s, first, "working_memory", **PIN)
        other, _ = initialize(s, "inspector")
        assert "mind the gap" not in told
        second, told = initialize(s)
        assert "mind the gap" in told, told
        assert call(s, second, "working_memory", action="view")["pins"][0]["label"] == "gap"
        ends = [e["body"].get("reason") for e in log(s, first) if e["kind"] == "status"]
        assert ends == ["client came again"], ends
        assert not [e for e in log(s, other) if e["kind"] == "status"]
        # It was another window of the same client after all: nothing is lost.
        assert call(s, first, "session_status")["session_id"] == first
        assert call(s, first, "working_memory", action="view")["pins"][0]["label"] == "gap"
        assert s.request("DELETE", "/mcp?scope=web", headers={"MCP-Session-Id": first}).status == 204
        call(s, first, "session_status", status=404)


def starts_from(server):
    """The scope's pins as each way in has them at a start, with where they come from."""
    over_http = server.post("/v1/sessions", {"scope": "web"}).json
    by_hand = json.loads(server.cli("start", "--scope", "web", "--json"))
    lines = [{"method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {},
                                                 "clientInfo": {"name": "pipe", "version": "1"}}},
             {"method": "tools/call", "params": {"name": "working_memory", "arguments": {"action": "view"}}}]
    text = "".join(json.dumps(dict(line, jsonrpc="2.0", id=i)) + "\n" for i, line in enumerate(lines))
    answers = [json.loads(line) for line in server.cli("mcp", "--scope", "web", stdin=text).splitlines()]
    yield over_http["inherited"], over_http["brief"]
    yield by_hand["inherited"], by_hand["brief"]
    pins = answers[1]["result"]["structuredContent"]["pins"]
    yield {"pins": len(pins)}, answers[0]["result"]["instructions"]


def test_whoever_comes_next_has_what_a_living_session_knows():
    """X-05, X-06: one memory for a scope, also while nobody has hung up."""
    with Server() as s:
        first, _ = initialize(s)
        call(s, first, "working_memory", **PIN)
        call(s, first, "task", action="open", task_id="task-1", title="close the gap", stage="design")
        call(s, first, "remember", text="trains run on the left")
        brief = json.loads(s.cli("brief", "--scope", "web", "--json"))["brief"]
        second, told = initialize(s, "inspector")
        for text in (told, brief):
            assert "mind the gap" in text and "task-1" in text and "trains run on the left" in text, text
        pins = call(s, second, "working_memory", action="view")["pins"]
        assert [(p["label"], p["inherited_from"]) for p in pins] == [("gap", first)], pins
        assert [t["task_id"] for t in call(s, second, "task", action="list")["open_tasks"]] == ["task-1"]
        assert not json.loads(s.cli("show", first, "--json"))["ended_at"]
        # What is inherited stands in the journal of who inherits.
        body = [e["body"] for e in log(s, second) if e["kind"] == "restored"][0]
        assert body["from"] == [first] and [p["inherited_from"] for p in body["pins"]] == [first], body
        for inherited, text in starts_from(s):
            assert inherited["pins"] == 1 and "mind the gap" in text, (inherited, text)
        # No doubles: not beside those who have it from the first, nor when that one ends.
        for sid in (first, second):
            assert s.request("DELETE", "/mcp?scope=web", headers={"MCP-Session-Id": sid}).status == 204
        for inherited, text in starts_from(s):
            assert inherited["pins"] == 1 and text.count("mind the gap") == 1, (inherited, text)


def test_two_that_live_side_by_side():
    with Server() as s:
        early, _ = initialize(s, "early bird")
        late, _ = initialize(s, "night owl")
        call(s, late, "working_memory", **PIN)
        call(s, late, "task", action="open", task_id="task-1", title="close the gap")
        view = call(s, early, "working_memory", action="view")
        assert view["pins"] == [] and view["elsewhere"] == [
            {"label": "gap", "content": "mind the gap", "session_id": late}], view
        tasks = call(s, early, "task", action="list")
        assert tasks["open_tasks"] == [] and [t["task_id"] for t in tasks["elsewhere"]] == ["task-1"], tasks
        # Who has it does not see it twice, and a word on a task is the scope's.
        call(s, early, "working_memory", **PIN)
        assert call(s, early, "working_memory", action="view")["elsewhere"] == []
        call(s, early, "task", action="done", task_id="task-1")
        assert call(s, early, "task", action="list")["elsewhere"] == []
        assert json.loads(s.cli("brief", "--scope", "web", "--explain", "--json"))["tasks"][0]["verdict"] == "closed"
        # What was taken off here stays where it is.
        call(s, late, "working_memory", action="unpin", label="gap")
        assert [p["label"] for p in call(s, early, "working_memory", action="view")["pins"]] == ["gap"]


def test_channels_keep_to_themselves():
    with Server(config="[scope web]\nper_channel = true\n") as s:
        first, _ = initialize(s)
        call(s, first, "working_memory", **PIN)
        assert "mind the gap" in initialize(s, "inspector")[1]
        other = s.post("/v1/sessions", {"scope": "web", "channel": "phone"}).json
        assert other["inherited"]["pins"] == 0 and not other["brief"], other


def test_a_server_that_stops_is_no_crash():
    with Server() as s:
        sid, _ = initialize(s)
        call(s, sid, "working_memory", **PIN)
        shared = modern(s, "session_status")["session_id"]
        assert s.stop() == 0
        for one in (sid, shared):
            last = log(s, one)[-1]
            assert last["body"] == {"status": "closed", "cause": "clean", "reason": "server stopped"}, last
        s.start()
        assert call(s, sid, "working_memory", action="view")["pins"][0]["label"] == "gap"
        causes = [e["body"]["cause"] for e in log(s, sid) if e["kind"] == "restored"]
        assert causes == ["clean"], causes
        run = json.loads(s.cli("show", modern(s, "session_status")["session_id"], "--json"))["run"]
        assert run["cause"] == "clean", run
        assert s.stop() == 0


if __name__ == "__main__":
    cases.main(globals())
