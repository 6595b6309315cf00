#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""ACP by its lines: an editor for tests, and an agent that plays a script.

    from acp import Editor, agent_command, script
    with Editor(["reprise", "acp", "--", *agent_command("--resume")], env) as e:
        e.initialize()
        sid = e.request("session/new", {"cwd": "/tmp", "mcpServers": []})["sessionId"]
        e.request("session/prompt", {"sessionId": sid, "prompt": [{"type": "text", "text": "turn 1"}]})
        e.updates            # every session/update so far: (session id, update)

The agent answers the prompt "turn N" with script(N), whose tool calls have the same ids in every turn, and "pieces FILE" with one
message in the chunks that the file lists (JSON). Other prompts get one chunk "echo: TEXT". Run as a program, this file is the agent:

    acp.py [--resume] [--load] [--pids FILE] [--pause SECONDS]
"""
import collections
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

DEADLINE = float(os.environ.get("REPRISE_TEST_DEADLINE", "60"))


class Closed(Exception):
    """The other side is gone."""


class Refused(Exception):
    """An answer that is an error: .code, .data."""

    def __init__(self, error):
        super().__init__(json.dumps(error))
        self.code, self.data = error.get("code"), error.get("data")


# ---- the script ---------------------------------------------------------------------------------


def text(kind, words, message=None):
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": words}}
    if message:
        update["messageId"] = message
    return update


def script(n):
    """The updates of a turn, in order; ("ask", METHOD, PARAMS) is a request in between."""
    t = "turn %d" % n
    yield text("agent_thought_chunk", "Thinking of %s. " % t)
    yield text("agent_thought_chunk", "Still thinking. ")
    for i in range(6):
        yield text("agent_message_chunk", "%s, piece %d. " % (t, i), "m%d" % n)
    yield {"sessionUpdate": "usage_update", "used": n, "size": 100000}
    yield {"sessionUpdate": "plan", "entries": [{"content": t, "priority": "high", "status": "pending"}]}
    yield {"sessionUpdate": "tool_call", "toolCallId": "call_1", "title": "Read for " + t, "kind": "read", "status": "pending",
           "rawInput": {"turn": n}}
    yield "ask", "fs/read_text_file", {"path": "/x"}
    yield {"sessionUpdate": "tool_call_update", "toolCallId": "call_1", "status": "in_progress"}
    yield {"sessionUpdate": "tool_call_update", "toolCallId": "call_1", "status": "completed",
           "content": [{"type": "content", "content": {"type": "text", "text": "read in " + t}}], "rawOutput": [n, None]}
    for i in range(4):
        yield text("agent_message_chunk", "%s, later piece %d. " % (t, i))
    yield {"sessionUpdate": "tool_call", "toolCallId": "call_2", "title": "Edit for " + t, "kind": "edit"}
    yield "ask", "session/request_permission", {
        "toolCall": {"toolCallId": "call_2"},
        "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}, {"optionId": "no", "name": "No", "kind": "reject_once"}]}
    yield {"sessionUpdate": "tool_call_update", "toolCallId": "call_2", "status": "completed"}
    yield {"sessionUpdate": "_vendor_update", "turn": n}
    yield {"sessionUpdate": "usage_update", "used": n + 1, "size": 100000}
    yield text("agent_message_chunk", "%s is done. " % t, "n%d" % n)


def script_updates(n):
    return [u for u in script(n) if isinstance(u, dict)]


def agent_command(*args):
    return [sys.executable, os.path.abspath(__file__), *args]


# ---- the agent ----------------------------------------------------------------------------------


class Agent:
    def __init__(self, args):
        self.resume, self.load = "--resume" in args, "--load" in args
        self.pause = float(args[args.index("--pause") + 1]) if "--pause" in args else 0
        self.next_id = 0
        self.lines = sys.stdin.buffer
        if "--pids" in args:
            with open(args[args.index("--pids") + 1], "a") as f:
                f.write("%d\n" % os.getpid())

    def send(self, message):
        sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        sys.stdout.buffer.flush()

    def read(self):
        line = self.lines.readline()
        if not line:
            sys.exit(0)
        return json.loads(line)

    def ask(self, method, params):
        """Waits for the answer; a cancelled turn or another request meanwhile is an error of the script."""
        mine, self.next_id = self.next_id, self.next_id + 1
        self.send({"id": mine, "method": method, "params": params})
        while True:
            message = self.read()
            if "method" not in message and message.get("id") == mine:
                return message
            if message.get("method") == "session/cancel":
                continue
            if "method" in message and "id" in message:
                self.send({"id": message["id"], "error": {"code": -32603, "message": "busy"}})

    def play(self, sid, updates):
        for u in updates:
            if self.pause:
                time.sleep(random.uniform(0, 2 * self.pause))
            if isinstance(u, tuple):
                self.ask(u[1], {"sessionId": sid, **u[2]})
            else:
                self.send({"method": "session/update", "params": {"sessionId": sid, "update": u}})

    def prompt(self, params):
        words = [b["text"] for b in params["prompt"] if b["type"] == "text"][-1]
        turn = words.split()
        updates = [text("agent_message_chunk", "echo: " + words)]
        if len(turn) == 2 and turn[0] == "turn":
            updates = script(int(turn[1]))
        if len(turn) == 2 and turn[0] == "pieces":
            with open(turn[1], encoding="utf-8") as f:
                updates = [text("agent_message_chunk", piece, "m") for piece in json.load(f)]
        self.play(params["sessionId"], updates)
        return {"stopReason": "end_turn"}

    def answer(self, method, params):
        if method == "initialize":
            session = {"resume": {}} if self.resume else {}
            return {"protocolVersion": 1, "agentInfo": {"name": "scripted", "version": "1"},
                    "agentCapabilities": {"loadSession": self.load, "sessionCapabilities": session}}
        if method == "session/new":
            return {"sessionId": "agent-%d-%d" % (os.getpid(), time.monotonic_ns())}
        if (method == "session/load" and self.load) or (method == "session/resume" and self.resume):
            return {}
        if method == "session/prompt":
            return self.prompt(params)
        return None

    def run(self):
        while True:
            message = self.read()
            if "method" not in message or "id" not in message:
                continue
            result = self.answer(message["method"], message.get("params") or {})
            if result is None:
                self.send({"id": message["id"], "error": {"code": -32601, "message": "no " + message["method"]}})
            else:
                self.send({"id": message["id"], "result": result})


# ---- the editor ---------------------------------------------------------------------------------


class Editor:
    """Answers what an agent asks; keeps every update in the order of arrival. One thread reads, any may ask."""

    def __init__(self, command, env=None, stderr=None):
        self.command, self.env, self.stderr = command, env, stderr
        self.updates = []
        self.asked = collections.Counter()
        self.lines = 0  # that came
        self.answers = {}
        self.next_id = 0
        self.lock = threading.Condition()
        self.closed = False

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr, env=self.env)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        return self

    __enter__ = start

    def __exit__(self, *_):
        self.close()

    def _send(self, message):
        try:
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self.process.stdin.flush()
        except (OSError, ValueError):
            raise Closed() from None

    def _read(self):
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                break  # half a line: whoever wrote it is gone
            with self.lock:
                self.lines += 1
                self._take(message)
                self.lock.notify_all()
        with self.lock:
            self.closed = True
            self.lock.notify_all()

    def _take(self, message):
        method = message.get("method")
        if method == "session/update":
            self.updates.append((message["params"]["sessionId"], message["params"]["update"]))
        elif method and "id" in message:
            self.asked[method] += 1
            try:
                self._send({"id": message["id"], **self.reply(method, message.get("params") or {})})
            except Closed:
                pass
        elif not method:
            self.answers[json.dumps(message.get("id"))] = message

    def reply(self, method, params):
        if method == "session/request_permission":
            return {"result": {"outcome": {"outcome": "selected", "optionId": params["options"][0]["optionId"]}}}
        if method == "fs/read_text_file":
            return {"result": {"content": "content of " + params["path"]}}
        return {"error": {"code": -32601, "message": "no " + method}}

    def post(self, method, params):
        """Sends a request and returns its id."""
        mine, self.next_id = self.next_id, self.next_id + 1
        self._send({"id": mine, "method": method, "params": params})
        return mine

    def notify(self, method, params):
        self._send({"method": method, "params": params})

    def wait(self, ready, what, deadline=DEADLINE):
        """Until ready() or the other side is gone (Closed)."""
        with self.lock:
            self.lock.wait_for(lambda: ready() or self.closed, deadline)
            if ready():
                return
            if self.closed:
                raise Closed("exit status %s while waiting for %s" % (self.process.wait(DEADLINE), what))
            raise AssertionError("not within %g s: %s" % (deadline, what))

    def answered(self, mine):
        return json.dumps(mine) in self.answers

    def result(self, mine, what="an answer"):
        self.wait(lambda: self.answered(mine), what)
        message = self.answers.pop(json.dumps(mine))
        if "error" in message:
            raise Refused(message["error"])
        return message["result"]

    def request(self, method, params):
        return self.result(self.post(method, params), method)

    def initialize(self, **capabilities):
        params = {"protocolVersion": 1, "clientInfo": {"name": "test", "version": "1"},
                  "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True, **capabilities}}
        return self.request("initialize", params)

    def said(self, sid, since=0):
        """Updates of one session, from the `since`th update of all on."""
        with self.lock:
            return [u for s, u in self.updates[since:] if s == sid]

    def kill(self):
        """SIGKILL; returns when everything that had been written was read."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(DEADLINE)
        self.reader.join(DEADLINE)
        assert not self.reader.is_alive(), "the output stays open after the end"

    def close(self):
        """As editors do it: the input is closed, and the end waited for."""
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        self.reader.join(DEADLINE)
        return self.process.returncode


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        Agent(sys.argv[1:]).run()
    except BrokenPipeError:
        os._exit(0)
