# SPDX-License-Identifier: Apache-2.0
"""Many clients of one server that number what they send, lose their connection, come back and send again what was not
acknowledged: half by HTTP with Idempotency-Key, half by channels with client_id and client_seq (L-10).

    crowd = Crowd(port, sessions, http=100, channels=100)
    crowd.start()                   a thread of its own
    crowd.progress(5)               waits until each has had five more acknowledgements
    crowd.away() … crowd.back()     between these they do not try to connect
    crowd.stop()                    each gets its last acknowledgement
    crowd.verify(log)               log(session) gives the journal as JSON lines
"""
import asyncio
import base64
import collections
import json
import os
import random
import struct
import threading
import time

from serve import DEADLINE

KIND = "x-load"
FLYING = 4  # pushes of a channel that are not acknowledged yet
AGAIN_S = 0.02


class Client(asyncio.Protocol):
    """One connection after the other until the crowd stops and everything is acknowledged."""

    def __init__(self, crowd, name, session):
        self.crowd, self.name, self.session = crowd, name, session
        self.sent = self.acked = 0  # numbers of its events
        self.seqs = {}  # of its events, as acknowledged
        self.buffer, self.lost, self.transport = b"", None, None

    async def run(self):
        while not self.done():
            await self.crowd.up.wait()
            self.buffer, self.lost = b"", self.crowd.loop.create_future()
            try:
                await self.crowd.loop.create_connection(lambda: self, "127.0.0.1", self.crowd.port)
                await self.lost
                self.crowd.count("lost")
            except ConnectionRefusedError:
                self.crowd.count("refused")
                await asyncio.sleep(AGAIN_S)
            except OSError:
                self.crowd.count("lost")

    def done(self):
        return self.crowd.failures or (self.crowd.stopping and self.acked >= self.sent)

    def connection_made(self, transport):
        self.transport = transport
        self.begin()

    def connection_lost(self, exc):
        if not self.lost.done():
            self.lost.set_result(exc)

    def data_received(self, data):
        self.buffer += data
        try:
            while not self.transport.is_closing() and self.take():
                pass
        except Exception as why:  # whatever it is, the test shall hear of it
            self.fail(repr(why))

    def fail(self, why):
        self.crowd.failures.append("%s: %s" % (self.name, why))
        self.transport.abort()

    def come_back(self, why):
        """Begins anew with another connection."""
        self.crowd.count(why)
        self.transport.abort()

    def payload(self, n):
        return {"kind": KIND, "body": {"c": self.name, "n": n, "text": "o" * (n % 200)}}

    def ack(self, n, answer):
        self.crowd.count("acks")
        if answer.get("repeated"):
            self.crowd.count("repeats")
        assert answer["durability"] == "disk", "%d is stored as %r" % (n, answer)
        # Of a repeat that was not the client's last one, only that it is stored is known.
        assert answer["seq"] or answer.get("repeated"), answer
        known = self.seqs.setdefault(n, answer["seq"]) if answer["seq"] else None
        assert known == answer["seq"], "%d was at %d, now at %d" % (n, known, answer["seq"])
        self.acked = max(self.acked, n)


class HttpClient(Client):
    def begin(self):
        if self.done():
            self.transport.abort()
            return
        n = self.acked + 1
        self.sent = max(self.sent, n)
        body = json.dumps(self.payload(n)).encode()
        self.transport.write(
            b"POST /v1/sessions/%s/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Idempotency-Key: %s-%d\r\nContent-Length: %d\r\n\r\n%s"
            % (self.session.encode(), self.name.encode(), n, len(body), body))

    def take(self):
        """One answer; false when it is not there yet."""
        head, mark, rest = self.buffer.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        size = int(fields.get(b"content-length", 0))
        if not mark or len(rest) < size:
            return False
        body, self.buffer = rest[:size], rest[size:]
        status = int(head.split(b" ", 2)[1])
        if status == 503:
            self.come_back("busy")
            return False
        assert status == 200, (status, body)
        self.ack(self.acked + 1, json.loads(body))
        if fields.get(b"connection") == b"close":
            self.come_back("closed")
        else:
            self.begin()
        return True


class ChannelClient(Client):
    def begin(self):
        self.flying, self.next, self.ref = {}, None, 0  # ref: what was asked; the last event sent
        self.seen = 0  # the last event that came on this connection
        self.transport.write(
            b"GET /socket/websocket?vsn=2.0.0 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n" % base64.b64encode(os.urandom(16)))
        self.shaking = True

    def take(self):
        if not self.shaking:
            return self.take_frame()
        head, mark, rest = self.buffer.partition(b"\r\n\r\n")
        if not mark:
            return False
        if b" 101 " not in head:
            assert b" 503 " in head, head
            self.come_back("busy")
            return False
        self.shaking, self.buffer = False, rest
        self.push("phx_join", {"scope": "load"}, "join")
        return True

    def take_frame(self):
        b = self.buffer
        if len(b) < 2:
            return False
        n, at = b[1] & 127, 2
        if n >= 126:
            at = 4 if n == 126 else 10
            if len(b) < at:
                return False
            n = int.from_bytes(b[2:at], "big")
        if len(b) < at + n:
            return False
        payload, self.buffer = b[at:at + n], b[at + n:]
        if b[0] & 15 == 8:
            self.come_back("closed %d" % (int.from_bytes(payload[:2], "big") if payload else 1005))
        elif b[0] & 15 == 1:
            self.on_message(payload)
        return True

    def push(self, event, payload, what):
        self.ref += 1
        self.flying[str(self.ref)] = what
        text = json.dumps(["1", str(self.ref), "session:" + self.session, event, payload]).encode()
        n = len(text)
        head = bytes([0x81, 0x80 | n]) if n < 126 else bytes([0x81, 0xFE]) + struct.pack(">H", n)
        self.transport.write(head + b"\0\0\0\0" + text)  # a mask of zeros

    def on_message(self, text):
        if text.startswith(b"[null,null,"):  # a broadcast, most of them events
            if b'"event",{"seq":' in text[:80]:
                seq = int(text.split(b'{"seq":', 1)[1].split(b",", 1)[0])
                assert self.seen in (0, seq - 1), "event %d came after %d" % (seq, self.seen)
                self.seen = seq
            return
        _, ref, _, event, payload = json.loads(text)
        if event == "phx_reply":
            self.on_reply(self.flying.pop(ref), payload["status"], payload["response"])

    def on_reply(self, what, status, response):
        if status != "ok":
            assert response.get("retryable"), "%s: %r" % (what, response)
            self.come_back("busy")
        elif what == "join":
            self.push("sync", {"client_id": self.name}, "sync")
        elif what == "sync":
            stored = response["last_client_seq"]
            assert self.acked <= stored <= self.sent, "acknowledged %d, sent %d, stored %d" % (self.acked, self.sent, stored)
            self.acked = stored
            self.next = stored - (self.crowd.dice.random() < 0.5 and stored > 0)  # some send one time too often
        else:
            self.ack(what, response)
        if self.next is not None:
            self.send_more()

    def send_more(self):
        while len(self.flying) < FLYING and not self.done() and (not self.crowd.stopping or self.next < self.sent):
            self.next += 1
            self.sent = max(self.sent, self.next)
            self.push("event", dict(self.payload(self.next), client_id=self.name, client_seq=self.next), self.next)
        if self.done() and not self.flying:
            self.transport.abort()


class Crowd:
    def __init__(self, port, sessions, http=100, channels=100, seed=None):
        self.port, self.sessions = port, sessions
        self.dice = random.Random(seed)
        self.counts = collections.Counter()
        self.failures = []
        self.stopping = False
        self.clients = [HttpClient(self, "h%d" % i, sessions[i % len(sessions)]) for i in range(http)]
        self.clients += [ChannelClient(self, "c%d" % i, sessions[i % len(sessions)]) for i in range(channels)]
        self.loop = asyncio.new_event_loop()
        self.up = asyncio.Event()
        self.up.set()
        self.thread = threading.Thread(target=self._main, daemon=True)

    def _main(self):
        async def all_of_them():
            await asyncio.gather(*(c.run() for c in self.clients))

        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(all_of_them())

    def count(self, what):
        self.counts[what] += 1

    # ---- from the test's thread ----

    def start(self):
        self.thread.start()

    def away(self):
        self.loop.call_soon_threadsafe(self.up.clear)

    def back(self):
        self.loop.call_soon_threadsafe(self.up.set)

    def progress(self, n):
        """Waits until each has had n more acknowledgements."""
        goals = {c: c.acked + n for c in self.clients}
        end = time.monotonic() + DEADLINE
        while not self.failures and any(c.acked < goal for c, goal in goals.items()):
            if time.monotonic() > end:
                late = [c.name for c, goal in goals.items() if c.acked < goal]
                raise AssertionError("no progress: %s; %r" % (" ".join(late), dict(self.counts)))
            time.sleep(0.01)
        assert not self.failures, self.failures[:10]

    def stop(self):
        self.stopping = True
        self.back()
        self.thread.join(DEADLINE)
        assert not self.failures, self.failures[:10]
        assert not self.thread.is_alive(), "still at it: %s" % [c.name for c in self.clients if not c.done()]
        self.loop.close()

    def verify(self, log):
        """Nothing acknowledged is lost, nothing is there twice, each client's events are in its order, and each
        is where its acknowledgement said."""
        events = 0
        for session in self.sessions:
            found = {c.name: [] for c in self.clients if c.session == session}
            for line in log(session).splitlines():
                event = json.loads(line)
                if event["kind"] == KIND:
                    found[event["body"]["c"]].append((event["body"]["n"], event["seq"]))
            for client in (c for c in self.clients if c.session == session):
                got = found[client.name]
                numbers = [n for n, _ in got]
                assert numbers == list(range(1, client.sent + 1)), (client.name, client.sent, numbers)
                wrong = [(n, seq, client.seqs[n]) for n, seq in got if client.seqs.get(n, seq) != seq]
                assert not wrong, (client.name, wrong)
                events += len(got)
        return events
