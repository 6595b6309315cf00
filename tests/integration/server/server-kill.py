#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A server that dies under load: 200 clients, half by HTTP and half by channels, write into a few sessions as fast as they
are acknowledged while it is killed (SIGKILL) again and again, asked to stop (SIGTERM), and replaced (--replace). At the end
the journals hold what was acknowledged, once, in each client's order (B-02, L-10, L-13).

usage: server-kill.py      5 kills; 200 with REPRISE_SOAK=1; REPRISE_ROUNDS above both; REPRISE_SEED plays one again
"""
import os
import random
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
from crowd import Crowd  # noqa: E402
from serve import Server  # noqa: E402

SESSIONS = 20
CLIENTS = int(os.environ.get("REPRISE_CLIENTS", "200"))
LONGEST_S = 0.5  # between some progress of everybody and the kill
LIMIT = 10_000_000


def rounds():
    soak = os.environ.get("REPRISE_SOAK", "0") not in ("", "0")
    return int(os.environ.get("REPRISE_ROUNDS") or (200 if soak else 5))


def hold_port():
    """A port that stays ours while no server listens on it: no other socket gets it by chance."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", 0))
    return s


def new_server(like, args=()):
    server = Server(db=like.db, listen=None if "--replace" in args else like.listen, args=["--access-log", "off", *args])
    server.env["REPRISE_HOME"] = like.env["REPRISE_HOME"]
    return server


def kill(server, crowd, dice):
    crowd.progress(1)
    time.sleep(dice.uniform(0, LONGEST_S))  # any moment
    server.kill()
    crowd.away()
    server.start()
    crowd.back()


def stop(server, crowd):
    """SIGTERM: what was acknowledged is stored, clients of channels hear 1012."""
    crowd.progress(1)
    before = crowd.counts["closed 1012"]
    code = server.stop()
    assert code == 0, (code, list(server.log))
    crowd.away()
    server.start()
    crowd.back()
    crowd.progress(1)
    assert crowd.counts["closed 1012"] > before, dict(crowd.counts)


def replace(server, crowd):
    """--replace: nobody is refused."""
    crowd.progress(1)
    refused = crowd.counts["refused"]
    new = new_server(server, ["--replace"]).start()
    code = server.wait()
    assert code == 0, (code, list(server.log))
    crowd.progress(3)
    assert crowd.counts["refused"] == refused, dict(crowd.counts)
    new.listen, new.args = server.listen, server.args  # should it be started again
    return new


def main():
    seed = int(os.environ.get("REPRISE_SEED") or random.SystemRandom().randrange(1 << 32))
    print("# REPRISE_SEED=%d" % seed, flush=True)
    dice, held, n = random.Random(seed), hold_port(), rounds()
    first = Server(listen="127.0.0.1:%d" % held.getsockname()[1], args=["--access-log", "off"])
    server = first.start()
    sessions = ["load-%d" % i for i in range(SESSIONS)]
    for name in sessions:
        answer = server.post("/v1/sessions", {"scope": "load", "id": name})
        assert answer.status == 201, answer
    crowd = Crowd(server.port, sessions, CLIENTS // 2, CLIENTS - CLIENTS // 2, seed)
    began = time.monotonic()
    crowd.start()
    for i in range(n):
        kill(server, crowd, dice)
        if i % 20 == 1:
            stop(server, crowd)
        if i % 20 == 2:
            server = replace(server, crowd)
    crowd.progress(1)
    crowd.stop()
    took = time.monotonic() - began
    assert server.stop() == 0
    events = crowd.verify(lambda session: first.cli("log", session, "--json", "--limit", str(LIMIT)))
    first.cli("verify")
    held.close()
    print("server kill: %d kills, %d clients, %d events, %.0f events/s, %d acknowledged again, %d connections lost, "
          "%d refused while it was away, %d times busy; nothing lost, nothing twice"
          % (n, CLIENTS, events, events / took, crowd.counts["repeats"], crowd.counts["lost"], crowd.counts["refused"],
             crowd.counts["busy"]))


if __name__ == "__main__":
    main()
