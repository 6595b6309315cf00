#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The server's life: starting, stopping, being replaced, being killed, and what it tells systemd and the log.

usage: server-life.py [NAME…]: only the tests whose names begin so
"""
import fcntl
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
import cases  # noqa: E402
from serve import DEADLINE, Server, wait_until  # noqa: E402
from phx import Phoenix  # noqa: E402
from ws import CLOSE, WebSocket  # noqa: E402

MESSAGE = {"kind": "message", "body": {"role": "user", "content": "crumb"}}


def path_of(server):
    return server.db[len("sqlite:"):]


def append(server, key, n=1, connection=None):
    answer = server.post("/v1/sessions/%s/events" % key, [MESSAGE] * n, connection=connection)
    assert answer.status == 201 or answer.status == 200, answer
    return answer.json["seq"]


def messages(server, key):
    return server.cli("log", key, "--json", "--limit", "1000000").count('"crumb"')


def begin(server, key="crumbs"):
    answer = server.post("/v1/sessions", {"scope": "life", "key": key})
    assert answer.status in (200, 201), answer
    return answer.json["session_id"]


def open_stream(server, key):
    """An SSE connection whose head has been read."""
    s = server.socket()
    s.sendall(b"GET /v1/sessions/%s/events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n" % key.encode())
    got = b""
    while b"\r\n\r\n" not in got:
        part = s.recv(4096)
        assert part, got
        got += part
    assert got.startswith(b"HTTP/1.1 200"), got
    return s, got


def read_to_end(s):
    got = b""
    while True:
        try:
            part = s.recv(65536)
        except ConnectionResetError:
            return got
        if not part:
            return got
        got += part


# ---- starting ----


def test_start_tells_where_it_listens():
    with Server() as s:
        assert re.search(r"level=info event=starting version=\S+ db=%s$" % re.escape(path_of(s)), s.log[0]), s.log[0]
        assert re.fullmatch(r"127\.0\.0\.1:[1-9]\d*", s.address), s.address
        assert s.get("/healthz").status == 200
        assert s.get("/readyz").status == 200
        assert s.stop() == 0
        assert re.search("event=stopped", s.log[-1]), s.log[-1]


def test_json_log():
    with Server(args=["--log-format", "json", "--log-level", "debug"]) as s:
        assert s.get("/healthz").status == 200
        assert s.stop() == 0
        lines = [json.loads(line) for line in s.log]
        events = [line["event"] for line in lines]
        assert {"starting", "listening", "ready", "request", "stopped"} <= set(events), events
        assert all(line["time"].endswith("Z") and line["level"] for line in lines)
        assert [line["status"] for line in lines if line["event"] == "request"] == [200]


def test_access_log_can_be_off():
    with Server(args=["--access-log", "off", "-v"]) as s:
        assert s.get("/healthz").status == 200
        assert s.stop() == 0
        assert not [line for line in s.log if "event=request" in line], list(s.log)


def test_several_listeners_and_unix_sockets():
    folder = tempfile.mkdtemp(prefix="rp-life-")
    path = os.path.join(folder, "web")
    with Server(listen="unix:" + path, args=["--listen", "127.0.0.1:0"]) as s:
        assert s.address == "unix:" + path and len(s.addresses) == 2, s.addresses
        assert stat.S_IMODE(os.lstat(path).st_mode) == 0o600
        assert s.get("/healthz").status == 200
        s.address = s.addresses[1]
        assert s.get("/healthz").status == 200
        assert s.stop() == 0
        assert not os.path.exists(path)
    os.rmdir(folder)


def test_address_in_use():
    with Server() as s:
        other = Server(listen=s.address)
        other.start(wait=False)
        assert other.wait() == 7
        text = "\n".join(other.log)
        assert "reprise-serve: somebody else listens on " + s.address in text and "--replace" in text, text
        assert s.get("/healthz").status == 200


def test_wrong_words():
    s = Server()
    for args, code, word in (
        (["--listen", "127.0.0.1:70000"], 2, "port"), (["--threads", "none"], 2, "threads"),
        (["--lissten", "1"], 2, "--listen"), (["--db", "mysql:x"], 2, "mysql:x"),
        (["--db", "sqlite:/dev/null/x.db"], None, "/dev/null"), (["--log-level"], 2, "needs a value"),
    ):
        got = subprocess.run([s.program, "--listen", "127.0.0.1:0", *args], env=s.env, capture_output=True, text=True, timeout=DEADLINE)
        assert got.returncode == code or (code is None and got.returncode > 0), (args, got)
        assert got.stderr.splitlines()[-1].startswith(("reprise-serve: ", "  hint: ")) and word in got.stderr, (args, got)
    for word in ("--help", "--version"):
        got = subprocess.run([s.program, word], env=s.env, capture_output=True, text=True, timeout=DEADLINE)
        assert got.returncode == 0 and "reprise" in got.stdout and not got.stderr, got
    s.env["REPRISE_QUEUE_BYTES"] = "1"
    got = subprocess.run([s.program, "--listen", "127.0.0.1:0"], env=s.env, capture_output=True, text=True, timeout=DEADLINE)
    assert got.returncode == 2 and "queue_bytes" in got.stderr, got


def test_a_clock_that_was_set():
    with Server(env={"REPRISE_NOW": "2026-03-03T18:30:00Z"}) as s:
        begin(s)
        assert '"2026-03-03T18:3' in s.get("/v1/sessions/crumbs").text


def test_off_loopback_without_a_token_is_told():
    """C-02: nothing is sent to it; it only says that nobody could use it."""
    with Server(listen="*:0") as s:
        s.wait_log("event=no_token .*reprise token create")
        s.stop()
        s.cli("token", "create", "--name", "laptop")
        s.log.clear()
        s.start()
        assert not [line for line in s.log if "no_token" in line]


# ---- stopping ----


def test_stop_answers_what_is_in_flight():
    """All that was acknowledged is there; sockets are told to come back; streams end; nobody is waited for."""
    with Server() as s:
        begin(s)
        stream, _ = open_stream(s, "crumbs")
        web = WebSocket(s.socket(), "localhost", "/socket/websocket?vsn=2.0.0")
        idle, loris = s.socket(), s.socket()
        loris.sendall(b"POST /v1/sessions/crumbs/events HTTP/1.1\r\nHost: localhost\r\nContent-Le")
        acknowledged, stop = [0] * 8, threading.Event()

        def write(i):
            while not stop.is_set():
                try:
                    append(s, "crumbs")
                except (OSError, AssertionError):
                    return
                acknowledged[i] += 1

        writers = [threading.Thread(target=write, args=(i,)) for i in range(len(acknowledged))]
        for w in writers:
            w.start()
        wait_until(lambda: sum(acknowledged) > 100)
        s.process.send_signal(signal.SIGTERM)
        assert web.message() is None and web.close_code == 1012, web.close_code
        assert s.wait() == 0, list(s.log)
        stop.set()
        for w in writers:
            w.join()
        assert read_to_end(stream).count(b"crumb") > 0
        assert read_to_end(idle) == b""
        assert sum(acknowledged) <= messages(s, "crumbs") <= sum(acknowledged) + len(acknowledged)
        assert not os.path.exists(path_of(s) + ".serve")
        assert re.search("event=stopped lost=0", s.log[-1]), s.log[-1]
        loris.close()


def leave_many(s, sockets, each):
    """Joins sockets * each sessions and leaves them all; returns their number once the server knows."""
    many = [Phoenix(s) for _ in range(sockets)]
    for k, one in enumerate(many):
        waiting = {one.say("session:m%d-%d" % (k, i), "phx_join", {"scope": "life"}) for i in range(each)}
        while waiting:
            message = json.loads(one.message())
            if message[3] == "phx_reply":
                assert message[4]["status"] == "ok", message
                waiting.discard(message[1])
    for one in many:
        one.send(b"\x03\xe8", CLOSE)
    wait_until(lambda: metric(s, "reprise_server_sockets") == 0)
    for one in many:
        one.sock.close()
    return sockets * each


def metric(s, name):
    return float(re.search(r"^%s (\S+)$" % re.escape(name), s.get("/metrics").text, re.M).group(1))


def count(s, status):
    return int(re.search(r'^reprise_sessions\{status="%s"\} (\d+)$' % status, s.cli("stats", "--metrics"), re.M).group(1))


def test_many_leave_at_once():
    with Server(args=["--access-log", "off"], config="leave_s = 1\n") as s:
        n = leave_many(s, 6, 100)
        wait_until(lambda: metric(s, "reprise_server_sessions_leaving") == 0)
        assert metric(s, 'reprise_server_sessions_left_total{result="closed"}') == n
        assert metric(s, 'reprise_server_work_runs_total{job="leaving",result="failed"}') == 0
        assert s.stop() == 0
        assert count(s, "closed") == n


def test_a_browser_that_stops_a_worker_ends_no_session():
    """L-08: 1001 is a lost connection; leaving is 1000, no code, or a word. L-02: a join says how long to wait."""
    with Server(config="leave_s = 0\n") as s:
        ends = {"worker": b"\x03\xe9", "left": b"\x03\xe8", "bare": b"", "kept": b"\x03\xe8", "said": b"\x03\xe9"}
        for name, code in ends.items():
            with Phoenix(s) as p:
                p.join("session:" + name, {"scope": "life", **({"leave_s": 3600} if name == "kept" else {})})
                for wrong in (-1, 3601, "1", 1e300):
                    status, why = p.ask("session:" + name + "-x", "phx_join", {"leave_s": wrong})
                    assert status == "error" and why["field"] == "leave_s", (wrong, why)
                if name == "said":
                    p.say("session:said", "phx_leave", {})
                p.send(code, CLOSE)
                p.message()
        wait_until(lambda: all(s.get("/v1/sessions/" + name).json["status"] == "closed" for name in ("left", "bare", "said")))
        wait_until(lambda: metric(s, "reprise_server_sessions_leaving") == 1)
        assert [s.get("/v1/sessions/" + name).json["ended_at"] for name in ("worker", "kept")] == [None, None]
        with Phoenix(s) as p:  # the worker is started again
            assert p.join("session:worker", {"scope": "life"})["resumed"]


def test_a_budget_that_comes_close_is_told():
    """L-12: in each acknowledgement, and to those connected once, from budget_warn on; then comes the refusal."""
    with Server(config="[scope lab]\nbudget_usd = 1\n") as s, Phoenix(s) as one, Phoenix(s) as two:
        for p in (one, two):
            p.join("session:trial", {"scope": "lab"})

        def append(kind, body, want=200):
            got = s.post("/v1/sessions/trial/events", {"kind": kind, "body": body})
            assert got.status == want, got
            return got.json

        said = {"role": "user", "content": "one more"}
        append("usage", {"cost_usd": 0.5})
        assert "budget_share" not in append("message", said)
        append("usage", {"cost_usd": 0.35})
        told = append("message", said)
        assert abs(told["budget_share"] - 0.85) < 1e-9, told
        status, reply = one.ask("session:trial", "event", {"kind": "message", "body": said})
        assert status == "ok" and abs(reply["budget_share"] - 0.85) < 1e-9, reply
        assert abs(json.loads(s.cli("append", "trial", "message", json.dumps(said), "--json"))["budget_share"] - 0.85) < 1e-9

        def heard(p):
            p.ask("session:trial", "ping", {})
            return [m[4] for m in p.others if m[3] == "budget"]

        for p in (one, two):
            wait_until(lambda: heard(p))  # noqa: B023
            append("message", said)
            got = heard(p)
            assert len(got) == 1 and got[0]["session_id"] == "trial" and abs(got[0]["share"] - 0.85) < 1e-9, got
        # A budget that is raised is far away again, and comes close again.
        append("session", {"settings": {"budget_usd": 10}})
        assert "budget_share" not in append("message", said)
        append("usage", {"cost_usd": 8})
        assert append("message", said)["budget_share"] > 0.8
        for p in (one, two):
            wait_until(lambda: len(heard(p)) == 2)  # noqa: B023
        append("usage", {"cost_usd": 5})
        assert append("message", said, 429)["code"] == "limit.budget"


def test_stop_closes_what_was_left():
    """Who left in the grace before the end has left; what can't be closed in time is counted."""
    with Server(args=["--access-log", "off"], config="leave_s = 3600\n") as s:
        n = leave_many(s, 4, 100)
        assert metric(s, "reprise_server_sessions_leaving") == n
        assert s.stop() == 0
        told = [int(m.group(1)) for m in (re.search(r"event=left_open sessions=(\d+)", line) for line in s.log) if m]
        assert count(s, "closed") > 0
        assert count(s, "closed") + sum(told) == n, (told, n)


def test_takeover_leaves_grace_to_those_who_left():
    with Server(args=["--access-log", "off"], config="leave_s = 3600\n") as s:
        n = leave_many(s, 1, 3)
        new = Server(db=s.db, listen=None, args=["--replace"]).start()
        assert s.wait() == 0
        assert [line for line in s.log if "event=left_open sessions=%d " % n in line], list(s.log)
        assert count(s, "closed") == 0
        assert new.stop() == 0


def test_draining_is_not_ready():
    with Server() as s:
        one, two = s.connect(), s.connect()
        assert s.get("/readyz", connection=one).status == 200
        assert s.get("/healthz", connection=two).status == 200
        s.process.send_signal(signal.SIGTERM)
        s.wait_log("event=stopping")
        answer = s.get("/readyz", connection=one)
        assert answer.status == 503 and answer.headers.get("Connection") == "close", answer
        assert s.wait() == 0


def test_second_signal_hurries():
    """A client that asked for something and takes its time with the body would be waited for."""
    with Server() as s:
        slow = s.socket()
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert slow.recv(4096).startswith(b"HTTP/1.1 200")
        s.process.send_signal(signal.SIGINT)
        s.wait_log("event=stopping")
        s.process.send_signal(signal.SIGTERM)
        assert s.wait() == 0


def test_hangup_is_told():
    with Server() as s:
        s.process.send_signal(signal.SIGHUP)
        s.wait_log("name=SIGHUP")
        assert s.get("/healthz").status == 200


def test_killed_and_back():
    """kill -9 in mid-stream: the same port, at once, and all that was acknowledged."""
    with Server() as s:
        begin(s)
        count = 0
        connection = s.connect()
        for _ in range(50):
            append(s, "crumbs", connection=connection)
            count += 1
        address = s.address
        s.kill()
        assert os.path.exists(path_of(s) + ".serve")  # stale
        s.listen = address
        s.log.clear()
        s.start()
        assert s.address == address
        assert not [line for line in s.log if "no_control_socket" in line], list(s.log)
        assert messages(s, "crumbs") == count
        append(s, "crumbs")
        assert messages(s, "crumbs") == count + 1


# ---- being replaced ----


def test_a_dead_owner_is_not_active():
    """L-05: whoever asks is told the same, before anybody has recovered the session."""
    with Server() as s:
        owner = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        sid = s.post("/v1/sessions", {"scope": "life", "owner": owner.pid}).json["session_id"]
        append(s, sid)

        def statuses():
            one = s.get("/v1/sessions/" + sid).json
            yield one["status"], one.get("run_dead", False)
            for status in ("active", "idle"):
                for session in s.get("/v1/sessions?scope=life&status=" + status).json["sessions"]:
                    assert session["status"] == status, session
                    yield session["status"], session.get("run_dead", False)
            yield s.get("/v1/sessions/%s/state" % sid).json["session"]["status"], json.loads(
                s.cli("show", sid, "--json")).get("run_dead", False)
            for line in s.cli("ls", "--scope", "life", "--json").splitlines():
                document = json.loads(line)
                for session in document.get("sessions", [document]) if isinstance(document, dict) else document:
                    yield session["status"], session.get("run_dead", False)

        for _ in range(2):
            assert list(statuses()) == [("active", False)] * 4, list(statuses())
        owner.kill()
        owner.wait()
        assert list(statuses()) == [("idle", True)] * 4, list(statuses())
        assert s.post("/v1/sessions", {"scope": "life"}).json["crash_recovered"] == [sid]
        assert s.get("/v1/sessions/" + sid).json["status"] == "closed"


def test_takeover_refuses_nobody():
    """Three servers follow one another while clients connect and ask as fast as they can: not one failure."""
    server = Server()
    server.start()
    begin(server)
    failures, asked, stop = [], [0, 0, 0], threading.Event()

    def client(i):
        while not stop.is_set():
            try:
                if i < 2:
                    answer = server.get("/v1/sessions/crumbs")
                    assert answer.status == 200, answer
                else:
                    append(server, "crumbs")
            except Exception as why:  # whatever it is, it is a failure
                failures.append(repr(why))
                return
            asked[i] += 1

    clients = [threading.Thread(target=client, args=(i,)) for i in range(len(asked))]
    for c in clients:
        c.start()
    servers = [server]
    try:
        for _ in range(3):
            before = list(asked)
            wait_until(lambda: failures or all(n > b + 20 for n, b in zip(asked, before)))
            old = servers[-1]
            web = WebSocket(old.socket(), "localhost", "/socket/websocket?vsn=2.0.0")
            new = Server(db=server.db, listen=None, args=["--replace"])
            new.env["REPRISE_HOME"] = server.env["REPRISE_HOME"]
            servers.append(new.start())
            new.wait_log("event=took_over from=")  # now: the log keeps so many lines, and requests make thousands
            assert new.address == server.address, (new.address, server.address)
            assert web.message() is None and web.close_code == 1012
            assert old.wait() == 0, list(old.log)
        before = list(asked)
        wait_until(lambda: failures or all(n > b + 20 for n, b in zip(asked, before)))
    finally:
        stop.set()
        for c in clients:
            c.join()
    assert not failures, failures
    last = servers[-1]
    assert messages(server, "crumbs") == asked[2]
    assert last.stop() == 0
    assert not os.path.exists(path_of(server) + ".serve")


def test_replace_without_anybody():
    with Server(args=["--replace"]) as s:
        assert s.get("/healthz").status == 200
        assert not [line for line in s.log if "took_over" in line]


def test_replace_that_fails_changes_nothing():
    with Server() as s:
        new = Server(db=s.db, listen=None, args=["--replace"], env={"REPRISE_INTERNAL_SECRET_FILE": "/dev/null/x"})
        new.start(wait=False)
        assert new.wait() != 0
        assert s.get("/healthz").status == 200
        assert s.process.poll() is None
        good = Server(db=s.db, listen=None, args=["--replace"]).start()
        assert s.wait() == 0
        assert good.get("/healthz").status == 200
        assert good.stop() == 0


def test_second_server_is_refused():
    """It would take the agents and members of the first for gone."""
    with Server() as one:
        two = Server(db=one.db)
        two.start(wait=False)
        pid = one.process.pid
        assert two.wait() == 4, list(two.log)
        text = "\n".join(two.log)
        assert "pid %d" % pid in text and "hint: --replace" in text, text
        begin(one)
        append(one, "crumbs")
        assert messages(one, "crumbs") == 1
        assert os.path.exists(path_of(one) + ".serve")
        assert one.stop() == 0
        assert two.start().stop() == 0


def test_a_link_to_the_database_is_the_database():
    """A second server by another name of the same file is refused, and leaves nothing beside that name."""
    with Server() as s, tempfile.TemporaryDirectory(prefix="rp-link-") as folder:
        link = os.path.join(folder, "l.db")
        os.symlink(path_of(s), link)
        second = Server(db=link)
        second.start(wait=False)
        assert second.wait() == 4, list(second.log)
        assert "already" in "\n".join(second.log), list(second.log)
        assert begin(s)
        assert s.cli("--db", "sqlite:" + link, "ls", "--all").count("life"), "the same sessions by either name"
        assert os.listdir(folder) == ["l.db"], os.listdir(folder)


def test_a_start_that_hangs_is_told_of():
    """Anybody can lock a folder that he can read, which delays nobody; a server that hangs while it starts ends the wait."""
    with tempfile.TemporaryDirectory(prefix="rp-lock-") as folder:
        s = Server(db=os.path.join(folder, "t.db"))
        place = os.open(folder, os.O_RDONLY)
        fcntl.flock(place, fcntl.LOCK_EX)
        with s:
            assert begin(s)
        os.close(place)
        second = Server(db=os.path.join(folder, "t.db"))
        with open(os.path.join(folder, "t.db.runs"), "r+b") as runs:
            fcntl.lockf(runs, fcntl.LOCK_EX, 1, 2)  # as a server does while it looks for another
            second.start(wait=False)
            assert second.wait() == 7, list(second.log)
        assert "starting on this database" in "\n".join(second.log), list(second.log)
        assert second.start().stop() == 0


def test_of_those_that_start_at_once_one_serves():
    with Server() as s:
        s.stop()
        many = [Server(db=s.db) for _ in range(4)]
        for one in many:
            one.start(wait=False)
        wait_until(lambda: sum(one.process.poll() is not None for one in many) == len(many) - 1)
        living = [one for one in many if one.process.poll() is None][0]
        living.wait_log("event=ready")
        assert [one.wait() for one in many if one is not living] == [4] * (len(many) - 1)
        assert living.stop() == 0


def test_memory_databases_are_nobody_elses():
    with Server(db="memory:") as one, Server(db="memory:") as two:
        assert one.get("/healthz").status == two.get("/healthz").status == 200


# ---- systemd ----


def test_socket_activation():
    """Sockets are passed from descriptor 3 on, as systemd does; they are still there when the server is gone."""
    s = Server(listen=None)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        launcher = ("import os, sys\nos.dup2(int(sys.argv[1]), 3)\nos.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))\n"
                    "os.execv(sys.argv[2], sys.argv[2:])\n")
        program = s.program
        for _ in range(2):
            s.log.clear()
            s.address, s.addresses, s._closed = None, [], False
            s.process = subprocess.Popen(
                [sys.executable, "-c", launcher, str(listening.fileno()), program], env=s.env, stdin=subprocess.DEVNULL,
                pass_fds=[listening.fileno()], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            s._reader = threading.Thread(target=s._read_log, args=(s.process,), daemon=True)
            s._reader.start()
            try:
                # A client may come before the server does.
                with socket.create_connection(("127.0.0.1", port), DEADLINE) as early:
                    early.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    assert read_to_end(early).startswith(b"HTTP/1.1 200")
                s.wait_log("event=ready")
                assert s.address == "127.0.0.1:%d" % port
                assert s.stop() == 0
            finally:
                s.kill()


def test_notices_to_systemd():
    folder = tempfile.mkdtemp(prefix="rp-life-")
    path = os.path.join(folder, "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
        notices.bind(path)
        notices.settimeout(DEADLINE)
        with Server(env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "1000000"}) as s:
            first = notices.recv(4096).decode().split("\n")
            assert first[0] == "READY=1" and first[1] == "STATUS=serving on " + s.address, first
            for _ in range(2):
                assert notices.recv(4096) == b"WATCHDOG=1"
            s.process.send_signal(signal.SIGTERM)
            while True:
                got = notices.recv(4096)
                if got != b"WATCHDOG=1":
                    break
            assert got.startswith(b"STOPPING=1\n"), got
            assert s.wait() == 0
    os.remove(path)
    os.rmdir(folder)


# ---- the log ----


def test_no_secret_in_the_log():
    """Neither queries nor headers nor bodies are logged, also not at debug."""
    secrets = ["rpt_aaaaaaaa_" + "S" * 43, "hush-hush-secret", "body-of-a-message", "rps_" + "T" * 43]
    with Server(args=["-v"], env={"INTERNAL_SECRET": secrets[1] * 3}) as s:
        begin(s)
        s.get("/healthz?token=" + secrets[0])
        s.get("/internal/session?id=x&secret=" + secrets[1])
        s.get("/v1/sessions", headers={"Authorization": "Bearer " + secrets[3]})
        s.post("/v1/sessions/crumbs/events", {"kind": "message", "body": {"role": "user", "content": secrets[2]}})
        s.post("/v1/sessions/crumbs/events", '{"kind":"%s' % secrets[2])
        s.get("/v1/search?q=" + secrets[2])
        s.get("/%s%%0Aevent=forged" % "x" * 30)
        assert s.stop() == 0
        text = "\n".join(s.log)
        assert text.count("event=request") >= 6, text
        for secret in secrets:
            assert secret not in text, text
        assert all(re.match(r"time=\S+Z level=(error|warn|info|debug) event=\w+( |$)", line) for line in s.log), text


if __name__ == "__main__":
    cases.main(globals())
