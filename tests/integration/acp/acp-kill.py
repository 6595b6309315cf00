#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at random instants of a conversation through the proxy: of the proxy itself, or of the agent behind it.

Afterwards the journal has every update that was delivered, session/load tells the same history (and nothing that was not
said), no tool call is left open, and the next prompt works (O-05, B-02, B-04, B-06).

usage: acp-kill.py      20 kills; 300 with REPRISE_SOAK=1; REPRISE_ROUNDS above both; REPRISE_SEED plays one again
"""
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
from acp import Closed, Editor, Refused, agent_command, script_updates, text  # noqa: E402

REPRISE = os.environ.get("REPRISE", "reprise")
SEED = 20261116
ROUNDS_OF_A_SESSION = 12
DEATHS_OF_A_PROXY = 2  # a third agent within half a minute would be one too many
STATES = ("usage_update",)
LONGEST_S = 0.003  # between a line and the kill
PAUSE_S = 0.0004  # between two updates of the agent
ABILITIES = ([], ["--resume"], ["--load"])


def rounds():
    soak = os.environ.get("REPRISE_SOAK", "0") not in ("", "0")
    return int(os.environ.get("REPRISE_ROUNDS") or (300 if soak else 20))


# ---- histories --------------------------------------------------------------------------------------


def join(updates):
    """What is told of updates: chunks of one message are one, states are left out."""
    out = []
    for u in updates:
        kind = u["sessionUpdate"]
        if kind in STATES:
            continue
        if kind.endswith("_chunk") and u["content"]["type"] == "text":
            words = u["content"]["text"]
            key = (kind, u.get("messageId"))
            if out and out[-1][0] == key and kind != "user_message_chunk":
                out[-1] = (key, out[-1][1] + words)
            else:
                out.append((key, words))
        else:
            out.append((kind, json.dumps(u, sort_keys=True)))
    return out


def is_start(short, long):
    """Whether a history is the beginning of another; its last text may go on."""
    if not short:
        return True
    if len(short) > len(long) or short[:-1] != long[: len(short) - 1]:
        return False
    (key, words), (other, more) = short[-1], long[len(short) - 1]
    return key == other and (words == more or (isinstance(key, tuple) and more.startswith(words)))


def is_closing(u):
    return u["sessionUpdate"] == "tool_call_update" and u.get("status") == "failed"


def is_obituary(u):
    return u["sessionUpdate"] == "agent_message_chunk" and "ended unexpectedly" in u["content"].get("text", "")


def spoken(updates):
    """The agent's own: without what the proxy adds when one dies."""
    return [u for u in updates if not is_closing(u) and not is_obituary(u)]


def turns_of(updates):
    """[(prompt's text, updates)], in order."""
    turns = []
    for u in updates:
        if u["sessionUpdate"] == "user_message_chunk":
            turns.append((u["content"]["text"], []))
        elif turns:
            turns[-1][1].append(u)
        else:
            assert u["sessionUpdate"] in STATES, u
    return turns


def open_calls(updates):
    """Tool calls that began and did not end, of one turn."""
    calls = {}
    for u in updates:
        if u["sessionUpdate"] in ("tool_call", "tool_call_update"):
            status = u.get("status") or calls.get(u["toolCallId"], "pending")
            calls[u["toolCallId"]] = status
    return [c for c, status in calls.items() if status not in ("completed", "failed")]


# ---- the conversation ---------------------------------------------------------------------------------


class Conversation:
    """One session, what its editor has seen, and the proxies it lived in."""

    def __init__(self, folder, dice):
        self.folder, self.dice = folder, dice
        self.env = {**os.environ, "REPRISE_HOME": folder, "HOME": folder, "REPRISE_DB": "sqlite:" + os.path.join(folder, "r.db")}
        for name in ("REPRISE_SESSION", "REPRISE_SCOPE", "REPRISE_BRIDGE", "REPRISE_CONFIG"):
            self.env.pop(name, None)
        self.pids = os.path.join(folder, "pids")
        self.counts = collections.Counter()
        self.editor = self.sid = None
        self.turn = 0
        self.new_session()

    def new_session(self):
        self.sid, self.past, self.now, self.states = None, [], [], []

    def start(self):
        """Another proxy, with an agent of some abilities."""
        command = [REPRISE, "acp", "--", *agent_command("--pids", self.pids, "--pause", str(PAUSE_S), *self.dice.choice(ABILITIES))]
        self.editor = Editor(command, self.env).start()
        self.deaths, self.since, self.unnoticed = 0, 0, False
        self.editor.initialize()

    def open(self):
        place = {"cwd": self.folder, "mcpServers": []}
        if self.sid:
            self.editor.request("session/load", {"sessionId": self.sid, **place})
        else:
            self.sid = self.editor.request("session/new", place)["sessionId"]

    def drain(self):
        """What came since the last time."""
        said = self.editor.said(self.sid, self.since)
        self.since = len(self.editor.updates)
        return said

    def prompt(self):
        self.turn += 1
        words = "turn %d" % self.turn
        self.now.append((words, []))
        return self.editor.post("session/prompt", {"sessionId": self.sid, "prompt": [{"type": "text", "text": words}]})

    def hear(self):
        """Adds to the turn what was delivered in it."""
        said = self.drain()
        if self.now:
            self.now[-1][1].extend(said)
        self.states += [u for u in said if u["sessionUpdate"] in STATES]

    # ---- what must hold

    def check_turn(self, words, updates, whole):
        full = join(script_updates(int(words.split()[1])))
        said = join(spoken(updates))
        assert (said == full) if whole else is_start(said, full), (words, said, full)

    def check_told(self, told):
        """A load's history against what this editor and those before it have seen."""
        turns, seen = turns_of(told), self.past + self.now
        if len(turns) == len(seen) - 1 and not seen[-1][1]:
            seen = seen[:-1]  # the last prompt did not get as far as the journal
        assert [w for w, _ in turns] == [w for w, _ in seen], ([w for w, _ in turns], [w for w, _ in seen])
        for i, ((words, again), (_, delivered)) in enumerate(zip(turns, seen)):
            self.check_turn(words, again, False)
            assert is_start(join(spoken(delivered)), join(spoken(again))), (words, join(delivered), join(again))
            if i < len(self.past):
                assert join(delivered) == join(again), (words, join(delivered), join(again))
            assert not open_calls(again), (words, open_calls(again), again)
        used = [u["used"] for u in told if u["sessionUpdate"] == "usage_update"]
        assert len(used) <= 1 and (not self.states or used[-1] >= self.states[-1]["used"]), (used, self.states[-1:])
        self.past, self.now = turns, []

    def check_journal(self):
        """Every state update that was delivered stands there too, in its order."""
        log = subprocess.run([REPRISE, "log", self.sid_of_ours(), "--json"], env=self.env, capture_output=True, text=True, timeout=60)
        assert log.returncode == 0, log.stderr
        stored = [json.loads(line) for line in log.stdout.splitlines() if line.strip()]
        updates = iter([e["body"]["update"] for e in stored if e["kind"] == "x-acp-update"])
        for state in self.states:
            assert any(u == state for u in updates), (state, "was delivered and is not in the journal")
        self.counts["events"] += len(stored)

    def sid_of_ours(self):
        return self.sid

    # ---- what happens

    def wait_for_a_moment(self, before, asked):
        """Some line of the turn, or its end, and a little."""
        lines, e = before + self.dice.randrange(0, 28), self.editor
        e.wait(lambda: e.lines >= lines or e.answered(asked), "line %d of the conversation" % lines)
        time.sleep(self.dice.uniform(0, LONGEST_S))  # any moment

    def kill_proxy(self):
        before = self.editor.lines
        self.wait_for_a_moment(before, self.prompt())
        self.editor.kill()
        self.hear()
        self.counts["proxy"] += 1
        self.counts["in mid-turn"] += bool(join(spoken(self.now[-1][1])) != join(script_updates(self.turn)))
        self.start()
        self.open()
        self.check_told(self.drain())

    def end(self, asked):
        """Whether the turn ended with its agent's death, as a script sees it."""
        try:
            assert self.editor.result(asked, "the end of a turn")["stopReason"] == "end_turn"
            return False
        except Refused as why:
            assert why.data == {"code": "agent.died", "signal": signal.SIGKILL}, why
            return True

    def kill_agent(self):
        with open(self.pids) as f:
            agent = int(f.read().split()[-1])
        before = self.editor.lines
        asked = self.prompt()
        self.wait_for_a_moment(before, asked)
        try:
            os.kill(agent, signal.SIGKILL)
        except ProcessLookupError:
            raise AssertionError("the agent %d was gone before" % agent) from None
        self.deaths += 1
        self.counts["agent"] += 1
        died = self.end(asked)
        self.hear()
        words, updates = self.now[-1]
        assert died == any(is_obituary(u) for u in updates), (died, updates)
        self.check_turn(words, updates, False)
        assert not open_calls(updates), (words, updates)
        self.unnoticed = not any(is_obituary(u) for u in updates)
        self.counts["in mid-turn"] += bool(join(spoken(updates)) != join(script_updates(self.turn)))

    def talk(self):
        """The next prompt works. One that met an agent whose end nobody had noticed yet was cut off itself."""
        cut = self.end(self.prompt())
        self.hear()
        assert cut == any(is_obituary(u) for u in self.now[-1][1]), (cut, self.now[-1])
        assert not cut or self.unnoticed, self.now[-1]
        self.check_turn(*self.now[-1], not cut)
        assert not open_calls(self.now[-1][1]), self.now[-1]
        self.unnoticed = False
        if cut:
            self.talk()

    def load_again(self):
        """In the same process: the history as far as it is."""
        self.hear()
        self.open()
        self.check_told(self.drain())

    def round(self):
        if self.deaths < DEATHS_OF_A_PROXY and self.dice.random() < 0.5:
            self.kill_agent()
        else:
            self.kill_proxy()
        self.talk()
        if self.dice.random() < 0.3:
            self.load_again()

    def finish(self):
        """The editor closes; another one loads the whole."""
        assert self.editor.close() == 0, self.editor.process.returncode
        self.hear()
        self.start()
        self.open()
        self.check_told(self.drain())
        assert self.editor.close() == 0
        self.check_journal()
        self.new_session()


def run(folder, n, seed):
    c = Conversation(folder, random.Random(seed))
    for i in range(n):
        if i % ROUNDS_OF_A_SESSION == 0:
            if i:
                c.finish()
            c.start()
            c.open()
        c.round()
    c.finish()
    return c


def main():
    seed, n = int(os.environ.get("REPRISE_SEED") or SEED), rounds()
    print("seed %d, %d kills" % (seed, n), flush=True)
    folder = tempfile.mkdtemp(prefix="reprise-acp-")
    began = time.monotonic()
    try:
        c = run(folder, n, seed)
        verify = subprocess.run([REPRISE, "verify"], env=c.env, capture_output=True, text=True, timeout=120)
        assert verify.returncode == 0, verify.stdout + verify.stderr
        assert c.counts["proxy"] and c.counts["agent"] and c.counts["in mid-turn"], dict(c.counts)
        print("ok: %s, %d turns, %.1f s" % (", ".join("%s %d" % i for i in sorted(c.counts.items())), c.turn, time.monotonic() - began))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
