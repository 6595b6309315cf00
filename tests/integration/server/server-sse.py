#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Server-sent events (L-10, C-10): a client that is cut off and comes back sees every event once.

usage: server-sse.py [NAME…]: only the tests whose names begin so
"""
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
sys.dont_write_bytecode = True
import cases  # noqa: E402
from serve import DEADLINE, Server  # noqa: E402

STREAM = "/v1/sessions/%s/events/stream"
READERS = 200


class Ended(Exception):
    """The server closed the stream, or it broke."""


class Event:
    def __init__(self):
        self.id, self.event, self.data = None, "message", None

    @property
    def json(self):
        return json.loads(self.data)

    def __repr__(self):
        return "<%s %s %s>" % (self.event, self.id, self.data)


class Stream:
    """One connection, read as the standard says an event source reads it."""

    def __init__(self, server, path, headers=None, rcvbuf=None, seconds=DEADLINE):
        if rcvbuf:
            self.sock = socket.socket()
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)  # before connecting, or it does not hold
            self.sock.settimeout(seconds)
            self.sock.connect(("127.0.0.1", server.port))
        else:
            self.sock = server.socket(seconds)
        lines = ["GET %s HTTP/1.1" % path, "Host: 127.0.0.1:%d" % server.port, "Accept: text/event-stream"]
        lines += ["%s: %s" % h for h in (headers or {}).items()]
        self.rest, self.last_id, self.comments, self.retry, self.event = b"", None, [], None, Event()
        self.sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.status, self.headers = self._head()

    def _more(self):
        try:
            part = self.sock.recv(65536)
        except (ConnectionResetError, BrokenPipeError) as e:
            raise Ended(str(e)) from e
        if not part:
            raise Ended("closed" if not self.rest else "closed in the middle of a line")
        self.rest += part

    def _line(self, end=b"\n"):
        while end not in self.rest:
            self._more()
        line, self.rest = self.rest.split(end, 1)
        return line

    def _head(self):
        head = self._line(b"\r\n\r\n").decode("latin-1").split("\r\n")
        fields = dict((n.strip().lower(), v.strip()) for n, v in (h.split(":", 1) for h in head[1:]))
        return int(head[0].split()[1]), fields

    def step(self):
        """Reads one line; an event when it was the end of one that would be dispatched."""
        line = self._line().decode()
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        event = self.event
        if not line:
            self.event = Event()
            event.id = self.last_id
            return event if event.data is not None else None
        if name == "":
            self.comments.append(value)
        elif name == "data":
            event.data = value if event.data is None else event.data + "\n" + value
        elif name == "id":
            self.last_id = value
        elif name == "event":
            event.event = value
        elif name == "retry":
            self.retry = int(value)
        else:
            raise AssertionError("what is %r?" % line)
        return None

    def until(self, what):
        """Reads lines until what(event or None) is true, and returns that event."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            event = self.step()
            if what(event):
                return event
        raise AssertionError("waited in vain")

    def next(self):
        return self.until(lambda event: event is not None)

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.close()


def start(server, **more):
    answer = server.post("/v1/sessions", {"scope": "nova", **more})
    assert answer.status in (200, 201), answer
    return answer.json["session_id"]


def append(server, sid, n=1, size=10, connection=None, headers=None, kind="message"):
    body = {"role": "user", "content": "x" * size} if kind == "message" else {"text": "x" * size}
    events = [{"kind": kind, "body": body}] * n
    answer = server.post("/v1/sessions/%s/events?durability=os" % sid, events if n > 1 else events[0],
                         connection=connection, headers=headers)
    assert answer.status == 200, answer
    return answer.json["seq"]


def read_to(stream, last, first=1):
    """Numbers from `first` to `last`, each once, in order."""
    for want in range(first, last + 1):
        got = stream.next()
        assert got.event == "message" and got.id == str(want) and got.json["seq"] == want, (want, got)


class Reader(threading.Thread):
    """Reads one session's events to `last` in its own thread; `failed` says what went wrong."""

    def __init__(self, server, sid, last, after=None):
        super().__init__(daemon=True)
        self.stream = Stream(server, STREAM % sid + ("?after=%d" % after if after is not None else ""))
        self.first, self.last, self.failed, self.took = (after or 0) + 1, last, None, None
        self.begun = time.monotonic()
        self.start()

    def run(self):
        try:
            read_to(self.stream, self.last, self.first)
            self.took = time.monotonic() - self.begun
        except Exception:  # pylint: disable=broad-except
            self.failed = traceback.format_exc()
        self.stream.close()

    def done(self):
        self.join(DEADLINE)
        assert not self.is_alive(), "a reader still waits"
        assert not self.failed, self.failed


# ---- tests -----------------------------------------------------------------------

def test_head_and_form():
    with Server(config="allowed_origins = http://app.test\n") as s:
        sid = start(s)
        append(s, sid, 3)
        with Stream(s, STREAM % sid, {"Origin": "http://app.test"}) as e:
            assert e.status == 200 and e.headers["content-type"] == "text/event-stream", e.headers
            assert "no-cache" in e.headers["cache-control"] and e.headers["x-accel-buffering"] == "no", e.headers
            assert e.headers["access-control-allow-origin"] == "http://app.test", e.headers
            assert "content-length" not in e.headers and e.headers["connection"] == "close", e.headers
            read_to(e, 3)
            assert e.retry == 1000
        assert Stream(s, STREAM % sid, {"Last-Event-ID": "2"}).next().id == "3"
        assert Stream(s, STREAM % sid, {"Last-Event-ID": "1-2"}).next().id == "3"  # epoch and number
        assert Stream(s, STREAM % sid + "?last_event_id=1").next().id == "2"
        assert Stream(s, STREAM % sid + "?after=1", {"Last-Event-ID": "2"}).next().id == "3"  # the header knows better
        head = s.request("HEAD", STREAM % sid)
        assert head.status == 200 and head.type == "text/event-stream" and not head.body, head
        for bad in ("x", "-3", "3-", "1-2-3", "99999999999999999999", "2 3"):
            answer = s.get(STREAM % sid, {"Last-Event-ID": bad})
            assert answer.status == 400 and answer.json["field"] == "Last-Event-ID", (bad, answer)
        answer = s.get(STREAM % sid + "?after=-1")
        assert answer.status == 400 and answer.json["field"] == "after", answer
        assert s.get(STREAM % "nobody").status == 404


def test_cut_off_and_back():
    """The client is cut in mid-stream again and again, the server is killed twice, others write all the while."""
    rng = random.Random(4)
    with Server() as s:
        sid = start(s)
        total, stop = 1500, threading.Event()
        up = threading.Event()
        up.set()
        trouble = []

        def write():
            """Each event once: what may or may not have been stored is sent again under the same key."""
            n = 0
            while n < total - 100 and not stop.is_set():
                up.wait(DEADLINE)
                try:
                    append(s, sid, headers={"Idempotency-Key": "k%d" % n})
                    n += 1
                except OSError:
                    stop.wait(0.01)
                except Exception as e:  # pylint: disable=broad-except
                    if up.is_set():
                        trouble.append(repr(e))
                        return

        def write_elsewhere():
            lines = "".join(json.dumps({"kind": "x-n", "body": {"n": i}}) + "\n" for i in range(100))
            s.cli("append", sid, "--batch", stdin=lines)

        writers = [threading.Thread(target=f, daemon=True) for f in (write, write_elsewhere)]
        for w in writers:
            w.start()
        last, connections, kills = 0, 0, [total // 3, 2 * total // 3]
        while last < total:
            if kills and last >= kills[0]:
                kills.pop(0)
                up.clear()
                s.kill()
                s.start()
                up.set()
            try:
                with Stream(s, STREAM % sid, {"Last-Event-ID": str(last)} if last else None) as e:
                    connections += 1
                    stay = rng.randrange(1, 120)
                    while stay and last < total:
                        got = e.next()
                        assert got.id == str(last + 1), (last, got)
                        last, stay = last + 1, stay - 1
                    while rng.randrange(2) and last < total:  # also in the middle of an event
                        e.sock.recv(rng.randrange(1, 40))
            except Ended:
                pass
            assert not trouble, trouble
        stop.set()
        for w in writers:
            w.join(DEADLINE)
        assert not kills and connections > 10
        log = [json.loads(line)["seq"] for line in s.cli("log", sid, "--json", "--limit", "100000").splitlines()]
        assert sorted(log) == list(range(1, total + 1)), len(log)
        print("  %d events over %d connections and 2 kills" % (total, connections))


def test_reset():
    """A client ahead of the journal (it was restored from a backup, say) is told where it ends."""
    with Server() as s:
        sid = start(s)
        append(s, sid, 5)
        with Stream(s, STREAM % sid, {"Last-Event-ID": "70"}) as e:
            got = e.next()
            assert got.event == "reset" and got.json == {"seq": 5} and e.last_id == "5", got
            append(s, sid)
            read_to(e, 6, 6)


def test_many_readers():
    with Server() as s:
        sid = start(s)
        append(s, sid, 50)
        total = 400
        readers = [Reader(s, sid, total) for _ in range(READERS // 2)]
        connection = s.connect()
        for _ in range(50):
            append(s, sid, connection=connection)
        readers += [Reader(s, sid, total, after=random.randrange(100)) for _ in range(READERS // 2)]
        for _ in range(250):
            append(s, sid, connection=connection)
        append(s, sid, 50, connection=connection)
        for r in readers:
            r.done()


def test_slow_reader():
    """One who reads nothing is cut off after stall_s and costs the others nothing."""
    with Server(env={"REPRISE_STALL_S": "1", "REPRISE_QUEUE_BYTES": "65536"}) as s:
        sid = start(s)
        total, size = 400, 60000
        slow = Stream(s, STREAM % sid, rcvbuf=4096)
        quick = [Reader(s, sid, total) for _ in range(4)]
        connection = s.connect()
        for _ in range(total // 10):
            append(s, sid, 10, size, connection=connection)
        for r in quick:
            r.done()
        s.wait_log("event=stream_closed .*(too long|timed out)", "the slow reader to be cut off")
        seen = 0
        try:
            while True:
                assert slow.next().id == str(seen + 1)
                seen += 1
        except Ended:
            pass
        assert seen < total
        with Stream(s, STREAM % sid, {"Last-Event-ID": str(seen)}) as e:  # and may come back
            read_to(e, total, seen + 1)
        rss = [int(line.split()[1]) for line in open("/proc/%d/status" % s.pid) if line.startswith("VmHWM")][0]
        print("  %d MB for a slow reader, high water %d MB" % (total * size // 10**6, rss // 1024))


def test_pings_and_kinds():
    """Silence is broken by comments; a filter's place in the journal is told with them."""
    with Server(env={"REPRISE_STALL_S": "0.2"}) as s:
        sid = start(s)
        append(s, sid, 3)
        append(s, sid, kind="x-other")
        with Stream(s, STREAM % sid + "?kind=x-other,x-none") as e:
            got = e.next()
            assert got.id == "4" and got.json["kind"] == "x-other", got
            append(s, sid, 2)
            e.until(lambda event: e.last_id == "6")
            append(s, sid, kind="x-other")
            assert e.next().id == "7"
            del e.comments[:]
            e.until(lambda event: e.comments)
            assert e.comments == ["ping"], e.comments


def test_list():
    """C-10: a session comes, changes, ends and goes."""
    with Server() as s:
        old = start(s, key="old")
        with Stream(s, "/v1/sessions/stream?scope=nova") as e:
            assert e.status == 200
            got = e.next()
            assert got.event == "message" and got.json["session_id"] == old and got.id is None, got
            start(s, scope="clawd", key="elsewhere")
            new = start(s, key="new")

            def until(what):
                def fits(event):
                    assert not event or event.json.get("scope", "nova") == "nova", event
                    return event and event.json["session_id"] == new and what(event)
                return e.until(fits)

            got = until(lambda event: event.json["status"] == "created")
            assert got.json == s.get("/v1/sessions/" + new).json, got
            append(s, new)
            until(lambda event: event.json["status"] == "active" and event.json["seq"] == 1)
            s.cli("end", new)
            until(lambda event: event.json["status"] == "closed")
            assert s.request("DELETE", "/v1/sessions/" + new).status == 200
            got = until(lambda event: event.event == "removed")
            assert got.json == {"session_id": new}, got


def test_end_of_a_session():
    """Its end is an event like others, and the stream goes on; a deleted session's stream ends with a word."""
    with Server() as s:
        sid = start(s, key="k")
        append(s, sid)
        with Stream(s, STREAM % sid) as e:
            read_to(e, 1)
            assert s.post("/v1/sessions/%s/close" % sid).status == 200
            got = e.until(lambda event: event and event.json["kind"] == "status")
            assert got.json["body"]["status"] == "closed", got
            assert s.post("/v1/sessions", {"scope": "nova", "id": sid, "mode": "resume"}).status == 200
            seq = append(s, sid)
            e.until(lambda event: event and event.id == str(seq))
            assert s.post("/v1/sessions/%s/close" % sid).status == 200
            assert s.request("DELETE", "/v1/sessions/" + sid).status == 200
            got = e.until(lambda event: event and event.event == "gone")
            assert got.json["code"] == "session.not_found", got
            try:
                raise AssertionError(e.next())
            except Ended as why:
                assert str(why) == "closed"
        assert s.get(STREAM % sid).status == 404  # where a browser stops coming back


def test_restart():
    """SIGTERM tells the readers to come back, cleanly; curl sees the end as an end."""
    with Server() as s:
        sid = start(s)
        append(s, sid, 2)
        curl = subprocess.Popen(["curl", "-sSN", "--max-time", str(int(DEADLINE)), s.url + STREAM % sid],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        got = b""
        while b"id: 2\n" not in got:
            got += os.read(curl.stdout.fileno(), 65536)
        streams = [Stream(s, STREAM % sid), Stream(s, "/v1/sessions/stream")]
        read_to(streams[0], 2)
        streams[1].next()
        s.process.send_signal(signal.SIGTERM)
        for e in streams:
            got_event = e.next()
            assert got_event.event == "restart" and got_event.json == {}, got_event
            try:
                raise AssertionError(e.next())
            except Ended as why:
                assert str(why) == "closed"
            e.close()
        assert s.wait() == 0
        out, err = curl.communicate(timeout=DEADLINE)
        assert curl.returncode == 0 and out.endswith(b"event: restart\ndata: {}\n\n"), (curl.returncode, out, err)
        s.start()
        with Stream(s, STREAM % sid, {"Last-Event-ID": "2"}) as e:
            append(s, sid)
            read_to(e, 3, 3)


if __name__ == "__main__":
    cases.main(globals())
