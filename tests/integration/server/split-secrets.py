#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Streams in pieces, and SIGKILL at random instants (B-14, X-14).

Texts with credentials of many shapes, and plain source, are said in pieces of random length: through `append --batch` by two
processes that take turns, through a server, and by an agent behind the proxy. Whoever stores them is killed in between, or
stopped, or replaced. What was acknowledged (or shown to the editor) is in the journal, whole, with the credential masked and
nothing else; and right after each death no file holds a readable part of a credential.

usage: split-secrets.py      6 streams a door; 150 with REPRISE_SOAK=1; REPRISE_ROUNDS above both; REPRISE_SEED plays one again
"""
import json
import os
import random
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
from acp import DEADLINE, Editor, agent_command  # noqa: E402
from serve import Server  # noqa: E402

REPRISE = os.environ["REPRISE"]
MASK = "[REDACTED]"
PART = 8  # bytes in a row of a credential that nobody may read
LONGEST_S = 0.004  # between a piece and the kill


def alnum(dice, n):
    return "".join(dice.choice("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789") for _ in range(n))


def shapes(dice):
    """(before, prefix, secret, after): what is masked is prefix and secret."""
    lines = "\n".join(alnum(dice, 64) for _ in range(6))
    return [
        ("use it: ", "gh" + "p_", alnum(dice, 36), " and go on"),
        ("key=value? ", "sk-" + "ant-api03-", alnum(dice, 80) + "-AA", "\nnext line"),
        ("export DB_PASSWORD=", "", "Xy7" + alnum(dice, 14), "\nmake run\n"),
        ("psql postgres://ada:", "", "S3c" + alnum(dice, 12), "@db.local/prod is up"),
        ("-----BEGIN RSA PRIVATE KEY-----\n", "", lines, "\n-----END RSA PRIVATE KEY-----\nthat was it"),
        ('{"api_key": "', "", "k9" + alnum(dice, 20), '", "region": "eu"}'),
    ]


def plain(dice):
    """Source and prose, full of beginnings of credentials that are none."""
    with open(os.path.abspath(__file__), encoding="utf-8") as f:
        lines = f.read().split("\n")
    at = dice.randrange(max(1, len(lines) - 12))
    return "\n".join(lines[at:at + 12]).replace(MASK, "mask") + "\ndef token(password): return sk, ghp_, AKI\n"


def pieces(dice, text):
    at = 0
    while at < len(text):
        n = dice.choice((1, 2, 3, 5, 8, 13, 20, 40))
        yield text[at:at + n]
        at += n


class Story:
    """One text: what is said of it, and what must never be readable."""

    def __init__(self, dice):
        if dice.random() < 0.35:
            self.text, self.want, self.secret = plain(dice), None, None
        else:
            before, prefix, self.secret, after = dice.choice(shapes(dice))
            self.text, self.want = before + prefix + self.secret + after, before + MASK + after

    def check_whole(self, got):
        want = self.want if self.want is not None else self.text
        assert got == want, "journal: %r\nwanted:  %r" % (got, want)

    def check_cut(self, got, said):
        """`got` is what was said, up to a mask for what may be a credential."""
        pattern = "(.*)".join(re.escape(part) for part in got.split(MASK))
        found = re.fullmatch(pattern, said, re.S)
        assert found, "journal: %r\nsaid:    %r" % (got, said)
        if self.secret is None:
            return
        for hidden in found.groups():
            assert len(hidden) <= len(self.secret) + 30, (hidden, said)

    def check_files(self, folder):
        if not self.secret:
            return
        parts = [self.secret[i:i + PART].encode() for i in range(0, len(self.secret) - PART + 1, 3)]
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if not os.path.isfile(path) or os.path.islink(path):
                continue
            with open(path, "rb") as f:
                held = f.read()
            for part in parts:
                assert part not in held, "%s holds %r" % (name, part)


def cli(env, *args, check=True):
    done = subprocess.run([REPRISE, *args], env=env, capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert not check or done.returncode == 0, (args, done.returncode, done.stderr)
    return done.stdout


def events(env, session):
    return [json.loads(line) for line in cli(env, "log", session, "--json", "--limit", "1000000").splitlines()]


def words(content):
    return content if isinstance(content, str) else "".join(b.get("text", "") for b in content)


def said(env, session, message_id):
    return "".join(words(e["body"]["content"]) for e in events(env, session)
                   if e["kind"] == "message" and e["body"].get("message_id") == message_id)


def chunk(message_id, text, key):
    return {"kind": "message", "idempotency_key": key,
            "body": {"role": "assistant", "message_id": message_id, "content": text, "partial": True}}


# ---- the library: two processes that take turns ----------------------------------------------------


class Writer:
    def __init__(self, env, session):
        self.env, self.session, self.process = env, session, None

    def begin(self):
        self.process = subprocess.Popen([REPRISE, "append", self.session, "--batch", "--durability", "os", "--json"], env=self.env,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def send(self, event):
        if not self.process:
            self.begin()
        self.process.stdin.write(json.dumps(event).encode() + b"\n")
        self.process.stdin.flush()

    def acknowledged(self):
        ready, _, _ = select.select([self.process.stdout], [], [], DEADLINE)
        line = self.process.stdout.readline() if ready else b""
        assert line, "no acknowledgement"
        answer = json.loads(line)
        assert "error" not in answer, answer

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
        self.process = None


def library(dice, folder, rounds):
    env = dict(os.environ, REPRISE_DB="sqlite:" + os.path.join(folder, "lib.db"), REPRISE_HOME=folder)
    kills = 0
    for n in range(rounds):
        story = Story(dice)
        session = json.loads(cli(env, "start", "--scope", "split", "--json"))["session_id"]
        writers = [Writer(env, session), Writer(env, session)]
        sent = ""
        cut = dice.random() < 0.4
        stop = dice.randrange(1, len(story.text)) if cut else len(story.text)
        for i, piece in enumerate(pieces(dice, story.text[:stop])):
            event = chunk("m", piece, "k%d" % i)
            while True:
                writer = dice.choice(writers)
                writer.send(event)
                if dice.random() > 0.12:
                    writer.acknowledged()
                    break
                time.sleep(dice.uniform(0, LONGEST_S))
                writer.kill()
                kills += 1
                story.check_files(folder)
            sent += piece
        for writer in writers:
            writer.kill()
        story.check_files(folder)
        if cut:
            cli(env, "end", session)
            story.check_cut(said(env, session, "m"), sent)
        else:
            cli(env, "append", session, "message", json.dumps({"role": "assistant", "message_id": "m", "content": ""}))
            story.check_whole(said(env, session, "m"))
            cli(env, "end", session)
        story.check_files(folder)
    cli(env, "verify")
    return kills


# ---- the server ------------------------------------------------------------------------------------


def server_door(dice, rounds):
    server = Server(args=["--access-log", "off"]).start()
    folder = server.folder
    env = dict(server.env)
    kills = 0
    for n in range(rounds):
        story = Story(dice)
        session = server.post("/v1/sessions", {"scope": "split"}).json["session_id"]
        sent, cut = "", dice.random() < 0.4
        stop = dice.randrange(1, len(story.text)) if cut else len(story.text)
        for i, piece in enumerate(pieces(dice, story.text[:stop])):
            event = chunk("m", piece, "k%d" % i)
            key = event.pop("idempotency_key")
            while True:
                answer = server.post("/v1/sessions/%s/events?durability=os" % session, event, headers={"Idempotency-Key": key})
                assert answer.status in (200, 201), answer
                if dice.random() > 0.06:
                    break
                how = dice.randrange(4)
                if how == 3:
                    assert server.stop() == 0
                else:
                    server.kill()
                kills += 1
                story.check_files(folder)
                server.start()
            sent += piece
        if cut:
            assert server.post("/v1/sessions/%s/close" % session, {}).status == 200
            story.check_cut(said(env, session, "m"), sent)
        else:
            server.post("/v1/sessions/%s/events" % session,
                        {"kind": "message", "body": {"role": "assistant", "message_id": "m", "content": ""}})
            story.check_whole(said(env, session, "m"))
        story.check_files(folder)
    assert server.stop() == 0
    cli(env, "verify")
    return kills


# ---- the proxy ---------------------------------------------------------------------------------------


def told_of(story, told, delivered, parts):
    """What the journal tells is what was shown, or that and some more of what the agent said."""
    for k in range(delivered, len(parts) + 1):
        try:
            story.check_cut(told, "".join(parts[:k]))
            return
        except AssertionError:
            if k == len(parts):
                raise


def proxy(dice, folder, rounds):
    for n in range(rounds):
        story, place = Story(dice), os.path.join(folder, "acp-%d" % n)
        parts, script = list(pieces(dice, story.text)), os.path.join(folder, "script.json")
        os.mkdir(place)
        env = dict(os.environ, REPRISE_DB="sqlite:" + os.path.join(place, "acp.db"), REPRISE_HOME=place)
        with open(script, "w", encoding="utf-8") as f:
            json.dump(parts, f)
        editor = Editor([REPRISE, "acp", "--", *agent_command("--pause", "0.0003")], env).start()
        editor.initialize()
        session = editor.request("session/new", {"cwd": place, "mcpServers": []})["sessionId"]
        editor.post("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "pieces " + script}]})
        enough = dice.randrange(1, len(parts) + 1)
        editor.wait(lambda: len(editor.updates) >= enough, "%d pieces" % enough)
        time.sleep(dice.uniform(0, LONGEST_S))
        editor.kill()
        story.check_files(place)
        shown = [u["content"]["text"] for _, u in editor.updates if u["sessionUpdate"] == "agent_message_chunk"]
        assert shown == parts[:len(shown)], "the editor was shown something else"
        cli(env, "end", "last")  # as any other process may
        told = "".join(words(e["body"]["content"]) for e in events(env, "last")
                       if e["kind"] == "message" and e["body"]["role"] == "assistant" and not e["body"].get("thought"))
        told_of(story, told, len(shown), parts)
        story.check_files(place)
        cli(env, "verify")
    return rounds


def main():
    soak = os.environ.get("REPRISE_SOAK", "0") not in ("", "0")
    rounds = int(os.environ.get("REPRISE_ROUNDS") or (150 if soak else 6))
    seed = int(os.environ.get("REPRISE_SEED") or random.SystemRandom().randrange(1 << 32))
    print("# REPRISE_SEED=%d" % seed, flush=True)
    dice = random.Random(seed)
    folder = tempfile.mkdtemp(prefix="rp-split-")
    try:
        kills = library(dice, folder, rounds)
        kills += server_door(dice, rounds)
        kills += proxy(dice, folder, rounds)
    finally:
        shutil.rmtree(folder, True)
    print("split secrets: %d streams through each door, %d deaths; nothing lost, nothing readable" % (rounds, kills))


if __name__ == "__main__":
    main()
