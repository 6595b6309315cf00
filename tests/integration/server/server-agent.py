#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The agents' socket against a real server that is killed and started again (C-01, C-04, C-06, C-09, L-05).

usage: server-agent.py [NAME…]: only the tests whose names begin so
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
import cases  # noqa: E402
from serve import Server, wait_until  # noqa: E402
from ws import CLOSE, WebSocket  # noqa: E402

SECRET = "an internal secret of no use anywhere else"
RESTORED = "Session restored after server restart"
LOST = "Session agent disconnected unexpectedly"


class Agent:
    """A connection of an agent; with a session, authenticated."""

    def __init__(self, server, session=None, secret=SECRET, path="/internal/session", **auth):
        self.sock = server.socket()
        headers = {"x-internal-secret": secret} if secret else {}
        self.ws = WebSocket(self.sock, server.address, path, headers)
        self.held = []
        if session:
            self.say("auth", sessionId=session["session_id"], token=session["token"], **auth)
            self.token = self.hear("token_update")["token"]
            self.ok = self.hear("auth_ok")

    def say(self, type, **members):
        self.ws.send(json.dumps(dict(type=type, **members)))

    def next(self):
        text = self.ws.message()
        return json.loads(text) if text is not None else None

    def hear(self, type):
        """The next message, which is of that type."""
        got = self.next()
        assert got and got["type"] == type, "wanted %s, got %s (closed with %s %s)" % (
            type, got, self.ws.close_code, self.ws.close_reason)
        return got

    def closed(self):
        """Code and reason of the close frame, which is the next thing that comes."""
        got = self.ws.message()
        assert got is None, got
        return self.ws.close_code, self.ws.close_reason

    def drop(self):
        self.sock.close()

    def leave(self):
        self.ws.send(b"\x03\xe8", CLOSE)
        self.sock.close()


def make_server(**env):
    return Server(env=dict({"INTERNAL_SECRET": SECRET}, **env))


def begin(server, key="crumbs", **more):
    answer = server.post("/v1/sessions", dict(scope="agents", key=key, **more))
    assert answer.status in (200, 201), answer
    return answer.json


def append(server, session, kind, **body):
    answer = server.post("/v1/sessions/%s/events" % session["session_id"], {"kind": kind, "body": body})
    assert answer.status in (200, 201), answer
    return answer.json["seq"]


def prompt(server, session, text):
    return append(server, session, "message", role="user", content=text)


def state(server, session):
    return server.get("/v1/sessions/%s/state" % session["session_id"]).json


def events(server, session, kind=None):
    got = server.get("/v1/sessions/%s/events?limit=1000" % session["session_id"]).json["events"]
    return [e for e in got if kind in (None, e["kind"])]


def status_is(server, session, *wanted):
    def there():
        return state(server, session).get("runtime", {}).get("status") in wanted
    there.__name__ = "runtime.status %s of %s" % ("/".join(wanted), state(server, session).get("runtime"))
    return wait_until(there)


def restart(server):
    server.kill()
    server.start()


def delivered(server, session, seq):
    """Waits until the journal says that the agent was given that event."""
    wait_until(lambda: state(server, session).get("runtime", {}).get("delivered", 0) >= seq)


def refused(server, **how):
    try:
        Agent(server, **how)
    except ConnectionError as e:
        return str(e)
    raise AssertionError("the handshake went through")


# ---- C-06: who comes in ----

def said(server, session):
    messages = state(server, session).get("conversation", {"messages": []})["messages"]
    return [m["content"] for m in messages if m["role"] == "assistant"]


def whole(agent, text):
    agent.say("sdk_message", message={"type": "assistant", "message": {"content": text}})


def test_a_stream_is_one_message_whoever_ends_it():
    """An agent is cut off in mid-stream and comes back with the whole message; so does the server."""
    with make_server() as server:
        session = begin(server)
        agent = Agent(server, session)
        agent.say("ready")
        expected = []
        ways = {"connection": lambda: agent.drop(), "kill": lambda: restart(server),
                "restart": lambda: (server.stop(), server.start())}
        for n, (way, cut) in enumerate(sorted(ways.items())):
            for token in ("Behind", " the"):
                agent.say("stream", messageId="m%d" % n, token=token)
            wait_until(lambda: said(server, session)[-1:] == ["Behind the"])
            cut()
            agent = Agent(server, session)
            prompt(server, session, "And now?")
            whole(agent, "Behind the mill, said the %s." % way)
            expected.append("Behind the mill, said the %s." % way)
            wait_until(lambda: said(server, session) == expected)
        agent.say("stream", messageId="last", token="Lost ")
        wait_until(lambda: said(server, session)[-1] == "Lost ")
        agent.drop()
        agent = Agent(server, session)
        agent.say("stream", messageId="last", token="found.")
        whole(agent, "Lost and found.")
        expected.append("Lost and found.")
        wait_until(lambda: said(server, session) == expected)
        texts = server.cli("export", session["session_id"], "--format", "markdown")
        for text in expected:
            assert texts.count(text) == 1, texts
        assert "Behind the\n" not in texts, texts


def test_secret():
    with make_server() as server:
        begin(server)
        assert " 403 " in refused(server, secret="wrong")
        assert " 403 " in refused(server, secret=None)
        assert " 403 " in refused(server, secret=None, path="/internal/session?secret=wrong")
        Agent(server, secret=None, path="/internal/session?secret=" + SECRET.replace(" ", "%20"))
        plain = server.get("/internal/session", {"x-internal-secret": SECRET})
        assert plain.status == 400, plain
        assert not [line for line in server.log if SECRET in line]


def test_token():
    with make_server() as server:
        session = begin(server)
        for what in (dict(type="auth", sessionId=session["session_id"], token="rps_wrong"),
                     dict(type="auth", sessionId=session["session_id"]),
                     dict(type="auth", sessionId="nobody", token=session["token"]),
                     dict(type="auth", sessionId="crumbs", token=session["token"]),
                     dict(type="auth", sessionId=7, token=7)):
            agent = Agent(server)
            agent.ws.send(json.dumps(what))
            assert agent.closed() == (4001, "Authentication failed"), (what, agent.ws.close_code)
        # A later session of the same id is not opened by the token of the one before it (C-06).
        old = begin(server, "anew", id="made-anew")
        server.cli("end", "made-anew")
        server.cli("rm", "made-anew", "--now", "--yes")
        assert server.post("/v1/sessions", dict(scope="elsewhere", id="made-anew")).status == 201
        agent = Agent(server)
        agent.ws.send(json.dumps(dict(type="auth", sessionId="made-anew", token=old["token"])))
        assert agent.closed() == (4001, "Authentication failed"), agent.ws.close_code
        agent = Agent(server)
        agent.say("ready")
        assert agent.closed() == (4001, "Not authenticated")
        agent = Agent(server, session)
        assert agent.token == session["token"] and agent.ok["sessionId"] == session["session_id"], agent.ok
        assert agent.ok["lastClientSeq"] == 0


def test_frames():
    with make_server() as server:
        session = begin(server)
        agent = Agent(server, session)
        agent.ws.send("{")
        assert agent.closed()[0] == 1003
        agent = Agent(server, session)
        agent.ws.send(b"{}", 2)
        assert agent.closed()[0] == 1003
        agent = Agent(server, session)
        try:
            agent.ws.send("\"" + "a" * (5 << 20) + "\"")
        except ConnectionError:
            pass  # cut off in the middle of it
        else:
            assert agent.closed()[0] == 1009
        agent = Agent(server, session)
        for bad, field in (('{"type":"nonsense"}', "type"), ("[]", "message"), ('{"type":"stream","token":"a"}', "messageId"),
                           ('{"type":"status_update","status":"asleep"}', "status"),
                           ('{"type":"result","costUsd":-1}', "costUsd"),
                           ('{"type":"approval_request","approval":{}}', "approval")):
            agent.ws.send(bad)
            got = agent.hear("error")
            assert got["field"] == field and got["message"], (bad, got)
        agent.say("ready")  # none of this did any harm
        status_is(server, session, "idle")
        assert not [e for e in events(server, session) if e["kind"] not in ("runtime", "message")]


def test_closed_session():
    """C-01: what has ended is not brought back to life; an agent hears of the end."""
    with make_server() as server:
        session = begin(server)
        agent = Agent(server, session)
        agent.say("ready")
        status_is(server, session, "idle")
        assert server.post("/v1/sessions/%s/close" % session["session_id"]).status == 200
        assert agent.closed() == (1000, "Session is closed")
        agent = Agent(server)
        agent.say("auth", sessionId=session["session_id"], token=session["token"])
        assert agent.closed() == (4001, "Session is closed")
        session = begin(server, "other")
        agent = Agent(server, session)
        agent.say("status_update", status="terminated", reason="enough")
        status_is(server, session, "terminated")
        agent.leave()
        agent = Agent(server)
        agent.say("auth", sessionId=session["session_id"], token=session["token"])
        assert agent.closed() == (4001, "Session is terminated")
        restart(server)
        assert state(server, session)["runtime"]["status"] == "terminated"


# ---- messages ----

def test_turn():
    with make_server() as server:
        session = begin(server)
        first = prompt(server, session, "Where are the crumbs?")
        agent = Agent(server, session)
        agent.say("setup_progress", message="cloning")
        wait_until(lambda: state(server, session).get("runtime", {}).get("progress") == "cloning")
        assert state(server, session)["runtime"]["status"] == "starting"
        agent.say("ready")
        got = agent.hear("user_message")  # not before it was ready
        assert got == {"type": "user_message", "seq": first, "content": "Where are the crumbs?"}, got
        status_is(server, session, "running")
        assert "progress" not in state(server, session)["runtime"]
        for token in ("Behind", " the", " mill."):
            agent.say("stream", messageId="m1", token=token)
        agent.say("sdk_message", message={"type": "assistant", "message": {"content": [
            {"type": "text", "text": "Behind the mill."},
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"where": "mill"}}]}})
        agent.say("sdk_message", message={"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "crumbs", "is_error": False}]}})
        agent.say("sdk_message", message={"type": "assistant", "message": {"content": "Found them."}})
        agent.say("session_info_update", model="opus", permissionMode="plan", totalCostUsd=0.5)
        agent.say("models_list", models=["opus", "haiku"])
        agent.say("result", result="Found them.", costUsd=0.25, isError=False, contextUsage={"used": 7})
        status_is(server, session, "idle")
        wait_until(lambda: state(server, session).get("usage", {}).get("requests") == 1)
        now = state(server, session)
        said = [m["content"] for m in now["conversation"]["messages"] if m["role"] == "assistant"]
        assert said == ["Behind the mill.", "Found them."], said
        assert [(t["call_id"], t["name"], t["status"]) for t in now["tools"]] == [("t1", "look", "done")], now["tools"]
        assert now["usage"]["cost_usd"] == 0.25
        assert now["settings"]["settings"] == {
            "model": "opus", "permissionMode": "plan", "totalCostUsd": 0.5, "models": ["opus", "haiku"],
            "contextUsage": {"used": 7}}, now["settings"]
        agent.say("result", result="It broke", costUsd=0, isError=True)
        wait_until(lambda: state(server, session)["usage"]["requests"] == 2)
        assert state(server, session)["conversation"]["messages"][-1]["content"] == "It broke"
        agent.say("error", message="no more disk")
        status_is(server, session, "error")
        assert state(server, session)["runtime"]["reason"] == "no more disk"


def test_commands():
    with make_server() as server:
        session = begin(server)
        agent = Agent(server, session)
        agent.say("ready")
        for body in ({"command": "interrupt"}, {"command": "set_model", "model": "haiku"}, {"command": "get_models"},
                     {"command": "update_settings", "settings": {"permissionMode": "plan"}}):
            seq = append(server, session, "x-command", **body)
            got = agent.hear(body["command"])
            assert got.pop("seq") == seq
            body["type"] = body.pop("command")
            assert got == body, got
        append(server, session, "x-command", command="nonsense")
        prompt(server, session, "still there?")
        assert agent.hear("user_message")["content"] == "still there?"


def test_pipelined():
    """What is said before auth_ok counts once the agent is let in."""
    with make_server() as server:
        session = begin(server)
        agent = Agent(server)
        agent.say("auth", sessionId=session["session_id"], token=session["token"])
        agent.say("ready")
        agent.say("error", message="and now this")
        status_is(server, session, "error")


def test_replaced():
    """C-06: a new connection replaces the old one, whose close does not harm the session."""
    with make_server(REPRISE_RECONNECT_S="1") as server:
        session = begin(server)
        old = Agent(server, session)
        old.say("ready")
        status_is(server, session, "idle")
        new = Agent(server, session)
        assert old.closed() == (4000, "Replaced")
        old.drop()
        prompt(server, session, "who is there?")
        assert new.hear("user_message")["content"] == "who is there?"
        status_is(server, session, "running")
        said = [e["body"]["status"] for e in events(server, session, "runtime") if "status" in e["body"]]
        assert "reconnecting" not in said and "error" not in said, said
        assert RESTORED not in json.dumps(events(server, session, "message"))


# ---- C-04, C-09: restarts ----

def test_restart():
    with make_server() as server:
        session = begin(server)
        agent = Agent(server, session)
        agent.say("ready")
        first = prompt(server, session, "one")
        assert agent.hear("user_message")["seq"] == first
        delivered(server, session, first)
        restart(server)
        agent.drop()
        status_is(server, session, "reconnecting")
        second = prompt(server, session, "two")  # journalled, and delivered on return
        restart(server)                          # … even so
        status_is(server, session, "reconnecting")
        agent = Agent(server, session)
        got = agent.hear("user_message")
        assert (got["seq"], got["content"]) == (second, "two"), got
        status_is(server, session, "running")
        delivered(server, session, second)
        restored = [e for e in events(server, session, "message") if e["body"]["content"] == RESTORED]
        assert len(restored) == 1 and restored[0]["body"]["role"] == "system", restored
        restart(server)
        agent = Agent(server, session)
        third = prompt(server, session, "three")
        assert agent.hear("user_message")["seq"] == third  # nothing twice


def test_pending():
    """C-09: approvals and questions survive; the answers that came meanwhile reach the agent."""
    with make_server() as server:
        session = begin(server)
        agent = Agent(server, session)
        agent.say("ready")
        agent.say("approval_request", approval={"id": "a1", "toolName": "rm", "toolInput": {"path": "/"}})
        status_is(server, session, "awaiting_approval")
        agent.say("question", question={"id": "q1", "questions": ["why?"]})
        status_is(server, session, "awaiting_answer")
        restart(server)
        agent.drop()
        now = state(server, session)
        assert now["approvals"][0]["toolName"] == "rm" and now["questions"][0]["id"] == "q1", now
        agent = Agent(server, session)
        status_is(server, session, "awaiting_approval")
        restart(server)
        denied = append(server, session, "approval", id="a1", status="denied", message="not that")
        answered = append(server, session, "question", id="q1", status="answered", answers={"why?": "because"})
        agent = Agent(server, session)
        assert agent.hear("approval_response") == {
            "type": "approval_response", "seq": denied, "approvalId": "a1", "allow": False, "message": "not that"}
        assert agent.hear("question_response") == {
            "type": "question_response", "seq": answered, "questionId": "q1", "answers": {"why?": "because"}}
        status_is(server, session, "running")
        assert "approvals" not in state(server, session)


def test_numbered():
    """C-09: what an agent said while the server was away is sent again and stored once."""
    with make_server() as server:
        session = begin(server)
        agent = Agent(server, session)

        def said(n):
            agent.say("sdk_message", client_seq=n, message={"type": "assistant", "message": {"content": "line %d" % n}})
            return agent.next()

        agent.say("ready", client_seq=1)
        assert agent.hear("ack")["client_seq"] == 1
        assert said(2)["type"] == "ack"
        agent.say("sdk_message", client_seq=3, message={"type": "user", "message": {"content": "ignored"}})
        assert agent.hear("ack")["client_seq"] == 3
        restart(server)
        agent = Agent(server, session)
        assert agent.ok["lastClientSeq"] == 3, agent.ok
        got = said(2)
        assert got["type"] == "ack" and got["repeated"] is True, got
        got = said(9)
        assert got["type"] == "error" and got["client_seq"] == 9 and "4" in got["message"], got
        got = said(4)
        assert got["type"] == "ack" and got["durability"] == "disk" and got["seq"] > 0, got
        lines = [e["body"]["content"] for e in events(server, session, "message") if e["body"]["role"] == "assistant"]
        assert lines == ["line 2", "line 4"], lines


def test_acknowledging():
    """An agent that acknowledges is given again what it has not acknowledged, whatever its socket took."""
    with make_server() as server:
        session = begin(server)
        agent = Agent(server, session, acks=True)
        agent.say("ready")
        first, second = prompt(server, session, "one"), prompt(server, session, "two")
        assert agent.hear("user_message")["seq"] == first
        assert agent.hear("user_message")["seq"] == second
        agent.say("ack", seq=first)
        delivered(server, session, first)
        restart(server)
        agent = Agent(server, session, acks=True)
        assert agent.hear("user_message")["seq"] == second


def test_lost():
    """C-04: `reconnecting` has a timeout, for an agent that drops and for one that a restart has cost."""
    with make_server(REPRISE_RECONNECT_S="1") as server:
        dropped, away, back = begin(server, "dropped"), begin(server, "away"), begin(server, "back")
        agents = [Agent(server, s) for s in (dropped, away, back)]
        for agent, session in zip(agents, (dropped, away, back)):
            agent.say("ready")
            status_is(server, session, "idle")
        agents[0].drop()
        status_is(server, dropped, "reconnecting", "error")
        status_is(server, dropped, "error")
        restart(server)
        kept = Agent(server, back)
        status_is(server, away, "error")
        for session in (dropped, away):
            now = state(server, session)
            assert now["runtime"]["reason"] == LOST, now["runtime"]
            assert [m["content"] for m in now["conversation"]["messages"]][-1] == LOST
            agent = Agent(server)
            agent.say("auth", sessionId=session["session_id"], token=session["token"])
            assert agent.closed() == (4001, "Session has failed")
        status_is(server, back, "idle")
        kept.leave()
        restart(server)  # failed ones are not looked at again
        server.wait_log(r"agents_awaited.*sessions=1")
        # An explicit start gives another life.
        again = server.post("/v1/sessions", {"scope": "agents", "id": away["session_id"], "mode": "resume"})
        assert again.status == 200, again
        status_is(server, away, "starting")
        waiting = prompt(server, away, "and now?")
        agent = Agent(server, away)
        agent.say("setup_progress", message="cloning")
        wait_until(lambda: state(server, away)["runtime"].get("progress") == "cloning")
        assert state(server, away)["runtime"]["status"] == "starting"
        assert state(server, away)["runtime"].get("delivered", 0) < waiting  # nothing before it is ready
        agent.say("ready")
        assert agent.hear("user_message")["seq"] == waiting
        status_is(server, away, "running")
        agent.say("ready", client_seq=1)  # once more does not end the work
        assert agent.hear("ack")["client_seq"] == 1
        assert state(server, away)["runtime"]["status"] == "running"
        assert RESTORED not in [m["content"] for m in state(server, away)["conversation"]["messages"]]


def test_decided():
    """A decision is for who asked, once; and as long as something is asked, the status says so."""
    with make_server() as server:
        session = begin(server)
        agent = Agent(server, session)
        agent.say("ready")
        append(server, session, "approval", id="nobody asked", status="allowed")
        agent.say("approval_request", approval={"id": "a1"})
        agent.say("question", question={"id": "q1", "questions": ["why?"]})
        status_is(server, session, "awaiting_answer")
        first = prompt(server, session, "meanwhile")
        assert agent.hear("user_message")["seq"] == first
        delivered(server, session, first)
        assert state(server, session)["runtime"]["status"] == "awaiting_answer"
        agent.say("result", client_seq=1)
        assert agent.hear("ack")["client_seq"] == 1
        assert state(server, session)["runtime"]["status"] == "awaiting_answer"
        answered = append(server, session, "question", id="q1", status="answered", answers={"why?": "because"})
        assert agent.hear("question_response")["seq"] == answered
        status_is(server, session, "awaiting_approval")
        allowed = append(server, session, "approval", id="a1", status="allowed")
        assert agent.hear("approval_response")["seq"] == allowed
        status_is(server, session, "running")
        append(server, session, "approval", id="a1", status="denied")
        last = prompt(server, session, "on")
        assert agent.hear("user_message")["seq"] == last  # and not the second decision
        delivered(server, session, last)
        restart(server)
        agent = Agent(server, session)
        append(server, session, "approval", id="a1", status="denied")
        last = prompt(server, session, "still")
        assert agent.hear("user_message")["seq"] == last


def test_graceful():
    """C-07: a restart tells agents to come back and changes nothing for them."""
    with make_server() as server:
        session = begin(server)
        agent = Agent(server, session)
        agent.say("ready")
        first = prompt(server, session, "one")
        assert agent.hear("user_message")["seq"] == first
        server.process.terminate()
        assert agent.closed()[0] in (1012, 1001)
        agent.drop()
        server.wait()
        server.start()
        second = prompt(server, session, "two")
        agent = Agent(server, session)
        assert agent.hear("user_message")["seq"] == second
        metrics = server.get("/metrics").text
        assert "reprise_server_agents 1\n" in metrics, metrics


def test_travel():
    """Going back in time does not make the agent hear everything again."""
    with make_server() as server:
        session = begin(server)
        agent = Agent(server, session)
        agent.say("ready")
        seqs = [prompt(server, session, text) for text in ("one", "two")]
        assert [agent.hear("user_message")["seq"] for _ in seqs] == seqs
        delivered(server, session, seqs[-1])
        server.cli("restore", session["session_id"], "--at", str(seqs[0] - 1))
        wait_until(lambda: state(server, session).get("runtime", {}).get("delivered") == seqs[-1])
        restart(server)
        agent = Agent(server, session)
        last = prompt(server, session, "three")
        assert agent.hear("user_message")["seq"] == last


def test_takeover_judges_no_agent_of_the_old_server():
    """Only once the old server has let go of its clients does the new one await those that are not back."""
    with make_server() as s:
        session = begin(s)
        agent = Agent(s, session)
        status_is(s, session, "running", "starting", "connected", "idle", "ready")
        slow = WebSocket(s.socket(), "localhost", "/socket/websocket?vsn=2.0.0")  # keeps the old one from ending at once
        new = Server(db=s.db, listen=None, args=["--replace"], env={"INTERNAL_SECRET": SECRET}).start()
        assert agent.closed()[0] == 1012
        told = list(new.log)
        if s.process.poll() is None:
            assert not [line for line in told if "agents_awaited" in line], told
        slow.sock.close()
        new.wait_log("event=agents_awaited sessions=1")
        status_is(new, session, "reconnecting")
        assert s.wait() == 0
        assert new.stop() == 0


if __name__ == "__main__":
    cases.main(globals())
