#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Everything at once: writers by HTTP and channels, event streams, lists, agents, questions of every kind, joins and leaves,
another process that writes, and a server that is replaced in the middle of it (L-03, L-10, L-13, C-06, C-10). Built with the
thread sanitizer this is where races show: a server that reports one ends with another code than 0.

usage: server-crowd.py      for REPRISE_CROWD_S seconds (6; 60 with REPRISE_SOAK=1) with REPRISE_CLIENTS writers (40)
"""
import json
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
import siege  # noqa: E402
from crowd import Crowd  # noqa: E402
from phx import Phoenix  # noqa: E402
from serve import Server  # noqa: E402
from ws import WebSocket  # noqa: E402

SOAK = os.environ.get("REPRISE_SOAK", "0") not in ("", "0")
SECONDS = float(os.environ.get("REPRISE_CROWD_S") or (60 if SOAK else 6))
CLIENTS = int(os.environ.get("REPRISE_CLIENTS") or 40)
SESSIONS = ["load-%d" % i for i in range(8)]
GONE = (OSError, EOFError)  # a connection that ends when the server is replaced is nobody's fault


class Extras:
    """Threads that do one thing again and again until it is over."""

    def __init__(self, server):
        self.server, self.over, self.failures, self.done = server, False, [], {}
        names = [name for name in dir(self) if name.startswith("do_")]
        self.threads = [threading.Thread(target=self._again, args=(name,)) for name in names]

    def _again(self, name):
        dice = random.Random(name)
        while not self.over:
            try:
                getattr(self, name)(dice)
                self.done[name[3:]] = self.done.get(name[3:], 0) + 1
            except GONE:
                continue
            except Exception as why:  # whatever it is, the test shall hear of it
                self.failures.append("%s: %r" % (name[3:], why))
                return

    def start(self):
        for t in self.threads:
            t.start()

    def stop(self):
        self.over = True
        for t in self.threads:
            t.join()

    def do_questions(self, dice):
        sid = dice.choice(SESSIONS)
        for path in ("", "/state", "/brief", "/chain", "/snapshots", "/events?limit=20", "/evidence?video_at=1"):
            answer = self.server.get("/v1/sessions/%s%s" % (sid, path))
            assert answer.status in (200, 503), (path, answer)
        for path in ("/v1/sessions?scope=load", "/metrics", "/v1/search?q=otter", "/v1/audit?limit=5", "/v1/scopes/load/brief",
                     "/api/session", "/readyz", "/openapi.json"):
            answer = self.server.get(path)
            assert answer.status in (200, 503), (path, answer)

    def do_lives(self, dice):
        """A session from its start to its end, and one that continues it."""
        sid = self.server.post("/v1/sessions", {"scope": "brief"}).json["session_id"]
        self.server.post("/v1/sessions/%s/events" % sid, {"kind": "message", "body": {"role": "user", "content": "an otter"}})
        for path, body in (("heartbeat", None), ("checkpoint", None), ("fork", {}), ("close", None)):
            answer = self.server.post("/v1/sessions/%s/%s" % (sid, path), body)
            assert answer.status in (200, 201, 409, 503), (path, answer)
        answer = self.server.request("DELETE", "/v1/sessions/" + sid)
        assert answer.status in (200, 204, 404, 409, 503), answer

    def do_streams(self, dice):
        """Event streams that come, read some and go."""
        streams = [siege.stream(self.server, sid) for sid in SESSIONS]
        try:
            for s in streams:
                s.settimeout(5)
                siege.read_until(s, b"\nid: ")
        finally:
            for s in streams:
                s.close()

    def do_lists(self, dice):
        with self.server.socket() as s:
            s.sendall(b"GET /v1/sessions/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
            siege.read_until(s, b"session_id")
        with Phoenix(self.server) as p:
            p.join("sessions:load")

    def do_visitors(self, dice):
        """Channels that join, push and leave, some by hanging up."""
        with Phoenix(self.server) as p:
            topic = "session:visit-%d" % dice.randrange(5)
            p.join(topic, {"scope": "visit"})
            for event, payload in (("event", {"kind": "x-a", "body": {}}), ("note", {"text": "an otter"}), ("ping", {}),
                                   ("checkpoint", {}), ("brief", {}), ("sync", {"last_known_sequence": 0})):
                p.ask(topic, event, payload)
            if dice.random() < 0.5:
                p.ask(topic, "phx_leave", {})
            p.join("session:" + dice.choice(SESSIONS), {"scope": "load", "after": 0}, "2")

    def do_agents(self, dice):
        """An agent that comes, says a few things, is asked one and goes; one per round is replaced by the next."""
        with open(os.path.join(self.server.folder, "internal-secret"), encoding="utf-8") as f:
            secret = f.read().strip()
        made = self.server.post("/v1/sessions", {"scope": "agents", "key": "agent-%d" % dice.randrange(4)}).json
        for _ in range(2):
            agent = WebSocket(self.server.socket(), "localhost", "/internal/session?secret=" + secret)
            agent.send(json.dumps({"type": "auth", "sessionId": made["session_id"], "token": made["token"]}))
            agent.send('{"type":"ready"}')
            for i in range(5):
                agent.send(json.dumps({"type": "stream", "messageId": "m", "token": "otter "}))
            self.server.post("/v1/sessions/%s/events" % made["session_id"],
                             {"kind": "message", "body": {"role": "user", "content": "where?"}})
            while '"user_message"' not in (agent.message() or '"user_message"'):
                pass
        agent.sock.close()

    def do_processes(self, dice):
        """The command line writes beside the server."""
        self.server.cli("append", dice.choice(SESSIONS), "x-cli", "{}", check=False)


def replace(server):
    new = Server(db=server.db, listen=None, args=["--access-log", "off", "--replace"])
    new.env["REPRISE_HOME"] = server.env["REPRISE_HOME"]
    new.start()
    code = server.wait()
    assert code == 0, (code, "\n".join(server.log)[-8000:])
    return new


def main():
    first = server = Server(args=["--access-log", "off"]).start()
    for name in SESSIONS:
        answer = server.post("/v1/sessions", {"scope": "load", "id": name})
        assert answer.status == 201, answer
    crowd, extras = Crowd(server.port, SESSIONS, CLIENTS // 2, CLIENTS - CLIENTS // 2), Extras(server)
    began = time.monotonic()
    crowd.start()
    extras.start()
    try:
        for _ in range(2):
            crowd.progress(1)
            time.sleep(SECONDS / 3)
            server = replace(server)
        time.sleep(SECONDS / 3)
        crowd.progress(1)
    finally:
        extras.stop()
    crowd.stop()
    code = server.stop()
    assert code == 0, (code, "\n".join(server.log)[-8000:])
    assert not extras.failures, extras.failures
    events = crowd.verify(lambda session: first.cli("log", session, "--json", "--limit", "10000000"))
    print("server crowd: %d writers, %d events in %.0f s, beside that %s"
          % (CLIENTS, events, time.monotonic() - began, ", ".join("%d %s" % (n, k) for k, n in sorted(extras.done.items()))))


if __name__ == "__main__":
    main()
