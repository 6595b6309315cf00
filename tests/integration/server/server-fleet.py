#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A fleet of running agents that moves between Clawd and a real server, with its tokens and its secret (C-11, C-07).

usage: server-fleet.py [NAME…]: only the tests whose names begin so
"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "lib"))
import cases  # noqa: E402
from serve import Server, wait_until  # noqa: E402

spec = importlib.util.spec_from_file_location("server_agent", os.path.join(here, "server-agent.py"))
agents = importlib.util.module_from_spec(spec)
spec.loader.exec_module(agents)
Agent = agents.Agent

SECRET = "5e" * 32
TOKEN = "0b9a1c52-7c1e-4d0a-9d7e-3a1f6f0c0001"
OTHER = "0b9a1c52-7c1e-4d0a-9d7e-3a1f6f0c0002"
MANAGER = "0b9a1c52-7c1e-4d0a-9d7e-3a1f6f0c0003"


def message(session, n, type, content, **more):
    return dict(dict(id="m-%s-%d" % (session[:4], n), sessionId=session, type=type, content=content, **more),
                timestamp="2026-11-10T03:05:%02d.000Z" % n)


def clawd(id, status="running", token=TOKEN, messages=(), **more):
    """A session as Clawd's SessionManager keeps it."""
    info = dict(id=id, name="Fix login", repoUrl="https://github.com/o/r", branch="main", dockerAccess=True, status=status,
                createdAt="2026-11-10T03:04:05.000Z", createdBy="ann", lastMessageAt=None, lastMessagePreview=None,
                totalCostUsd=0.5, permissionMode="plan", model="opus", notificationsEnabled=True,
                contextUsage={"numTurns": 3, "totalCostUsd": 0.5})
    if messages:
        last = messages[-1]["content"]
        info.update(lastMessageAt=messages[-1]["timestamp"],
                    lastMessagePreview=last[:100] + "..." if len(last) > 100 else last)
    return dict(dict(info=info, messages=list(messages), sessionToken=token, containerId="c0ffee", managerApiToken=None,
                     managerState=None), **more)


def talk(id):
    return [message(id, 1, "system", "Session container ready"), message(id, 2, "user", "fix the login"),
            message(id, 3, "tool_call", '{\n  "path": "a.c"\n}', toolName="Read", toolInput={"path": "a.c"}),
            message(id, 4, "tool_result", "int main", toolName="Read"),
            message(id, 5, "assistant", "It is the cookie. " * 12),
            message(id, 6, "user", "then mend it", source="auto_continue")]


def write_store(server, sessions, secret=SECRET, name="clawd.json"):
    path = os.path.join(server.folder, name)
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"sessions": sessions, "internalSecret": secret}, f, indent=2)
    return path


def read_store(path):
    """As Clawd's SessionStore.load reads it: nothing of a file whose sessions are no list or whose secret is no string."""
    with open(path, encoding="utf-8") as f:
        doc = json.load(f)
    assert isinstance(doc["sessions"], list) and isinstance(doc["internalSecret"], str)
    return doc


def clawd_lets_in(doc, secret, id, token):
    """What Clawd does after a restart with that file: the upgrade, restoreSessions, authenticateAgent."""
    restored = {s["info"]["id"]: s for s in doc["sessions"] if s["info"]["status"] not in ("terminated", "error")}
    return secret == doc["internalSecret"] and id in restored and restored[id]["sessionToken"] == token


def taken(server, path, *more):
    out = server.cli("import", path, "--json", *more)
    return [json.loads(line) for line in out.splitlines()]


def come_in(server, id, token=TOKEN, secret=SECRET):
    agent = Agent(server, secret=secret)
    agent.say("auth", sessionId=id, token=token)
    return agent


def fleet_file(server):
    return server.db[len("sqlite:"):] + ".fleet"


def mode(path):
    return os.stat(path).st_mode & 0o7777


# ---- in ----

def test_agents_that_run_come_in_with_what_they_hold():
    with Server() as server:
        path = write_store(server, [clawd("aaaa-1", messages=talk("aaaa-1")), clawd("bbbb-2", token=OTHER),
                                    clawd("cccc-3", status="terminated", token=MANAGER)])
        items = taken(server, path)
        assert [(i["session_id"], i["skipped"]) for i in items] == [("aaaa-1", False), ("bbbb-2", False), ("cccc-3", False)]
        assert "token of its agent was taken" in items[0]["why"] and items[0]["token"] is True, items
        session = {"session_id": "aaaa-1"}
        assert agents.state(server, session)["runtime"]["status"] == "reconnecting"
        agent = come_in(server, "aaaa-1")
        # No token_update: Clawd's agents would pay their model with it.
        assert agent.hear("auth_ok")["sessionId"] == "aaaa-1"
        agents.status_is(server, session, "idle")
        # What the agent has had before the move is not given to it again.
        seq = agents.prompt(server, session, "and now the logout")
        got = agent.hear("user_message")
        assert (got["content"], got["seq"]) == ("and now the logout", seq), got
        agents.whole(agent, "Done.")
        wait_until(lambda: agents.said(server, session)[-1] == "Done.")
        assert come_in(server, "bbbb-2", OTHER).hear("auth_ok")
        for id, token in (("aaaa-1", OTHER), ("bbbb-2", TOKEN), ("aaaa-1", TOKEN[:-1]), ("aaaa-1", SECRET), ("dddd-4", TOKEN)):
            assert come_in(server, id, token).closed() == (4001, "Authentication failed"), (id, token)
        assert come_in(server, "cccc-3", MANAGER).closed()[0] == 4001
        assert " 403 " in agents.refused(server, secret="5f" * 32)
        # The server's own agents come in as ever, and the next server knows all of them.
        own = agents.begin(server)
        with open(os.path.join(os.path.dirname(fleet_file(server)), "internal-secret"), encoding="utf-8") as f:
            secret = f.read().strip()
        Agent(server, own, secret=secret)
        agents.restart(server)
        assert come_in(server, "aaaa-1").hear("auth_ok")
        Agent(server, own, secret=secret)


def test_credentials_are_nowhere_but_in_their_file():
    with Server(config="") as server:
        path = write_store(server, [clawd("aaaa-1", messages=talk("aaaa-1"), managerApiToken=MANAGER)])
        taken(server, path)
        agent = come_in(server, "aaaa-1")
        agent.hear("auth_ok")
        come_in(server, "aaaa-1", OTHER).closed()
        os.unlink(path)
        told = [server.cli("log", "aaaa-1", "--json"), server.cli("state", "aaaa-1"), server.cli("audit", "--json"),
                server.cli("export", "aaaa-1"), server.cli("export", "aaaa-1", "--format", "clawd", "--no-tokens"),
                server.cli("search", "login", "--json"), "\n".join(server.log),
                server.get("/v1/sessions/aaaa-1/export?format=clawd").text, server.get("/v1/sessions/aaaa-1").text]
        server.stop()
        for text in told:
            for secret in (TOKEN, SECRET, MANAGER, OTHER):
                assert secret not in text, text
        holders = set()
        for folder, _, names in os.walk(server.folder):
            for name in names:
                with open(os.path.join(folder, name), "rb") as f:
                    content = f.read()
                holders |= {name for secret in (TOKEN, SECRET, MANAGER) if secret.encode() in content}
        assert holders == {os.path.basename(fleet_file(server))}, holders
        assert mode(fleet_file(server)) == 0o600


def test_the_same_id_comes_in_once():
    with Server() as server:
        twice = [clawd("aaaa-1", messages=talk("aaaa-1")), clawd("aaaa-1", token=OTHER)]
        path = write_store(server, twice)
        for dry in (["--dry-run"], []):
            items = taken(server, path, *dry)
            assert [i["skipped"] for i in items] == [False, True], items
            assert "earlier session with this id" in items[1]["why"], items
        items = taken(server, path)
        assert [(i["skipped"], "token" in i) for i in items] == [(True, False), (True, False)], items
        assert come_in(server, "aaaa-1").hear("auth_ok")
        assert come_in(server, "aaaa-1", OTHER).closed()[0] == 4001
        # An import that was cut off before its tokens were written: the next one brings them.
        os.unlink(fleet_file(server))
        assert " 403 " in agents.refused(server, secret=SECRET)
        assert "was missing and was taken" in taken(server, path)[0]["why"]
        assert come_in(server, "aaaa-1").hear("auth_ok")
        # A session of our own is not opened by a file that names it.
        own = agents.begin(server, "own", id="eeee-5")
        assert taken(server, write_store(server, [clawd("eeee-5")]))[0]["why"] == "is there already"
        assert come_in(server, own["session_id"]).closed()[0] == 4001


def test_a_session_that_is_deleted_takes_its_token_along():
    with Server() as server:
        path = write_store(server, [clawd("aaaa-1"), clawd("bbbb-2", token=OTHER)])
        taken(server, path)
        server.cli("end", "aaaa-1")
        server.cli("rm", "aaaa-1", "--now", "--yes")
        with open(fleet_file(server), encoding="utf-8") as f:
            assert f.read().split()[3] == "bbbb-2"
        assert server.post("/v1/sessions", dict(scope="clawd", id="aaaa-1")).status == 201
        assert come_in(server, "aaaa-1").closed()[0] == 4001
        assert come_in(server, "bbbb-2", OTHER).hear("auth_ok")


def test_what_is_no_credential_is_named_and_left():
    with Server() as server:
        bad = {"short": ("no token of 16", clawd("aaaa-1", token="x")), "long": ("no token of 16", clawd("aaaa-2", token="y" * 300)),
               "lines": ("no token of 16", clawd("aaaa-3", token="agent aaaa-1\n0000000000000001"))}
        for name, (why, session) in bad.items():
            item, = taken(server, write_store(server, [session]))
            assert not item["skipped"] and why in item["why"], (name, item)
        item, = taken(server, write_store(server, [clawd("aaaa-4")], secret="tiny"))
        assert "internalSecret is no secret" in item["why"], item
        assert not os.path.exists(fleet_file(server))
        text = json.dumps({"sessions": [{"info": {"name": "n"}}, 7, clawd("aaaa-5")], "internalSecret": SECRET})
        path = os.path.join(server.folder, "bad.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        done = subprocess.run([server.reprise, "import", path], env=server.env, capture_output=True, text=True)
        assert done.returncode == 5, done
        assert "sessions[0].info.id is no string" in done.stdout and "sessions[1].info is no object" in done.stdout, done
        assert come_in(server, "aaaa-5").hear("auth_ok")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text[:200])
        done = subprocess.run([server.reprise, "import", path], env=server.env, capture_output=True, text=True)
        assert done.returncode == 5 and "byte 200" in done.stderr, done


# ---- out ----

def test_agents_of_ours_go_on_with_clawd():
    with Server() as server:
        one, two = agents.begin(server, "one"), agents.begin(server, "two")
        with open(os.path.join(os.path.dirname(fleet_file(server)), "internal-secret"), encoding="utf-8") as f:
            secret = f.read().strip()
        agent = Agent(server, one, secret=secret)
        agent.say("ready")
        agents.status_is(server, one, "idle")
        out = os.path.join(server.folder, "session-store.json")
        old = os.umask(0)
        done = subprocess.run([server.reprise, "export", "--all", "--format", "clawd", "-o", out], env=server.env,
                              capture_output=True, text=True)
        os.umask(old)
        assert done.returncode == 0 and "as secret as they are" in done.stderr, done
        assert secret not in done.stderr and mode(out) == 0o600
        doc = read_store(out)
        ids = [s["info"]["id"] for s in doc["sessions"]]
        assert ids == [one["session_id"], two["session_id"]], ids
        for session in (one, two):
            assert clawd_lets_in(doc, secret, session["session_id"], session["token"])
        # The way of a stranger who may read the session: nothing in it opens anything.
        shown = server.get("/v1/sessions/%s/export?format=clawd" % one["session_id"]).json
        assert not clawd_lets_in(shown, secret, one["session_id"], one["token"])
        assert one["token"] not in json.dumps(shown) and secret not in json.dumps(shown)


def test_a_fleet_there_and_back_is_the_same():
    with Server() as server:
        managed = {"targetBranch": "dev", "currentStep": "testing", "childSessionIds": ["aaaa-1"]}
        boss = clawd("bbbb-2", token=OTHER, managerApiToken=MANAGER, managerState=managed)
        boss["info"].update(isManager=True, managerState=managed)
        fleet = [clawd("aaaa-1", messages=talk("aaaa-1")), boss, clawd("cccc-3", status="terminated", token="t" * 36),
                 clawd("dddd-4", status="error", token="e" * 36)]
        fleet[0]["info"]["managedBy"] = "bbbb-2"
        taken(server, write_store(server, fleet))
        out = os.path.join(server.folder, "back.json")
        server.cli("export", "--scope", "clawd", "--format", "clawd", "-o", out)
        back = read_store(out)
        assert back["internalSecret"] == SECRET
        by_id = {s["info"]["id"]: s for s in back["sessions"]}
        assert len(back["sessions"]) == len(by_id) == 4
        for session in fleet:
            got = by_id[session["info"]["id"]]
            if session["info"]["status"] == "running":  # Clawd's own restart makes it that
                session["info"]["status"] = "reconnecting"
            assert got == session, "\n%s\n%s" % (json.dumps(got, sort_keys=True), json.dumps(session, sort_keys=True))
            assert list(got["info"]) == list(session["info"]) or session["info"]["id"] in ("aaaa-1", "bbbb-2")
        assert clawd_lets_in(back, SECRET, "aaaa-1", TOKEN)
        # One session alone, too.
        one = json.loads(server.cli("export", "aaaa-1", "--format", "clawd"))
        assert one["sessions"] == [by_id["aaaa-1"]] and one["internalSecret"] == SECRET


def test_previews_and_ids_are_those_of_clawd():
    with Server() as server:
        own = agents.begin(server, "own")
        id = own["session_id"]

        def info():
            doc = json.loads(server.cli("export", id, "--format", "clawd"))
            ids = [m["id"] for m in doc["sessions"][0]["messages"]]
            assert len(ids) == len(set(ids)), ids
            return doc["sessions"][0]["info"], doc["sessions"][0]["messages"]
        now, messages = info()
        assert (now["lastMessageAt"], now["lastMessagePreview"], messages) == (None, None, []), now
        assert (now["createdBy"], now["notificationsEnabled"], now["repoUrl"]) == ("unknown", False, ""), now
        for url, wanted in (("git@github.com:o/r.git", "https://github.com/o/r.git"),
                            ("https://ann@github.com/o/r", "https://github.com/o/r"),
                            ("https://github.com/o/r", "https://github.com/o/r"),
                            ("https://example.org/o/r", "https://example.org/o/r")):
            agents.append(server, own, "session", meta={"repoUrl": url}, settings={"permissionMode": "acceptEdits"})
            now, _ = info()
            assert (now["repoUrl"], now["permissionMode"]) == (wanted, "normal"), now
        for text, cut in (("a" * 100, "a" * 100), ("b" * 101, "b" * 100 + "..."), ("é" * 101, "é" * 100 + "..."),
                          ("🦀" * 51, "🦀" * 50 + "..."), ("x" + "🦀" * 50, "x" + "🦀" * 49 + "...")):
            agents.prompt(server, own, text)
            assert info()[0]["lastMessagePreview"] == cut, text
        # Whatever came last, a tool's call and its result too; each call once, however often it is told of.
        for status in ("intended", "running"):
            agents.append(server, own, "tool", call_id="t1", name="Read", status=status, input={"path": "a.c"})
        now, messages = info()
        assert now["lastMessagePreview"] == '{\n  "path": "a.c"\n}', now
        agents.append(server, own, "tool", call_id="t1", name="Read", status="done", output="int main")
        assert info()[0]["lastMessagePreview"] == "int main"
        for content in ("one", "two"):
            agents.append(server, own, "message", role="assistant", content=content, message_id="same")
            agents.append(server, own, "message", role="system", content="between")
        _, messages = info()
        assert [m["content"] for m in messages if m["type"] == "assistant"] == ["one", "two"]
        assert [m["type"] for m in messages if m["type"].startswith("tool")] == ["tool_call", "tool_result"]


def test_most_agents_decide_on_the_secret():
    with Server() as server:
        taken(server, write_store(server, [clawd("aaaa-1"), clawd("bbbb-2", token=OTHER)]))
        taken(server, write_store(server, [clawd("cccc-3", token=MANAGER)], secret="6f" * 32))
        out = os.path.join(server.folder, "out.json")
        done = subprocess.run([server.reprise, "export", "--all", "--format", "clawd", "-o", out], env=server.env,
                              capture_output=True, text=True)
        assert "1 of 3 agents know another secret" in done.stderr, done
        assert read_store(out)["internalSecret"] == SECRET
        for wrong in (["--all"], ["--all", "--format", "nova"], ["--all", "aaaa-1", "--format", "clawd"], [],
                      ["--all", "--scope", "clawd", "--format", "clawd"], ["aaaa-1", "--no-tokens"]):
            done = subprocess.run([server.reprise, "export", *wrong], env=server.env, capture_output=True, text=True)
            assert done.returncode == 2, (wrong, done)


# ---- the mirror ----

def last_of(path, id):
    if not os.path.exists(path):
        return None
    for s in read_store(path)["sessions"]:
        if s["info"]["id"] == id:
            return s["info"]["lastMessagePreview"]
    return None


def test_the_mirror_follows():
    server = Server()
    path = os.path.join(server.folder, "live", "session-store.json")
    server.env["REPRISE_STORE_FILE"] = path
    with server:
        taken(server, write_store(server, [clawd("aaaa-1", messages=talk("aaaa-1"))]))
        wait_until(lambda: last_of(path, "aaaa-1") == "then mend it")
        assert mode(path) == 0o600
        own = agents.begin(server)
        agents.prompt(server, own, "by the server")
        wait_until(lambda: last_of(path, own["session_id"]) == "by the server")
        server.cli("append", "aaaa-1", "message", '{"role":"user","content":"by a command"}')
        wait_until(lambda: last_of(path, "aaaa-1") == "by a command")
        doc = read_store(path)
        assert clawd_lets_in(doc, doc["internalSecret"], "aaaa-1", TOKEN)
        assert clawd_lets_in(doc, doc["internalSecret"], own["session_id"], own["token"])
        agents.prompt(server, own, "at the very end")
        server.stop()
        assert last_of(path, own["session_id"]) == "at the very end"
        server.start()
        server.kill()
        assert len(read_store(path)["sessions"]) == 2
        # A command has nobody who writes it for him.
        server.cli("append", "aaaa-1", "message", '{"role":"user","content":"alone"}')
        assert last_of(path, "aaaa-1") == "alone"
        assert mode(path) == 0o600 and os.listdir(os.path.dirname(path)) == ["session-store.json"]


def test_nothing_of_a_sealed_scope_is_mirrored():
    key = tempfile.NamedTemporaryFile()
    key.write(os.urandom(32))
    key.flush()
    server = Server(config="[scope vault]\nkey_file = %s\n" % key.name)
    path = os.path.join(server.folder, "session-store.json")
    server.env["REPRISE_STORE_FILE"] = path
    with server:
        hidden = server.post("/v1/sessions", dict(scope="vault", key="hidden")).json
        agents.prompt(server, hidden, "under lock")
        shown = agents.begin(server)
        agents.prompt(server, shown, "in the open")
        wait_until(lambda: last_of(path, shown["session_id"]) == "in the open")
        server.stop()
        with open(path, encoding="utf-8") as f:
            text = f.read()
        assert hidden["session_id"] not in text and "under lock" not in text, text
        # Whoever has the key may export it by name.
        assert "under lock" in server.cli("export", hidden["session_id"], "--format", "clawd")


if __name__ == "__main__":
    cases.main(globals())
