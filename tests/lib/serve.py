# SPDX-License-Identifier: Apache-2.0
"""A server for a test: starts the real program on a scratch database, knows its address, ends it.

    from serve import Server
    with Server() as s:
        answer = s.post("/v1/sessions", {"scope": "nova"})
        assert answer.status == 201, answer.text
        s.cli("log", answer.json["session_id"])

Programs under test: $REPRISE_SERVE and $REPRISE. Traffic stays on loopback, on a port of the kernel's
choice. Every wait has a deadline. Tests in bash have serve.sh.
"""
import atexit
import collections
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

DEADLINE = float(os.environ.get("REPRISE_TEST_DEADLINE", "60"))  # seconds for anything that should be quick
LOG_LINES = 5000  # of stderr that are kept

_running = set()


def _end_all():
    for server in list(_running):
        server.kill()


atexit.register(_end_all)


class Answer:
    """status, headers (case does not matter), body (bytes), text, json."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def type(self):
        return (self.headers.get("Content-Type") or "").split(";")[0].strip()

    def __repr__(self):
        return "<%d %s %s>" % (self.status, self.type, self.text[:600])


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def wait_until(what, seconds=DEADLINE, step=0.01):
    """Polls until what() is true and returns it; fails the test after the deadline."""
    end = time.monotonic() + seconds
    while True:
        got = what()
        if got:
            return got
        if time.monotonic() > end:
            raise AssertionError("waited %g s in vain for %s" % (seconds, getattr(what, "__name__", what)))
        time.sleep(step)


class Server:
    """db: a path or URL (default: a new file in a scratch folder). args: further options. env: further environment.
    listen: an address, where not one of the kernel's choice. config: lines of an INI file."""

    def __init__(self, db=None, args=(), env=None, listen="127.0.0.1:0", config=None):
        self.program = os.environ.get("REPRISE_SERVE") or sys.exit("REPRISE_SERVE: the program under test")
        self.reprise = os.environ.get("REPRISE")
        self.folder = tempfile.mkdtemp(prefix="rp-serve-")
        atexit.register(shutil.rmtree, self.folder, True)
        db = db or os.path.join(self.folder, "test.db")
        self.db = db if ":" in db else "sqlite:" + db
        self.args, self.listen = list(args), listen
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("REPRISE_") or k.startswith("REPRISE_TEST_")}
        for name in ("INTERNAL_SECRET", "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID"):
            self.env.pop(name, None)
        self.env.update(REPRISE_HOME=os.path.join(self.folder, "home"), REPRISE_DB=self.db)
        if config is not None:
            self.env["REPRISE_CONFIG"] = os.path.join(self.folder, "reprise.ini")
            with open(self.env["REPRISE_CONFIG"], "w", encoding="utf-8") as f:
                f.write(config)
        self.env.update(env or {})
        self.process = self.address = self.exit_code = None
        self.addresses = []
        self.log = collections.deque(maxlen=LOG_LINES)
        self._news = threading.Condition()
        self._closed = False
        self._reader = None

    # ---- life ----

    def start(self, wait=True):
        """Starts it; with `wait`, returns once it listens. May be called again after stop or kill."""
        self._read_all()
        self.log.clear()  # what the one before said is no word of this one
        command = [self.program, *(["--listen", self.listen] if self.listen else []), *self.args]
        self.address, self.addresses, self.exit_code, self._closed = None, [], None, False
        self.process = subprocess.Popen(
            command, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        _running.add(self)
        self._reader = threading.Thread(target=self._read_log, args=(self.process,), daemon=True)
        self._reader.start()
        if wait:
            self.wait_log(r"event\W{1,3}ready", "the server to be ready")
        return self

    def _read_log(self, process):
        for raw in process.stderr:
            line = raw.decode("utf-8", "replace").rstrip("\n")
            with self._news:
                self.log.append(line)
                if re.search(r"event\W{1,3}listening", line):
                    found = re.search(r'address"?[=:]\s*"?([^\s",}]+)', line)
                    if found:
                        self.addresses.append(found.group(1))
                        self.address = self.address or found.group(1)
                self._news.notify_all()
        process.stderr.close()
        with self._news:
            self._closed = True
            self._news.notify_all()

    def _read_all(self):
        if self._reader:
            self._reader.join(DEADLINE)

    def wait_log(self, pattern, what=None, seconds=DEADLINE):
        """The first line of the log, so far or to come, in which the pattern is found."""
        found = []

        def there():
            found[:] = [line for line in self.log if re.search(pattern, line)]
            return found or self._closed

        with self._news:
            self._news.wait_for(there, seconds)
        if not found:
            raise AssertionError("waited in vain for %s; the log:\n%s" % (what or pattern, "\n".join(self.log)))
        return found[0]

    def stop(self, sig=signal.SIGTERM, seconds=DEADLINE):
        """Asks it to end and returns its exit code; one that does not end in time is killed, and the test fails."""
        if self.process is None:
            return self.exit_code
        self.process.send_signal(sig)
        return self.wait(seconds)

    def wait(self, seconds=DEADLINE):
        try:
            self.exit_code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("the server did not end in %g s; the log:\n%s" % (seconds, "\n".join(self.log)))
        _running.discard(self)
        self.process = None
        self._reader.join(seconds)  # its last words too
        return self.exit_code

    def kill(self):
        """kill -9."""
        if self.process is not None:
            self.process.kill()
            self.exit_code = self.process.wait()
            self.process = None
            self._read_all()
        _running.discard(self)

    def __enter__(self):
        return self if self.process else self.start()

    def __exit__(self, *what):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def pid(self):
        return self.process.pid

    @property
    def port(self):
        return int(self.address.rsplit(":", 1)[1])

    @property
    def url(self):
        return "http://" + self.address

    # ---- talking to it ----

    def connect(self, seconds=DEADLINE):
        """A new connection (http.client)."""
        if self.address.startswith("unix:"):
            return UnixConnection(self.address[5:], seconds)
        host, port = self.address.rsplit(":", 1)
        return http.client.HTTPConnection(host.strip("[]"), int(port), timeout=seconds)

    def request(self, method, path, body=None, headers=None, connection=None):
        """One request. A body of bytes goes out as it is, a str as UTF-8, anything else as JSON. With `connection`
        that one is used and stays open."""
        headers = dict(headers or {})
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        if isinstance(body, str):
            body = body.encode()
        used = connection or self.connect()
        try:
            used.request(method, path, body=body, headers=headers)
            got = used.getresponse()
            return Answer(got.status, got.headers, got.read())
        finally:
            if used is not connection:
                used.close()

    def get(self, path, headers=None, **more):
        return self.request("GET", path, headers=headers, **more)

    def post(self, path, body=None, headers=None, **more):
        return self.request("POST", path, body, headers, **more)

    def raw(self, data, seconds=DEADLINE):
        """Sends bytes on a new connection and returns all that comes back until the other end closes."""
        with self.socket(seconds) as s:
            s.sendall(data)
            out = b""
            while True:
                try:
                    part = s.recv(65536)
                except ConnectionResetError:
                    return out
                if not part:
                    return out
                out += part

    def socket(self, seconds=DEADLINE):
        """A connected socket."""
        if self.address.startswith("unix:"):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            s.settimeout(seconds)
            s.connect(self.address[5:])
            return s
        host, port = self.address.rsplit(":", 1)
        return socket.create_connection((host.strip("[]"), int(port)), seconds)

    def cli(self, *args, check=True, stdin=None):
        """Runs the command line on the same database; returns its standard output."""
        got = subprocess.run([self.reprise, *args], env=self.env, input=stdin, capture_output=True, text=True,
                             timeout=DEADLINE, check=False)
        if check and got.returncode:
            raise AssertionError("reprise %s: exit %d: %s" % (" ".join(args), got.returncode, got.stderr))
        return got.stdout if check else got

