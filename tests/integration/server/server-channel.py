#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sessions as channels, routes and agents share them: their keys, scopes, times and meta (L-01, L-05, L-08, C-03, C-11).

usage: server-channel.py [NAME…]: only the tests whose names begin so
"""
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
import cases  # noqa: E402
from serve import Server, wait_until  # noqa: E402
from phx import Phoenix  # noqa: E402
from ws import CLOSE, WebSocket  # noqa: E402

SECRET = "an internal secret of no use anywhere else"


def begin(s, **members):
    answer = s.post("/v1/sessions", members)
    assert answer.status in (200, 201), answer
    return answer.json


def shown(s, sid):
    return json.loads(s.cli("show", sid, "--json"))


def refused(socket, topic, payload=None):
    status, response = socket.ask(topic, "phx_join", payload or {})
    assert status == "error", response
    return response


# ---- keys ----


def test_a_key_that_a_route_gave_is_joined():
    with Server() as s, Phoenix(s) as socket:
        sid = begin(s, scope="otters", key="river")["session_id"]
        for topic, payload in (("session:river", {}), ("audio:river", {}), ("session:river", {"scope": "otters"}),
                               ("session:" + sid, {})):
            joined = socket.join(topic, payload, join_ref=topic)
            assert joined["session_id"] == sid and joined["key"] == "river" and joined["resumed"], joined
            assert joined["scope"] == "otters" and not joined["created"], joined
        status, ack = socket.ask("session:river", "event", {"kind": "x-crumb", "body": {}}, join_ref="session:river")
        assert status == "ok", ack
        assert s.get("/v1/sessions/river/events?kind=x-crumb").json["events"][0]["seq"] == ack["seq"]
        assert len(s.get("/v1/sessions").json["sessions"]) == 1


def test_a_key_of_several_scopes_needs_a_scope():
    with Server() as s, Phoenix(s) as socket:
        ids = {scope: begin(s, scope=scope, key="river")["session_id"] for scope in ("otters", "herons")}
        response = refused(socket, "session:river")
        assert response["reason"] == "session.ambiguous", response
        for scope, sid in ids.items():
            assert socket.join("session:river", {"scope": scope}, join_ref=scope)["session_id"] == sid
            assert s.get("/v1/sessions/river?scope=" + scope).json["session_id"] == sid
        assert s.get("/v1/sessions/river").status == 400
        elsewhere = socket.join("session:river", {"scope": "newts"}, join_ref="newts")
        assert elsewhere["created"] and elsewhere["session_id"] == "river", elsewhere


def test_a_prefix_names_no_session_of_a_channel():
    with Server() as s, Phoenix(s) as socket:
        begin(s, scope="default", id="riverbank", key="bank")
        assert socket.join("session:river")["created"]


def test_a_closed_key_is_a_new_session():
    """L-05: what was closed comes back by its id alone."""
    with Server() as s, Phoenix(s) as socket:
        sid = begin(s, scope="default", key="river")["session_id"]
        assert s.post("/v1/sessions/river/close").status == 200
        joined = socket.join("session:river")
        assert joined["session_id"] == "river" and joined["created"], joined
        assert socket.join("session:" + sid, join_ref="2")["resumed"]


def test_the_key_of_the_own_scope_is_joined_without_a_start():
    """Also when another scope has a newer session of that key."""
    with Server() as s, Phoenix(s) as socket:
        mine = begin(s, scope="otters", key="river")
        begin(s, scope="herons", key="river")
        joined = socket.join("session:any", {"scope": "otters", "key": "river"})
        assert joined["session_id"] == mine["session_id"] and joined["epoch"] == mine["epoch"], joined


# ---- meta ----


def metas(s, sid):
    """Every place that shows a session's meta."""
    listed = [row for row in s.get("/v1/sessions").json["sessions"] if row["session_id"] == sid]
    state = s.get("/v1/sessions/%s/state" % sid).json
    exported = json.loads(s.cli("export", sid).splitlines()[0])
    with Phoenix(s) as watcher:
        watcher.say("sessions:otters", "phx_join", {})
        while True:
            told = json.loads(watcher.message())
            if told[3] == "session" and told[4]["session_id"] == sid:
                break
    return [listed[0].get("meta"), s.get("/v1/sessions/" + sid).json.get("meta"), shown(s, sid).get("meta"),
            state["session"].get("meta"), state["settings"]["meta"], exported["session"].get("meta"), told[4].get("meta")]


def agree(s, sid, meta):
    for got in metas(s, sid):
        assert got == meta, (got, meta, metas(s, sid))


def test_there_is_one_meta():
    """Whoever changes it: the start, PATCH, an event, a channel; and everybody shows that."""
    with Server() as s, Phoenix(s) as socket:
        sid = begin(s, scope="otters", key="river", meta={"video_id": "v1", "title": "Otters"})["session_id"]
        socket.join("session:river", {"scope": "otters"})
        status, ack = socket.ask("session:river", "update_video_context", {"video_id": "v2"})
        assert status == "ok", ack
        agree(s, sid, {"title": "Otters", "video_id": "v2"})
        assert s.request("PATCH", "/v1/sessions/river", {"meta": {"video_id": "v3", "tags": ["a"]}}).status == 200
        agree(s, sid, {"title": "Otters", "video_id": "v3", "tags": ["a"]})
        s.cli("append", sid, "session", '{"meta":{"tags":null},"name":"River"}')
        agree(s, sid, {"title": "Otters", "video_id": "v3"})
        for _ in range(2):  # a repeat changes nothing
            headers = {"Idempotency-Key": "once"}
            s.request("PATCH", "/v1/sessions/river", {"meta": {"n": 1}}, headers)
            s.request("PATCH", "/v1/sessions/river", {"meta": {"n": 2}})
        agree(s, sid, {"title": "Otters", "video_id": "v3", "n": 2})
        s.cli("restore", sid, "--at", "1")  # what was said is taken back; what the session is stays
        agree(s, sid, {"title": "Otters", "video_id": "v3", "n": 2})
        s.stop()
        s.start()
        agree(s, sid, {"title": "Otters", "video_id": "v3", "n": 2})
        assert s.request("PATCH", "/v1/sessions/river", {"meta": None}).status == 200
        assert not shown(s, sid).get("meta")


def test_imports_and_forks_have_the_meta_of_the_session():
    with Server() as s:
        sid = begin(s, scope="otters", meta={"a": 1})["session_id"]
        assert s.request("PATCH", "/v1/sessions/" + sid, {"meta": {"a": 2, "b": 1}}).status == 200
        fork = s.post("/v1/sessions/%s/fork" % sid).json["session_id"]
        agree(s, fork, {"a": 2, "b": 1})
        text = s.cli("export", sid)
        with Server() as other:
            other.cli("import", "-", stdin=text)
            agree(other, sid, {"a": 2, "b": 1})


def test_meta_of_a_sealed_scope_stays_sealed():
    with tempfile.NamedTemporaryFile() as key, Server(config="[scope otters]\nkey_file = %s\n" % key.name) as s:
        key.write(os.urandom(32).hex().encode())
        key.flush()
        sid = begin(s, scope="otters", meta={"video_id": "plain-one"})["session_id"]
        assert s.request("PATCH", "/v1/sessions/" + sid, {"meta": {"more": "plain-two"}}).status == 200
        agree(s, sid, {"video_id": "plain-one", "more": "plain-two"})
        s.stop()
        for name in os.listdir(s.folder):
            path = os.path.join(s.folder, name)
            if os.path.isfile(path):
                with open(path, "rb") as f:
                    assert b"plain-" not in f.read(), name


# ---- times of a scope ----


def test_who_leaves_has_the_time_of_the_scope():
    config = "leave_s = 3600\n[scope otters]\nleave_s = 0\n"
    with Server(config=config) as s:
        with Phoenix(s) as socket:
            socket.join("session:a", {"scope": "otters"}, join_ref="1")
            socket.join("session:b", {"scope": "herons"}, join_ref="2")
            socket.send(b"\x03\xe8", CLOSE)
            wait_until(lambda: shown(s, "a")["status"] == "closed")
        assert shown(s, "b")["status"] != "closed"
        assert re.search(r"^reprise_server_sessions_leaving 1$", s.get("/metrics").text, re.M)


class Agent(WebSocket):
    def __init__(self, s, session):
        super().__init__(s.socket(), s.address, "/internal/session", {"x-internal-secret": SECRET})
        self.say("auth", sessionId=session["session_id"], token=session["token"])
        while json.loads(self.message())["type"] != "auth_ok":
            pass

    def say(self, type, **members):
        self.send(json.dumps(dict(type=type, **members)))


def agents_server(config):
    return Server(config=config, env={"INTERNAL_SECRET": SECRET})


def runtime(s, session):
    answer = s.get("/v1/sessions/%s/state" % session["session_id"])
    return answer.json.get("runtime", {}).get("status") if answer.status == 200 else answer.status


def test_a_lost_agent_has_the_time_of_the_scope():
    with agents_server("reconnect_s = 3600\n[scope otters]\nreconnect_s = 0\n") as s:
        quick, slow = begin(s, scope="otters"), begin(s, scope="herons")
        for session in (quick, slow):
            Agent(s, session).sock.close()
        wait_until(lambda: runtime(s, quick) == "error")
        wait_until(lambda: runtime(s, slow) == "reconnecting")


# ---- eviction ----


def trash(s):
    return {row["session_id"] for row in s.get("/v1/sessions?trashed=1").json["sessions"]}


def test_a_failed_session_is_evicted():
    """C-03: into the trash, with a record of it; untrash brings it back, and no agent's failure of before counts then."""
    with agents_server("evict_s = 0.2\nreconnect_s = 0\n") as s:
        said, lost, fine = (begin(s, scope="otters", key=key) for key in ("said", "lost", "fine"))
        Agent(s, said).say("error", message="no more disk")
        Agent(s, lost).sock.close()
        well = Agent(s, fine)
        well.say("ready")
        gone = {said["session_id"], lost["session_id"]}
        wait_until(lambda: trash(s) == gone)
        assert runtime(s, said) == 404 and runtime(s, fine) == "idle"
        records = [json.loads(line) for line in s.cli("audit", "--scope", "otters", "--json").splitlines()]
        evicted = {r["fields"]["session_id"]: r["fields"]["reason"] for r in records if r["event"] == "trash"}
        assert set(evicted) == gone and all("agent failed" in why for why in evicted.values()), evicted
        s.wait_log("event=session_evicted")
        s.cli("untrash", said["session_id"])
        assert shown(s, said["session_id"])["status"] == "closed"


def test_what_is_started_again_is_not_evicted():
    with agents_server("evict_s = 1\n") as s:
        session, held, other = (begin(s, scope="otters", key=key) for key in ("a", "b", "c"))
        s.cli("hold", held["session_id"])
        for one in (session, held, other):
            Agent(s, one).say("error", message="no more disk")
        wait_until(lambda: runtime(s, session) == "error")
        assert s.post("/v1/sessions", {"scope": "otters", "id": session["session_id"]}).status == 200
        wait_until(lambda: trash(s) == {other["session_id"]})
        assert runtime(s, session) == "starting" and runtime(s, held) == "error"


def test_eviction_outlives_the_server_and_may_be_off():
    config = "[scope otters]\nevict_s = 2\n[scope herons]\nevict_s = 0\n"
    with agents_server(config) as s:
        session, other = begin(s, scope="otters"), begin(s, scope="herons")
        for one in (session, other):
            Agent(s, one).say("error", message="no more disk")
            wait_until(lambda: runtime(s, one) == "error")
        s.kill()
        s.start()
        wait_until(lambda: trash(s) == {session["session_id"]})
        assert runtime(s, other) == "error"


if __name__ == "__main__":
    cases.main(globals())
