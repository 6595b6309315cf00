#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The store away, for real: a file system that is full, a process that may not write. What was acknowledged as durable
stays; what was acknowledged as memory comes in later, in order and once, or is told to be lost. And the numbers and
alert rules (O-07) by which somebody notices.

usage: server-degraded.py [NAME…]: only the tests whose names begin so
"""
import errno
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
import cases  # noqa: E402
from serve import DEADLINE, Server, wait_until  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
INSIDE = "REPRISE_TEST_MOUNTS"  # set once we are in a mount namespace of our own
DISK_BYTES = 6 * 1024 * 1024
BLOB = "x" * 6000


class SmallDisk:
    """A tmpfs that can be filled up. Only in a mount namespace of our own."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="rp-disk-")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % DISK_BYTES, "tmpfs", self.folder], check=True)
        self.filler = os.path.join(self.folder, "filler")

    def fill(self, server):
        with open(self.filler, "ab", buffering=0) as f:
            for size in (65536, 4096, 1):
                try:
                    while f.write(b"\0" * size) == size:
                        pass
                except OSError as e:
                    assert e.errno == errno.ENOSPC, e

    def empty(self, server):
        os.remove(self.filler)

    def close(self):
        subprocess.run(["umount", "-l", self.folder], check=True)
        os.rmdir(self.folder)

    code = "store.full"


class NoWriting:
    """The process may write no file at all (RLIMIT_FSIZE); SQLite calls that an error of the disk."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="rp-disk-")

    def fill(self, server):
        self.before = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1, self.before[1]))

    def empty(self, server):
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, self.before)

    def close(self):
        subprocess.run(["rm", "-rf", self.folder], check=True)

    code = "store.io"


class Rig:
    def __init__(self, disk=None, config=""):
        self.disk = (disk or (SmallDisk if os.environ.get(INSIDE) else NoWriting))()
        self.s = Server(db=os.path.join(self.disk.folder, "t.db"), config=config)

    def __enter__(self):
        self.s.start()
        got = self.s.post("/v1/sessions", {"scope": "degraded", "id": "one", "key": "one"})
        assert got.status == 201, got
        self.sent = 0
        self.stored = []
        return self

    def __exit__(self, *what):
        self.s.__exit__(*what)
        self.disk.close()

    def send(self, how="", n=1, pad=""):
        """Appends n notes with the next numbers; the answer."""
        numbers = range(self.sent, self.sent + n)
        self.sent += n
        events = [{"kind": "note", "body": {"id": str(i), "text": "n%d %s" % (i, pad)}} for i in numbers]
        got = self.s.post("/v1/sessions/one/events" + how, events if n > 1 else events[0])
        if got.status == 200:
            self.stored += numbers
        return got

    def fill(self):
        """Fills the disk, and what the write-ahead log still has room for."""
        self.disk.fill(self.s)
        last = wait_until(self.refused)
        assert last.json["code"] == self.disk.code, last
        assert int(last.headers["Retry-After"]) >= 1
        return last

    def refused(self):
        got = self.send(pad=BLOB)
        assert got.status in (200, 503), got
        return got if got.status == 503 else None

    def notes(self):
        """The numbers in the journal, in its order."""
        out, after = [], 0
        while after is not None:
            page = self.s.get("/v1/sessions/one/events?limit=1000&after=%d" % after).json
            out += [int(e["body"]["id"]) for e in page["events"] if e["kind"] == "note"]
            after = page["next_after"]
        return out

    def events(self, kind):
        return self.s.get("/v1/sessions/one/events?limit=10000&kind=" + kind).json["events"]

    def metric(self, name):
        return number(self.s.get("/metrics").text, name)

    def ready(self):
        got = self.s.get("/readyz")
        assert got.status == (200 if got.json["status"] == "ok" else 503), got
        return got.json


def number(text, name):
    return float(re.search(r"^%s (\S+)$" % re.escape(name), text, re.M).group(1))


def memory(answer):
    assert answer.status == 200 and answer.json["seq"] is None and answer.json["durability"] == "memory", answer
    return True


def run_full(disk=None):
    with Rig(disk) as x:
        s = x.s
        assert x.send().json["durability"] == "disk" and x.ready()["status"] == "ok"
        x.fill()

        # Reads go on.
        for path in ("", "/state", "/events", "/snapshots", "/brief"):
            assert s.get("/v1/sessions/one" + path).status == 200, path
        assert s.get("/v1/sessions").status == 200 and s.get("/healthz").status == 200
        ready = x.ready()
        assert ready["status"] == "degraded", ready
        store = ready["checks"]["store"]
        assert store["status"] == "away" and store["code"] == x.disk.code and store["since"].endswith("Z"), store
        assert s.db[len("sqlite:"):] not in str(ready)  # anybody may ask

        # Writes: not durable, so not acknowledged; or as memory, in that word.
        durable = len(x.notes())
        assert durable == len(x.stored)
        for i in range(10):
            memory(x.send("?durability=memory" if i % 2 else "?fallback=memory"))
        got = x.send("?fallback=memory", n=3)
        assert memory(got) and got.json["first_seq"] is None
        got = x.send()
        assert got.status == 503 and got.json["code"] == x.disk.code and "Retry-After" in got.headers, got
        bad = s.post("/v1/sessions/one/events?fallback=memory", {"kind": "message", "body": {"role": "x", "content": ""}})
        assert bad.status == 422 and bad.json["field"] == "body.role", bad
        # What the store would refuse is not kept to be lost later.
        note = {"kind": "note", "body": {"id": "never", "text": "never"}}
        fenced = s.post("/v1/sessions/one/events?fallback=memory&epoch=99", note)
        assert fenced.status == 409 and fenced.json["code"] == "session.fenced", fenced
        gap = s.post("/v1/sessions/one/events?fallback=memory&client_id=tab&client_seq=7", note)
        assert gap.status == 409 and gap.json["code"] == "event.client_gap" and gap.json["expected"] == 1, gap
        for path, body in (("/v1/sessions", {"scope": "degraded"}), ("/v1/sessions/one/close", {})):
            got = s.post(path, body)
            assert got.status == 503 and "Retry-After" in got.headers, (path, got)
        assert x.notes() == x.stored[:durable]
        assert x.ready()["checks"]["store"]["waiting_events"] == 13
        text = s.get("/metrics").text
        assert number(text, "reprise_store_away") == 1 and number(text, "reprise_spill_events") == 13
        assert number(text, "reprise_spill_accepted_total") == 13 and number(text, "reprise_spill_stored_total") == 0
        assert number(text, "reprise_spill_refused_total") >= 1 and number(text, "reprise_spill_bytes") > 0

        # Back: in order, once, and the journal tells of the window.
        x.disk.empty(s)
        wait_until(lambda: x.ready()["status"] == "ok")
        assert x.notes() == x.stored
        marks = wait_until(lambda: x.events("x-degraded"))
        assert len(marks) == 1 and marks[0]["body"]["events"] == 13, marks
        assert marks[0]["body"]["stored"] == 13 and marks[0]["body"]["lost"] == 0, marks
        assert marks[0]["body"]["since"] <= marks[0]["body"]["until"] and marks[0]["body"]["bytes"] > 0, marks
        got = x.send()
        assert got.status == 200 and got.json["durability"] == "disk" and x.notes() == x.stored
        text = s.get("/metrics").text
        assert number(text, "reprise_store_away") == 0 and number(text, "reprise_spill_events") == 0
        assert number(text, "reprise_spill_stored_total") == 13 and number(text, "reprise_spill_lost_total") == 0
        assert number(text, "reprise_store_away_windows_total") >= 1
        assert [line for line in s.log if "event=store_away" in line] and s.wait_log("event=store_back")
        assert s.stop() == 0, list(s.log)
        assert not s.cli("verify", check=False).returncode


def test_disk_full():
    run_full()


def test_process_may_not_write():
    run_full(NoWriting)


def test_killed_while_full():
    """What was memory is lost with the process, as the word says; what was durable is not."""
    with Rig() as x:
        x.send(n=5)
        x.fill()
        durable = list(x.stored)
        for _ in range(5):
            memory(x.send("?fallback=memory"))
        x.s.kill()
        x.disk.empty(x.s) if isinstance(x.disk, SmallDisk) else None
        x.s.start()
        assert x.notes() == durable
        assert x.send().status == 200


def test_stopped_while_full():
    """What can't be stored at the end is counted, and told without its content."""
    with Rig() as x:
        x.fill()
        for _ in range(4):
            memory(x.send("?durability=memory", pad="hush-hush"))
        assert x.s.stop() == 1
        wait_until(lambda: x.s._closed)
        text = "\n".join(x.s.log)
        assert re.search(r"level=error event=events_lost session=one events=4 ", text), text
        assert re.search(r"event=stopped lost=4", text), text
        assert "4 events that were accepted as memory could not be stored" in text and "hush-hush" not in text, text


def test_stopped_when_there_is_room_again():
    with Rig() as x:
        x.fill()
        for _ in range(4):
            memory(x.send("?fallback=memory"))
        x.disk.empty(x.s)
        assert x.s.stop() == 0, list(x.s.log)
        x.s.start()
        assert x.notes() == x.stored


def test_memory_is_bounded():
    with Rig(config="spill_bytes = 20000\n") as x:
        x.fill()
        kept = 0
        while True:
            got = x.send("?fallback=memory", pad="y" * 1000)
            if got.status != 200:
                break
            kept += memory(got)
        assert 5 <= kept <= 20, kept
        assert got.status == 503 and got.json["code"] == x.disk.code and "Retry-After" in got.headers, got
        assert x.metric("reprise_spill_bytes") <= 20000 == x.metric("reprise_spill_limit_bytes")
        x.disk.empty(x.s)
        wait_until(lambda: x.ready()["status"] == "ok")
        assert x.notes() == x.stored


def test_nobody_writes_and_it_is_ready_again():
    """A balancer that takes a degraded server out must get it back without having to write."""
    with Rig() as x:
        x.fill()
        assert x.ready()["status"] == "degraded"
        x.disk.empty(x.s)
        wait_until(lambda: x.ready()["status"] == "ok")
        assert not [n for n in os.listdir(x.disk.folder) if n.endswith(".probe")]


# ---- numbers ----


def check_exposition(text):
    """What promtool would say of Prometheus' text format: lines that can't be read, and families that are not whole."""
    label = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
    sample = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(\{%s(?:,%s)*,?\})? (-?[0-9.]+(?:e[+-]?[0-9]+)?|[+-]Inf|NaN)" % (label, label))
    kinds, helped, seen, done, current = {}, set(), set(), set(), None
    assert text.endswith("\n")
    for line in text[:-1].split("\n"):
        if line.startswith("#"):
            word, name, rest = re.fullmatch(r"# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)", line).groups()
            if name != current:
                assert name not in done, "the family %s comes twice" % name
                done.add(current)
                current = name
            if word == "TYPE":
                assert name not in kinds and rest in ("counter", "gauge", "histogram"), line
                kinds[name] = rest
            else:
                assert name not in helped, line
                helped.add(name)
            continue
        found = sample.fullmatch(line)
        assert found, "no sample: %r" % line
        name = found.group(1)
        family = re.sub(r"_(bucket|sum|count)$", "", name) if kinds.get(current) == "histogram" else name
        assert family == current and family in kinds and family in helped, "%r stands outside its family" % line
        assert (name, found.group(2)) not in seen, "%r comes twice" % line
        seen.add((name, found.group(2)))
        assert kinds[family] != "counter" or name.endswith("_total"), "the counter %s has no _total" % name
    return kinds


def test_metrics():
    with Server() as s:
        s.post("/v1/sessions", {"scope": "numbers", "id": "one"})
        s.get("/nowhere")
        for path in ("/v1/sessions", "/nowhere"):  # an answer is counted when it is out, and then logged
            s.wait_log("path=%s " % path)
        got = s.get("/metrics")
        assert got.status == 200 and got.headers["Content-Type"].startswith("text/plain; version=0.0.4"), got
        kinds = check_exposition(got.text)
        for name in ("reprise_http_requests_total", "reprise_http_answers_total", "reprise_http_connections",
                     "reprise_http_pending", "reprise_server_sockets", "reprise_server_channels", "reprise_server_agents",
                     "reprise_server_subscriptions", "reprise_server_deliveries_total", "reprise_server_held_back_total",
                     "reprise_server_work_runs_total", "reprise_server_pool_waiting", "reprise_server_registry_entries",
                     "reprise_store_away", "reprise_spill_events", "reprise_sessions", "reprise_checkpoints_total",
                     "process_start_time_seconds", "process_resident_memory_bytes", "process_open_fds"):
            assert name in kinds, name
        assert number(got.text, "reprise_http_requests_total") == 3
        assert number(got.text, 'reprise_http_answers_total{class="2xx"}') == 1
        assert number(got.text, 'reprise_http_answers_total{class="4xx"}') == 1
        assert number(got.text, "process_resident_memory_bytes") > 1e6
        assert abs(number(got.text, "process_open_fds") - len(os.listdir("/proc/%d/fd" % s.pid))) < 8  # connections come and go


def test_alert_rules():
    """Every rule is whole, and the metrics it watches exist."""
    with Server() as s:
        kinds = check_exposition(s.get("/metrics").text)
    with open(os.path.join(HERE, "..", "..", "..", "share", "reprise-alerts.yml"), encoding="utf-8") as f:
        text = f.read()
    assert "\t" not in text
    rules = text.split("      - alert: ")[1:]
    names = [rule.split("\n")[0] for rule in rules]
    assert len(set(names)) == len(names) and all(re.fullmatch(r"Reprise[A-Z]\w+", n) for n in names), names
    for rule in rules:
        for part in (r"\n        expr: \S", r"\n        for: \d+[mhs]\n", r"\n          severity: (warning|critical)\n",
                     r"\n          summary: \".+\"\n", r"\n          description: \".+\""):
            assert re.search(part, rule), (part, rule)
        expr = re.search(r"expr: (.+)", rule).group(1)
        assert expr.count("(") == expr.count(")") and expr.count("{") == expr.count("}"), expr
        used = set(re.findall(r"\b(?:reprise|process)_\w+", expr))
        assert used and used <= set(kinds), (expr, used - set(kinds))
    watched = set(re.findall(r"\breprise_\w+", text))
    assert {"reprise_store_away", "reprise_spill_lost_total", "reprise_spill_bytes", "reprise_http_answers_total",
            "reprise_background_runs_total", "reprise_server_work_runs_total"} <= watched, watched


def main():
    if os.geteuid() == 0 and INSIDE not in os.environ:
        # A mount namespace of our own: what is mounted there is seen by nobody else, and goes with us.
        can = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False)
        if can.returncode == 0:
            os.environ[INSIDE] = "1"
            os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])
        print("note: no file system can be mounted here; a limit stands for the full disk", flush=True)
    signal.alarm(int(DEADLINE * 10))
    cases.main(globals())


if __name__ == "__main__":
    main()
