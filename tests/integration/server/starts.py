#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Many start one session at the same moment: by the command line (processes), and by a server (its threads). Each then
writes under the epoch it was given. Two things hold whatever the order (B-05): an epoch of a session is given to one start,
and one that is over never writes again, so the epochs in the journal never go down. tests/integration/store/starts.c has the same
for threads of one program.

usage: starts.py      20 rounds of each; 1,000 with REPRISE_SOAK=1; REPRISE_ROUNDS above both; REPRISE_SEED plays one again
"""
import concurrent.futures
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
import cases  # noqa: E402
from serve import DEADLINE, Server  # noqa: E402

STARTERS = 12
SCOPE, KEY = "z", "k"


def rounds():
    soak = os.environ.get("REPRISE_SOAK", "0") not in ("", "0")
    return int(os.environ.get("REPRISE_ROUNDS") or (1000 if soak else 20))


def dice():
    seed = int(os.environ.get("REPRISE_SEED") or random.randrange(1 << 32))
    print("# REPRISE_SEED=%d" % seed)
    return random.Random(seed)


def event(epoch, n):
    return {"kind": "x-said", "body": {"epoch": epoch, "n": n}}


def check(journal, given, refused):
    """journal: its events in order. given: of each start the session and the epoch. refused: epochs that were told so."""
    for sid in {s for s, _ in given}:
        epochs = [e for s, e in given if s == sid]
        assert len(epochs) == len(set(epochs)), "an epoch was given twice: %s" % sorted(epochs)
        said = [e["body"]["epoch"] for e in journal(sid) if e["kind"] == "x-said"]
        assert said == sorted(said), "an older epoch wrote after a newer one: %s" % said
        assert max(epochs) not in refused, "the newest epoch was refused"


# ---- processes ----

def command(server, *args):
    return subprocess.Popen([server.reprise, *args], env=server.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    out, err = process.communicate(timeout=DEADLINE)
    return process.returncode, out, err


def test_commands_that_start_one_session_at_once():
    server, d = Server(), dice()  # its folder and environment; no server runs
    writes = fenced = 0
    for _ in range(rounds()):
        words = ["start", "--scope", SCOPE, "--key", KEY, "--json"]
        started = [command(server, *words, *(["--force"] if d.random() < 0.5 else [])) for _ in range(STARTERS)]
        given, refused = [], set()
        for code, out, err in map(finish, started):
            assert code == 0, err
            doc = json.loads(out)
            given.append((doc["session_id"], doc["epoch"]))
        writers = []
        for n, (sid, epoch) in enumerate(d.sample(given, 4)):
            said = event(epoch, n)
            writers.append((epoch, command(server, "append", sid, said["kind"], json.dumps(said["body"]), "--epoch", str(epoch))))
        for epoch, process in writers:
            code, _, err = finish(process)
            writes += 1
            if code:
                assert "epoch" in err and "is over" in err, err
                refused.add(epoch)
                fenced += 1
        check(lambda sid: [json.loads(x) for x in server.cli("log", sid, "--json").splitlines()], given, refused)
        if d.random() < 0.3:  # else the next ones resume it
            server.cli("end", KEY)
    print("commands: %d starts, %d writes, %d of them fenced" % (rounds() * STARTERS, writes, fenced))


# ---- a server ----

def test_requests_that_start_one_session_at_once():
    d = dice()
    writes = fenced = 0
    with Server(args=["--access-log", "off"]) as server, \
            concurrent.futures.ThreadPoolExecutor(STARTERS) as pool:

        def start_and_write(n):
            answer = server.post("/v1/sessions", {"scope": SCOPE, "key": KEY})
            assert answer.status in (200, 201), answer
            sid, epoch = answer.json["session_id"], answer.json["epoch"]
            wrote = server.post("/v1/sessions/%s/events?epoch=%d" % (sid, epoch), event(epoch, n))
            assert wrote.status == 200 or wrote.json["code"] == "session.fenced", wrote
            return sid, epoch, wrote.status != 200

        for _ in range(rounds()):
            got = list(pool.map(start_and_write, range(STARTERS)))
            writes += len(got)
            fenced += sum(refused for _, _, refused in got)

            def journal(sid):
                events, after = [], 0
                while True:
                    page = server.get("/v1/sessions/%s/events?after=%d&limit=1000" % (sid, after)).json["events"]
                    if not page:
                        return events
                    events += page
                    after = page[-1]["seq"]

            check(journal, [(sid, epoch) for sid, epoch, _ in got], {epoch for _, epoch, refused in got if refused})
            if d.random() < 0.3:
                server.post("/v1/sessions/%s/close" % got[0][0])
    print("requests: %d starts, %d writes, %d of them fenced" % (writes, writes, fenced))


if __name__ == "__main__":
    cases.main(globals())
