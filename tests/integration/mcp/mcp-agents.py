#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Agents that run `reprise mcp`, one or several, with hooks and without, and how they end (B-04, X-09, N-05).

usage: mcp-agents.py [NAME…]: only the tests whose names begin so

The agent is a process of its own, this file with --agent: it starts servers, passes messages on, and dies as it is told. With
--acp it is one behind `reprise acp`.
"""
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
import acp  # noqa: E402
import cases  # noqa: E402

REPRISE = os.environ["REPRISE"]
DEADLINE = 60
INIT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
PIN = {"action": "pin", "label": "gap", "content": "mind the gap", "importance": "critical"}


# ---- the agent ----

def agent():
    """One JSON array per line: start NAME ARGV | ask NAME MESSAGE | close NAME | kill NAME | run ARGV INPUT | exit CODE."""
    servers = {}
    for line in sys.stdin:
        word, *args = json.loads(line)
        answer = None
        if word == "start":
            servers[args[0]] = subprocess.Popen(args[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            answer = servers[args[0]].pid
        elif word == "ask":
            p = servers[args[0]]
            p.stdin.write(json.dumps(args[1]).encode() + b"\n")
            p.stdin.flush()
            answer = json.loads(p.stdout.readline())
        elif word == "close":
            servers[args[0]].stdin.close()
            answer = servers[args[0]].wait()
        elif word == "kill":
            servers[args[0]].kill()
            answer = servers[args[0]].wait()
        elif word == "run":
            answer = subprocess.run(args[0], input=args[1].encode(), stdout=subprocess.PIPE).stdout.decode()
        elif word == "exit":
            os._exit(args[0])
        print(json.dumps(answer), flush=True)


class Servers(acp.Agent):
    """An agent that starts two servers while it begins or loads a session, in that session's directory, and tells them so little
    as agents do. A prompt is the name of a server ("lazy": one that is started for it) and a tool with its arguments."""

    def __init__(self, args):
        super().__init__(args)
        self.servers = {}
        self.cwd = {}

    def ask_server(self, p, method, params):
        p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        p.stdin.flush()
        return json.loads(p.stdout.readline())["result"]

    def start(self, sid):
        p = subprocess.Popen([REPRISE, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.cwd[sid])
        self.ask_server(p, "initialize", INIT)
        self.ask_server(p, "resources/read", {"uri": "reprise://brief"})
        return p

    def answer(self, method, params):
        if method in ("session/new", "session/load", "session/resume"):
            answer = super().answer(method, params)
            sid = params.get("sessionId") or answer["sessionId"]
            self.cwd[sid] = params["cwd"]
            self.servers[sid] = {"one": self.start(sid), "two": self.start(sid)}
            return answer
        if method == "session/prompt":
            return self.tool(params["sessionId"], *json.loads(params["prompt"][-1]["text"]))
        return super().answer(method, params)

    def tool(self, sid, name, tool, arguments):
        if name == "die":
            os._exit(3)
        p = self.start(sid) if name == "lazy" else self.servers[sid][name]
        result = self.ask_server(p, "tools/call", {"name": tool, "arguments": arguments})
        self.play(sid, [acp.text("agent_message_chunk", result["structuredContent"].get("session_id", "-"))])
        if name == "lazy":
            p.stdin.close()
            p.wait()
        return {"stopReason": "end_turn"}


class Agent:
    def __init__(self, env):
        self.servers = []  # descriptors of their processes
        self.p = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--agent"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, env=env)

    def tell(self, *words):
        self.p.stdin.write(json.dumps(words).encode() + b"\n")
        self.p.stdin.flush()

    def do(self, *words):
        self.tell(*words)
        if not select.select([self.p.stdout], [], [], DEADLINE)[0]:
            raise AssertionError("the agent does not answer to %r" % (words,))
        return json.loads(self.p.stdout.readline())

    def start(self, name, *argv):
        pid = self.do("start", name, list(argv) or [REPRISE, "mcp", "--scope", "shop"])
        self.servers.append(os.pidfd_open(pid))

    def ask(self, name, method, /, **params):
        answer = self.do("ask", name, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert "result" in answer, answer
        return answer["result"]

    def initialize(self, name):
        return self.ask(name, "initialize", **INIT)["instructions"]

    def call(self, name, tool, /, **arguments):
        result = self.ask(name, "tools/call", name=tool, arguments=arguments)
        assert not result["isError"], result
        return result["structuredContent"]

    def session(self, name):
        return self.call(name, "session_status")["session_id"]

    def hook(self, event, **more):
        given = dict(session_id="c", cwd="/srv/shop", hook_event_name=event, **more)
        return self.do("run", [REPRISE, "hook", event, "--agent", "claude", "--scope", "shop", "--within", "60s"],
                       json.dumps(given))

    def await_servers(self):
        """Until they have ended, whoever waits for them."""
        for fd in self.servers:
            assert select.select([fd], [], [], DEADLINE)[0], "a server outlives its agent"
            os.close(fd)
        self.servers = []

    def exit(self, code):
        """Without a word to its servers. Nobody takes notice of its end before they do."""
        self.tell("exit", code)
        self.await_servers()
        self.done()

    def done(self):
        """Ends it as a crash would."""
        self.p.kill()
        self.await_servers()
        self.p.wait()
        self.p.stdin.close()
        self.p.stdout.close()


class Place:
    """A home with its database."""

    def __init__(self, home):
        drop = ("REPRISE_SESSION", "REPRISE_SCOPE", "REPRISE_BRIDGE", "CLAUDE_PROJECT_DIR")
        self.env = {k: v for k, v in os.environ.items() if k not in drop}
        self.env.update(HOME=home, REPRISE_HOME=home)
        self.agents = []

    def agent(self):
        self.agents.append(Agent(self.env))
        return self.agents[-1]

    def cli(self, *args):
        return json.loads(subprocess.run([REPRISE, *args, "--json"], env=self.env, check=True, timeout=DEADLINE,
                                         stdout=subprocess.PIPE).stdout)

    def sessions(self):
        return self.cli("ls", "--scope", "shop")["sessions"]

    def status(self, sid):
        return self.cli("show", sid)["status"]

    def cause(self):
        """Of what the next start finds."""
        got = self.cli("start", "--scope", "shop")
        subprocess.run([REPRISE, "end", got["session_id"]], env=self.env, check=True, stdout=subprocess.DEVNULL)
        return got["restart"]["cause"]

    def leave_something(self):
        a = self.agent()
        a.start("m")
        a.initialize("m")
        a.call("m", "working_memory", **PIN)
        a.do("close", "m")


@contextlib.contextmanager
def place():
    home = tempfile.mkdtemp(prefix="reprise-agents-")
    p = Place(home)
    try:
        yield p
    finally:
        for a in p.agents:
            a.done()
        shutil.rmtree(home)


# ---- how an agent ends ----

def test_a_client_that_closes_ends_the_session():
    with place() as p:
        a = p.agent()
        a.start("m")
        a.initialize("m")
        sid = a.session("m")
        assert a.do("close", "m") == 0
        assert p.status(sid) == "closed", p.sessions()
        assert p.cause() == "clean"


def test_a_killed_agent_has_crashed():
    with place() as p:
        a = p.agent()
        a.start("m")
        a.initialize("m")
        a.call("m", "working_memory", **PIN)
        sid = a.session("m")
        a.done()
        assert p.status(sid) != "closed", p.sessions()
        b = p.agent()
        b.start("m")
        assert "mind the gap" in b.initialize("m")
        assert p.cli("show", sid)["crash_recovered"], p.cli("show", sid)
        b.do("close", "m")


def test_an_agent_that_fails_has_crashed_and_one_that_exits_has_not():
    for code, status, cause in ((0, "closed", "clean"), (130, "closed", "clean"), (1, "idle", "crash")):
        with place() as p:
            a = p.agent()
            a.start("m")
            a.initialize("m")
            a.call("m", "remember", text="x")
            sid = a.session("m")
            a.exit(code)
            assert p.status(sid) == status, (code, p.sessions())
            assert p.cause() == cause, code


def test_killed_with_several_servers_and_hooks():
    with place() as p:
        a = p.agent()
        a.start("one")
        a.initialize("one")
        a.start("two", "sh", "-c", "'%s' mcp --scope shop; :" % REPRISE)
        a.initialize("two")
        assert a.hook("SessionStart", source="startup") == ""
        a.hook("UserPromptSubmit", prompt="hello")
        a.hook("PreToolUse", tool_name="Bash", tool_use_id="toolu_7", tool_input={"command": "make"})
        a.done()
        # The shell is waited for; what it ran ends on its own account.
        b = p.agent()
        b.start("m")
        told = b.initialize("m")
        assert "- make: may or may not have happened" in told and "toolu_7" not in told, told
        assert len(p.sessions()) == 2, p.sessions()
        b.do("close", "m")


# ---- several servers ----

def test_servers_of_one_agent_share_a_session():
    with place() as p:
        p.leave_something()
        a = p.agent()
        a.start("one")
        a.start("two", "sh", "-c", "'%s' mcp --scope shop; :" % REPRISE)
        told = [a.initialize("one"), a.initialize("two")]
        assert ["mind the gap" in t for t in told] == [True, False], told
        sid = a.session("one")
        assert a.session("two") == sid
        a.do("close", "one")
        assert p.status(sid) != "closed"
        a.call("two", "remember", text="still here")
        a.do("close", "two")
        assert p.status(sid) == "closed"
        assert len(p.sessions()) == 2, p.sessions()


def test_a_server_that_is_started_again():
    with place() as p:
        p.leave_something()
        a = p.agent()
        a.start("one")
        a.initialize("one")
        sid = a.session("one")
        a.do("kill", "one")
        a.start("two")
        assert "mind the gap" in a.initialize("two")
        assert a.session("two") == sid
        a.start("three")
        a.initialize("three")
        a.do("close", "two")
        assert a.session("three") == sid
        a.do("close", "three")
        assert p.status(sid) == "closed"
        assert p.cause() == "clean"


def test_all_at_once():
    names = ["m%d" % i for i in range(6)]
    with place() as p:
        a = p.agent()
        for n in names:
            a.start(n)
        assert len({a.session(n) for n in names}) == 1, p.sessions()
        # All ends are read in the same moment, and one of them is the last.
        a.exit(0)
        assert [s["status"] for s in p.sessions()] == ["closed"], p.sessions()


def test_a_script_of_ones_own_around_it():
    with place() as p:
        script = os.path.join(p.env["HOME"], "my-memory")
        with open(script, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n'%s' \"$@\"\n:\n" % REPRISE)
        os.chmod(script, 0o755)
        a = p.agent()
        a.start("one", script, "mcp", "--scope", "shop")
        a.initialize("one")
        a.start("two")
        a.initialize("two")
        sid = a.session("one")
        assert a.session("two") == sid
        given = json.dumps({"session_id": "c", "cwd": "/srv/shop", "prompt": "hello"})
        a.do("run", [script, "hook", "UserPromptSubmit", "--scope", "shop", "--within", "60s"], given)
        assert a.call("two", "session_status")["counts"]["messages"] == 1
        assert len(p.sessions()) == 1, p.sessions()


def test_hooks_and_servers_mean_the_same_project():
    with place() as p:
        project = os.path.join(p.env["HOME"], "shop")
        elsewhere = os.path.join(p.env["HOME"], "shop", "sub")
        os.makedirs(elsewhere)
        p.env["CLAUDE_PROJECT_DIR"] = project
        a = p.agent()
        a.start("m", "sh", "-c", "cd '%s' && exec '%s' mcp" % (elsewhere, REPRISE))
        a.initialize("m")
        given = json.dumps({"session_id": "c", "cwd": elsewhere, "prompt": "hello"})
        a.do("run", [REPRISE, "hook", "UserPromptSubmit", "--within", "60s"], given)
        assert a.call("m", "session_status")["counts"]["messages"] == 1
        assert a.call("m", "session_status")["scope"].startswith("shop-")


def test_two_agents_are_two():
    with place() as p:
        a, b = p.agent(), p.agent()
        for x in (a, b):
            x.start("m")
            x.initialize("m")
        assert a.session("m") != b.session("m")
        a.do("close", "m")
        assert p.status(b.session("m")) != "closed"
        b.do("close", "m")


def test_hooks_outlive_a_server():
    with place() as p:
        a = p.agent()
        a.start("m")
        a.initialize("m")
        sid = a.session("m")
        a.hook("SessionStart", source="startup")
        a.hook("UserPromptSubmit", prompt="hello")
        a.do("close", "m")
        a.hook("UserPromptSubmit", prompt="still here")
        assert len(p.sessions()) == 1 and p.status(sid) == "active", p.sessions()
        a.hook("SessionEnd", reason="other")
        assert p.status(sid) == "closed"
        a.exit(0)


def test_the_server_outlives_its_hooks():
    with place() as p:
        a = p.agent()
        a.start("m")
        a.initialize("m")
        sid = a.session("m")
        a.hook("SessionStart", source="startup")
        a.hook("UserPromptSubmit", prompt="hello")
        a.hook("SessionEnd", reason="other")
        assert p.status(sid) == "active"
        a.do("close", "m")
        assert p.status(sid) == "closed"
        assert len(p.sessions()) == 1, p.sessions()


# ---- in an editor ----

class Window:
    """An editor with one proxy; its sessions are of one directory."""

    def __init__(self, p, *abilities):
        self.cwd = os.path.join(p.env["HOME"], "shop")
        os.makedirs(self.cwd, exist_ok=True)
        me = [sys.executable, os.path.abspath(__file__), "--acp", *abilities]
        self.editor = acp.Editor([REPRISE, "acp", "--", *me], p.env, subprocess.DEVNULL).start()
        self.editor.initialize()

    def new(self):
        return self.editor.request("session/new", {"cwd": self.cwd, "mcpServers": []})["sessionId"]

    def load(self, sid):
        self.editor.request("session/load", {"sessionId": sid, "cwd": self.cwd, "mcpServers": []})

    def prompt(self, sid, server, tool="session_status", **arguments):
        """What the agent says: the session that its server acts on."""
        since = len(self.editor.updates)
        words = json.dumps([server, tool, arguments])
        try:
            self.editor.request("session/prompt", {"sessionId": sid, "prompt": [{"type": "text", "text": words}]})
        except acp.Refused as why:
            assert why.data["code"] == "agent.died", why
        return self.editor.said(sid, since)[-1]["content"]["text"]

    def pin(self, sid, server, label):
        self.prompt(sid, server, "working_memory", action="pin", label=label, content="of " + sid)

    def close(self):
        assert self.editor.close() == 0


def pins(p, sid):
    return sorted(x["label"] for x in p.cli("pins", sid)["pins"])


def test_each_session_of_a_proxy_has_its_own_servers():
    with place() as p:
        w = Window(p)
        a, b = w.new(), w.new()
        c = w.new()
        for sid in (b, a, c, a):
            for server in ("one", "two", "lazy"):
                assert w.prompt(sid, server) == sid, (sid, server, (a, b, c))
        for sid in (c, a, b):
            w.pin(sid, "one", "first")
            w.pin(sid, "lazy", "second")
        w.editor.request("session/close", {"sessionId": b})
        assert w.prompt(a, "two") == a
        w.close()
        for sid in (a, b, c):
            assert pins(p, sid) == ["first", "second"], (sid, pins(p, sid))
        assert len(p.cli("ls", "--all")["sessions"]) == 3, p.cli("ls", "--all")


def test_servers_of_sessions_that_were_loaded():
    for ability in ("--load", "--resume"):
        with place() as p:
            w = Window(p, ability)
            a, b = w.new(), w.new()
            w.pin(a, "one", "before")
            w.close()
            w = Window(p, ability)
            w.load(a)
            w.load(b)
            c = w.new()
            for sid in (b, a, c):
                assert w.prompt(sid, "two") == sid
            w.pin(a, "one", "after")
            w.close()
            assert pins(p, a) == ["after", "before"], pins(p, a)
            assert "after" not in pins(p, b) + pins(p, c), (pins(p, b), pins(p, c))  # what was before may be inherited


def test_servers_of_an_agent_that_was_started_again():
    with place() as p:
        w = Window(p, "--load")
        a, b = w.new(), w.new()
        assert "ended unexpectedly" in w.prompt(a, "die")
        assert w.prompt(b, "one") == b
        c = w.new()
        for sid in (a, c, b):
            for server in ("two", "lazy"):
                assert w.prompt(sid, server) == sid, (sid, server, (a, b, c))
        w.close()


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if sys.argv[1:] == ["--agent"]:
        agent()
    elif sys.argv[1:2] == ["--acp"]:
        Servers(sys.argv[2:]).run()
    else:
        cases.main(globals())
