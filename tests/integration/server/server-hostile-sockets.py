#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What hostile clients of channels and event streams can do to the server: nothing. Broken frames, messages that are none,
clients that do not read, too many of everything (L-01, L-03, L-10, C-06, X-13; HTTP itself: server-hostile.py).

usage: server-hostile-sockets.py [NAME…]: as server-hostile.py; REPRISE_SWARM is the load generator, REPRISE_CHANNELS how
many idle channels (500)
"""
import json
import os
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
import siege  # noqa: E402
import watch  # noqa: E402
from phx import Phoenix  # noqa: E402
from serve import DEADLINE, Server, wait_until  # noqa: E402
from siege import begin  # noqa: E402
from ws import BINARY, CLOSE, PING, TEXT, WebSocket  # noqa: E402

MIB = 1 << 20
MESSAGE_MAX = 4 * MIB
CHANNELS_MAX = 100
BEAT = b'[null,"1","phoenix","heartbeat",{}]'


def frame(opcode, payload=b"", fin=True, rsv=0, mask=True, length=None):
    """One frame, right or wrong; a mask of zeros leaves the payload as it is."""
    n = len(payload) if length is None else length
    head = bytes([(fin << 7) | (rsv << 4) | opcode])
    bit = mask << 7
    if n < 126:
        head += bytes([bit | n])
    elif n < 65536:
        head += bytes([bit | 126]) + struct.pack(">H", n)
    else:
        head += bytes([bit | 127]) + struct.pack(">Q", n)
    return head + (b"\0\0\0\0" if mask else b"") + payload


def in_channels(path="/socket/websocket?vsn=2.0.0", headers=None):
    return lambda s: WebSocket(s.socket(), "localhost", path, headers)


def closed_with(s, data, enter=in_channels()):
    web = enter(s)
    try:
        web.sock.sendall(data)
    except OSError:
        pass  # cut off in the middle of it
    try:
        while web.message() is not None:
            pass
    except OSError:
        return web.close_code or 1006
    finally:
        web.sock.close()
    return web.close_code


# ---- frames ----


BAD_FRAMES = {
    "unmasked": (frame(TEXT, BEAT, mask=False), 1002), "rsv1": (frame(TEXT, BEAT, rsv=4), 1002), "rsv2": (frame(TEXT, BEAT, rsv=2), 1002),
    "rsv3": (frame(TEXT, BEAT, rsv=1), 1002), "opcode 3": (frame(3, BEAT), 1002), "opcode 7": (frame(7), 1002), "opcode 11": (frame(11), 1002),
    "opcode 15": (frame(15), 1002), "long ping": (frame(PING, b"o" * 126), 1002), "ping in pieces": (frame(PING, b"o", fin=False), 1002),
    "close in pieces": (frame(CLOSE, b"\x03\xe8", fin=False), 1002), "close of one byte": (frame(CLOSE, b"\x03"), 1002),
    "close 1005": (frame(CLOSE, struct.pack(">H", 1005)), 1002), "close 0": (frame(CLOSE, b"\0\0"), 1002),
    "close 1015": (frame(CLOSE, struct.pack(">H", 1015)), 1002), "close 65535": (frame(CLOSE, b"\xff\xff"), 1002),
    "close, no UTF-8": (frame(CLOSE, b"\x03\xe8\xff\xfe"), 1007), "lone continuation": (frame(0, BEAT), 1002),
    "message in a message": (frame(TEXT, b"[", fin=False) + frame(TEXT, BEAT), 1002),
    "text, no UTF-8": (frame(TEXT, b'["1","1","phoenix","\xff",{}]'), 1007), "surrogate": (frame(TEXT, b'"\xed\xa0\x80"'), 1007),
    "overlong": (frame(TEXT, b'"\xc0\xae"'), 1007), "half a character": (frame(TEXT, b'"\xc3'), 1007),
    "half, then other": (frame(TEXT, b'"\xe2\x82', fin=False) + frame(0, b"x"), 1007),
    "4 MiB and a byte": (frame(TEXT, b" " * (MESSAGE_MAX + 1)), 1009), "the length": (frame(BINARY, b"o", length=MESSAGE_MAX + 1), 1009),
    "an exabyte": (frame(BINARY, b"o", length=1 << 60), 1009), "sign bit": (b"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff", (1002, 1009)),
    "pieces over 4 MiB": (frame(TEXT, b" " * MIB, fin=False) + frame(0, b" " * MIB, fin=False) * 4, 1009),
    "long form of 5": (b"\x81\xfe\x00\x05\0\0\0\0hello", (1002, 1003)),
}


def test_frames():
    """Every breach of RFC 6455 has its code, on channels and on the agents' socket."""
    with Server() as s, siege.unharmed(s):
        with open(os.path.join(s.folder, "internal-secret"), encoding="utf-8") as f:
            secret = f.read().strip()
        agent = in_channels("/internal/session?secret=" + secret)
        for name, (data, want) in BAD_FRAMES.items():
            codes = want if isinstance(want, tuple) else (want,)
            code = closed_with(s, data)
            assert code in codes, (name, code)
            if "long form" not in name and "MiB" not in name and "length" not in name:
                code = closed_with(s, data, agent)
                assert code in codes, ("agent", name, code)
        # What looks alike and is allowed.
        with Phoenix(s) as p:
            p.sock.sendall(frame(TEXT, BEAT[:7], fin=False) + frame(PING, b"?") + frame(0, b"", fin=False) + frame(0, BEAT[7:]))
            assert p.hear("1") == ("ok", {})
            p.sock.sendall(b"".join(frame(TEXT, bytes([c]), fin=False) if i == 0 else frame(0, bytes([c]), fin=i == len(BEAT) - 1)
                                    for i, c in enumerate(BEAT)))
            assert p.hear("1") == ("ok", {})


def test_drips_and_pings():
    """A frame that comes byte by byte, a flood of pings whose answers nobody reads, a close that is never answered."""
    with Server(env={"REPRISE_STALL_S": "1"}) as s, siege.unharmed(s):
        slow = Phoenix(s)
        for byte in frame(TEXT, BEAT):
            slow.sock.sendall(bytes([byte]))
        assert slow.hear("1") == ("ok", {})
        slow.sock.close()
        flood, sent = Phoenix(s, sock=siege.connect(s, rcvbuf=4096)), 0
        try:
            while sent < 64 * MIB:
                flood.sock.sendall(frame(PING, b"o" * 125) * 1000)
                sent += 131000
        except OSError:
            pass  # cut off
        flood.sock.close()
        rude = [Phoenix(s) for _ in range(20)]
        for p in rude:
            p.sock.sendall(frame(CLOSE, struct.pack(">H", 1000)) + frame(TEXT, BEAT) * 100)
        for p in rude:
            siege.read_all(p.sock)
            p.sock.close()


def test_handshakes():
    """No socket without a right handshake; what is refused is told."""
    good = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "b3R0ZXJzb3R0ZXJzb3R0ZQ=="}
    bad = ({"Connection": "close"}, {"Upgrade": "h2c"}, {"Sec-WebSocket-Version": "8"}, {"Sec-WebSocket-Key": "short"}, {"Sec-WebSocket-Key": "*" * 24},
           {"Sec-WebSocket-Key": "b3R0" * 1000}, {"Sec-WebSocket-Key": ""}, {"Sec-WebSocket-Version": ""})
    with Server() as s, siege.unharmed(s):
        for change in bad:
            answer = s.get("/socket/websocket?vsn=2.0.0", dict(good, **change))
            assert answer.status in (400, 426), (change, answer)
        for query in ("", "?vsn=1.0.0", "?vsn=3.0.0", "?vsn=", "?vsn=" + "2" * 300):
            answer = s.get("/socket/websocket" + query, good)
            assert answer.status == 400, (query, answer)
        assert s.post("/socket/websocket?vsn=2.0.0", {}, good).status == 405
        for token in ("rpt_" + "x" * 40, "x", "x" * 5000):
            assert s.get("/socket/websocket?vsn=2.0.0&token=" + token, good).status in (401, 400, 431), token


# ---- the protocol of channels ----


GARBAGE = (
    b"", b" ", b"hello", b"{}", b"[]", b"null", b"0", b"[1,2,3,4,5]", b'["1","1","phoenix","heartbeat"]', b'["1","1","phoenix","heartbeat",{},{}]',
    b'[1,1,"phoenix","heartbeat",{}]', b'["1",{},"phoenix","heartbeat",{}]', b'["1","1",null,"heartbeat",{}]', b'["1","1","phoenix",7,{}]',
    b'["1","1","","heartbeat",{}]', b'["1","1","phoenix","",{}]', b'["1","1","phoenix","heartbeat",{}', b'["1","1","phoenix","heartbeat",{}]]',
    b'["1","' + b"9" * 300 + b'","phoenix","heartbeat",{}]', b'["' + b"9" * 70000 + b'","1","phoenix","heartbeat",{}]',
    b'["1","1","' + b"t" * 256 + b'","phx_join",{}]', b'["1","1","a\\u0000b","phx_join",{}]', b"[" * 100000, b'["1","1","x","y",' + b"[" * 3000,
)
BINARY_GARBAGE = (b"", b"\0", b"\0\xff\xff\xff\xff", b"\0\x01\x01\x07\x04" + b"11phoenix", b"\x01\0\0\0\0", b"\x02\0\0", b"\xff" * 300,
                  b"\0\x01\x01\0\x0411beat", b"\0\x01\x01\x01\x0111t\0")


def test_garbage():
    """What is no message of the protocol closes that socket with 1003 and a reason."""
    with Server() as s, siege.unharmed(s):
        for opcode, texts in ((TEXT, GARBAGE), (BINARY, BINARY_GARBAGE)):
            for text in texts:
                code = closed_with(s, frame(opcode, text))
                assert code == 1003, (text[:60], code)
        assert siege.gauge(s, "reprise_server_bad_frames_total") == len(GARBAGE) + len(BINARY_GARBAGE)


def test_wrong_messages():
    """What is a message and makes no sense gets an error and nothing else happens."""
    with Server() as s, siege.unharmed(s), Phoenix(s) as p:
        for topic in ("nothing:1", "session", "phoenix", "session:", "session:../etc", "session:a/b", "session:" + "x" * 200, "session:é",
                      "sessions:..", "audio:", "room:lobby", "session:a b", "*"):
            status, response = p.ask(topic, "phx_join", {})
            assert status == "error" and response["reason"], (topic, status, response)
        for payload in ([], "x", 7, {"scope": 7}, {"scope": "../x"}, {"key": {}}, {"meta": "x"}, {"timestamp": "soon"}, {"after": "x"},
                        {"scope": "x" * 300}, {"after": -1e300}):
            status, response = p.ask("session:otters", "phx_join", payload)
            assert status == "error" and response["reason"], (payload, status, response)
        assert p.ask("session:none", "event", {})[0] == "error"
        assert p.ask("session:none", "phx_leave", {})[0] == "ok"
        p.join("session:otters", {"scope": "zoo"})
        right = {"kind": "x-a", "body": {}}
        for payload in ({}, [], "x", None, {"kind": "x-a"}, {"kind": 7, "body": {}}, {"kind": "nothing", "body": {}}, {"kind": "x-a", "body": []},
                        {"kind": "x-a", "body": "x"}, dict(right, at="soon"), dict(right, durability="forever"), dict(right, client_seq=1),
                        dict(right, client_id="a", client_seq=-1), dict(right, client_id="a", client_seq="1"), dict(right, client_id="a", client_seq=1.5),
                        dict(right, client_id="", client_seq=1), dict(right, client_id="x" * 300, client_seq=1), dict(right, client_id="a", client_seq=7),
                        dict(right, fallback="x"), {"kind": "message", "body": {"role": "king", "content": "x"}}):
            status, response = p.ask("session:otters", "event", payload)
            assert status == "error" and response["reason"] and response["message"], (payload, status, response)
        for event in ("no_such_event", "phx_close", "phx_error", "phx_reply", "x" * 255, "é"):
            assert p.ask("session:otters", event, {})[0] == "error", event
        for event in ("sync", "note", "transcript_final", "frame_embedding", "set_timestamp", "update_video_context"):
            assert p.ask("session:otters", event, {"timestamp": "x", "client_id": 7, "text": 7, "video_id": []})[0] == "error", event
        deep = '["1","900","session:otters","event",{"kind":"x-a","body":%s1%s}]' % ('{"a":' * 65, "}" * 65)
        twice = '["1","901","session:otters","event",{"kind":"x-a","body":{"a":1,"a":2}}]'
        for ref, text in (("900", deep), ("901", twice)):
            p.send(text)
            assert p.hear(ref)[0] == "error"
        assert p.ask("session:otters", "event", right)[1]["seq"] == 1, "something of it was stored"


def test_too_many_channels():
    """The 101st on one socket is refused; the others live, and one that leaves makes room."""
    with Server() as s, siege.unharmed(s), Phoenix(s) as p:
        for i in range(CHANNELS_MAX):
            p.join("session:c%d" % i)
        status, response = p.ask("session:more", "phx_join", {})
        assert (status, response) == ("error", {"reason": "too many channels joined"})
        p.join("session:c0")  # a rejoin is no other one
        assert p.ask("session:c1", "phx_leave", {})[0] == "ok"
        p.join("session:more")
        assert p.ask("session:c99", "event", {"kind": "x-a", "body": {}})[0] == "ok"


def test_join_storm():
    """The same topic joined and left again and again without waiting, and sockets that go in the middle of a join."""
    with Server(env={"REPRISE_LEAVE_S": "0"}) as s, siege.unharmed(s):
        with Phoenix(s) as p:
            refs = []
            for i in range(200):
                refs.append(p.say("session:storm", "phx_join", {"scope": "zoo"}, str(i)))
                if i % 3 == 0:
                    refs.append(p.say("session:storm", "phx_leave", {}, str(i)))
            last = p.ask("session:calm", "phx_join", {})
            assert last[0] == "ok", last
        for i in range(200):
            with Phoenix(s) as p:
                p.say("session:gone-%d" % (i % 20), "phx_join", {"scope": "zoo"})
        wait_until(lambda: siege.gauge(s, "reprise_server_sockets") == 0)


# ---- who does not read ----


def test_backpressure():
    """While the store takes nothing, a client hears how much waits; past 1,000 pushes are refused, and all others are done."""
    pushes = 1200
    with Server() as s, siege.unharmed(s), Phoenix(s) as p:
        p.join("session:loud", {"scope": "zoo"})
        with siege.held(s):
            refs = [p.say("session:loud", "event", {"kind": "x-a", "body": {"n": i}}) for i in range(pushes)]
            status, response = p.hear(refs[-1])
            assert status == "error" and response["reason"] == "limit.count" and response["retryable"], response
        levels = [m[4]["level"] for m in p.others if m[3] == "backpressure"]
        assert levels == ["warn", "critical"], levels
        assert p.hear(refs[999]) == ("ok", {"seq": 1000, "durability": "disk"})
        done = {m[1]: m[4]["status"] for m in p.others if m[3] == "phx_reply"}
        assert [done[ref] for ref in refs[:999] + refs[1000:-1]] == ["ok"] * 999 + ["error"] * (pushes - 1001)
        assert [m[4]["level"] for m in p.others if m[3] == "backpressure"][2:] == ["normal"]


def test_pushes_without_reading():
    """Pushes whose replies nobody reads: the socket ends; the others do not notice."""
    env = {"REPRISE_STALL_S": "1", "REPRISE_QUEUE_BYTES": "65536"}
    with Server(env=env, args=["--log-level", "debug"]) as s, siege.unharmed(s), Phoenix(s) as other:
        other.join("session:quiet", {"scope": "zoo"})
        p = Phoenix(s, sock=siege.connect(s, rcvbuf=4096))
        p.join("session:loud", {"scope": "zoo"})
        text = json.dumps(["1", "7", "session:loud", "event", {"kind": "x-a", "body": {"text": "o" * 2000}}]).encode()
        sent, end = 0, time.monotonic() + DEADLINE
        try:
            while time.monotonic() < end:
                p.sock.sendall(frame(TEXT, text) * 100)
                sent += 100
                if sent % 1000 == 0:
                    assert other.ask("session:quiet", "event", {"kind": "x-a", "body": {}})[0] == "ok"
            raise AssertionError("it was never cut off")
        except ConnectionError:
            pass  # cut off
        stored = s.get("/v1/sessions/loud").json["seq"]
        got = siege.read_all(p.sock)
        p.sock.close()
        print("  %d pushes sent, %d stored, %d KiB of answers taken" % (sent, stored, len(got) >> 10))
        s.wait_log("event=socket_closed code=1001")
        wait_until(lambda: siege.gauge(s, "reprise_server_sockets") == 1)


def test_stream_without_reading():
    """A stream that nobody reads is cut off after stall_s, memory stays bounded, other readers wait for nobody."""
    env = {"REPRISE_STALL_S": "1", "REPRISE_QUEUE_BYTES": "262144"}
    with Server(env=env) as s, siege.unharmed(s):
        sid = begin(s, "flow")
        deaf = [siege.stream(s, sid, rcvbuf=4096) for _ in range(20)]
        alert, connection = siege.stream(s, sid), s.connect()
        body = json.dumps({"kind": "x-a", "body": {"text": "o" * 20000}})
        most = 0
        for i in range(1, 401):
            assert siege.ask(s, "/v1/sessions/flow/events", body, connection).json["seq"] == i
            siege.read_until(alert, b"id: %d\n" % i)
            most = max(most, watch.rss(s.pid))
        s.wait_log("event=stream_closed .*(too long|timed out|taken)", "the deaf to be cut off")
        wait_until(lambda: siege.gauge(s, "reprise_server_streams") == 1)
        print("  20 deaf readers of %d MB each: at most %d MiB in use" % (400 * 20000 // 10**6, most >> 20))
        assert most < 128 * MIB or siege.is_sanitized(), most
        for x in deaf + [alert, connection]:
            x.close()


# ---- too many ----


def test_too_many_sockets():
    """max_connections counts sockets and streams too."""
    with Server(env={"REPRISE_MAX_CONNECTIONS": "50"}) as s, siege.unharmed(s):
        begin(s, "old")
        sockets, refused = [], 0
        for _ in range(60):
            try:
                sockets.append(Phoenix(s))
            except ConnectionError as why:
                assert "503" in str(why) or "429" in str(why), why
                refused += 1
        assert refused >= 10 and len(sockets) >= 40, (refused, len(sockets))
        for p in sockets:
            assert p.ask("phoenix", "heartbeat", {}, None) == ("ok", {})
            p.sock.close()
        wait_until(lambda: siege.gauge(s, "reprise_server_sockets") == 0)
        with Phoenix(s) as p:
            p.join("session:old", {"scope": "otters"})


def test_idle_channels():
    """Many channels that do nothing cost little, and the server goes on as if they were not there."""
    swarm, n = os.environ.get("REPRISE_SWARM"), int(os.environ.get("REPRISE_CHANNELS") or 500)
    stay = float(os.environ.get("REPRISE_STAY_S") or 0)
    if not swarm:
        print("  skipped: no load generator in REPRISE_SWARM")
        return
    with Server(args=["--access-log", "off"]) as s, siege.unharmed(s):
        s.get("/v1/sessions")
        before = watch.rss(s.pid)
        crowd = subprocess.Popen([swarm, s.address, "--channels", str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            joined = crowd.stdout.readline().split()
            assert joined[:2] == ["joined", str(n)], joined
            each = (watch.rss(s.pid) - before) / n
            end, most = time.monotonic() + stay, each
            while True:
                assert siege.gauge(s, "reprise_server_channels") == n
                with Phoenix(s) as p:
                    p.join("session:guest", {"scope": "zoo"})
                    assert p.ask("session:guest", "event", {"kind": "x-a", "body": {}})[0] == "ok"
                most = max(most, (watch.rss(s.pid) - before) / n)
                if time.monotonic() >= end:
                    break
                time.sleep(1)
            assert crowd.poll() is None
            share = watch.share(s.pid, 1)
            print("  idle channels: %d, joined in %s s, %.1f KiB each (at most %.1f), then %.1f %% of a core"
                  % (n, joined[5], each / 1024, most / 1024, share * 100))
            assert most < 16 * 1024 or n < 5000 or siege.is_sanitized(), most
        finally:
            crowd.kill()
            crowd.wait()
        wait_until(lambda: siege.gauge(s, "reprise_server_sockets") == 0)


if __name__ == "__main__":
    siege.main(globals())
