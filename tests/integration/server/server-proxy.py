#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The TLS recipe of docs/operations.md, taken from there word for word: nginx in front, HTTP, event streams and WebSockets.

C-02: who comes through a proxy is nobody's local and needs a token. Exits 77 where there is no nginx or openssl.
"""
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "lib"))
from serve import DEADLINE, Server, wait_until  # noqa: E402
from ws import WebSocket  # noqa: E402

NAME = "sessions.example.org"
NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def recipe(folder, upstream):
    """The block of the documentation, with the places of this test put in; each must be there to be replaced."""
    with open(os.path.join(here, "..", "..", "..", "docs", "operations.md"), encoding="utf-8") as f:
        block = re.search(r"^```nginx\n(.*?)^```$", f.read(), re.S | re.M).group(1)
    for old, new in (
        ("listen 443 ssl;", "listen unix:%s/tls ssl;" % folder),
        ("/etc/ssl/certs/%s.pem" % NAME, folder + "/cert.pem"),
        ("/etc/ssl/private/%s.key" % NAME, folder + "/key.pem"),
        ("/var/log/nginx/reprise.log", folder + "/access.log"),
        ("http://127.0.0.1:7377", "http://" + upstream),
    ):
        assert block.count(old) == 1, old
        block = block.replace(old, new)
    return block


class Proxy:
    def __init__(self, upstream):
        self.folder = tempfile.mkdtemp(prefix="rp-proxy-")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=" + NAME,
                        "-addext", "subjectAltName=DNS:" + NAME, "-keyout", self.folder + "/key.pem",
                        "-out", self.folder + "/cert.pem"], check=True, capture_output=True, timeout=DEADLINE)
        temp = "".join("  %s_temp_path %s/%s;\n" % (what, self.folder, what)
                       for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open(self.folder + "/nginx.conf", "w", encoding="utf-8") as f:
            f.write("daemon off;\nmaster_process off;\npid %s/pid;\nerror_log %s/error.log;\nevents {}\nhttp {\n%s%s}\n" % (
                self.folder, self.folder, temp, recipe(self.folder, upstream)))
        self.process = subprocess.Popen([NGINX, "-p", self.folder, "-e", self.folder + "/error.log",
                                         "-c", self.folder + "/nginx.conf"], stderr=subprocess.DEVNULL)
        self.tls = ssl.create_default_context(cafile=self.folder + "/cert.pem")
        wait_until(lambda: self.process.poll() is not None or os.path.exists(self.folder + "/tls"))
        assert self.process.poll() is None, open(self.folder + "/error.log").read()

    def connect(self):
        raw = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        raw.settimeout(DEADLINE)
        raw.connect(self.folder + "/tls")
        return self.tls.wrap_socket(raw, server_hostname=NAME)

    def request(self, method, path, body=None, token=None):
        connection = http.client.HTTPConnection(NAME)
        connection.sock = self.connect()
        headers = {"Authorization": "Bearer " + token} if token else {}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text)

    def log(self):
        with open(self.folder + "/access.log", encoding="utf-8") as f:
            return f.read()

    def close(self):
        self.process.terminate()
        self.process.wait(DEADLINE)
        shutil.rmtree(self.folder, ignore_errors=True)


def check_http(proxy, token):
    status, answer = proxy.request("POST", "/v1/sessions", {"scope": "tls", "key": "far"})
    assert status == 401, (status, answer)
    status, answer = proxy.request("POST", "/v1/sessions", {"scope": "tls", "key": "far"}, token)
    assert status == 201, (status, answer)
    body = {"kind": "message", "body": {"role": "user", "content": "x" * 200000}}
    status, answer = proxy.request("POST", "/v1/sessions/far/events", body, token)
    assert status in (200, 201) and answer["durability"] == "disk", (status, answer)


def check_stream(proxy, token):
    """An event appended later arrives at once: nothing on the way holds it back."""
    s = proxy.connect()
    s.sendall(("GET /v1/sessions/far/events/stream?token=%s HTTP/1.1\r\nHost: %s\r\n\r\n" % (token, NAME)).encode())
    got = b""
    while b"\r\n\r\n" not in got:
        got += s.recv(65536)
    assert got.startswith(b"HTTP/1.1 200") and b"text/event-stream" in got, got[:500]
    for i in range(3):
        word = "live-%d" % i
        event = {"kind": "message", "body": {"role": "user", "content": word}}
        assert proxy.request("POST", "/v1/sessions/far/events", event, token)[0] in (200, 201)
        while word.encode() not in got:
            part = s.recv(65536)
            assert part, got[-500:]
            got += part
    s.close()


def check_socket(proxy, token):
    web = WebSocket(proxy.connect(), NAME, "/socket/websocket?vsn=2.0.0&token=" + token)
    web.send('[null,"1","phoenix","heartbeat",{}]')
    reply = json.loads(web.message())
    assert reply[1:4] == ["1", "phoenix", "phx_reply"] and reply[4]["status"] == "ok", reply
    return web


def main():
    if not NGINX or not shutil.which("openssl"):
        print("no nginx or openssl here")
        sys.exit(77)
    with Server(config="allowed_hosts = %s\ntrusted_proxies = 127.0.0.1\n" % NAME) as server:
        token = server.cli("token", "create", "--name", "far").strip()
        proxy = Proxy(server.address)
        try:
            check_http(proxy, token)
            check_stream(proxy, token)
            web = check_socket(proxy, token)
            wait_until(lambda: "events/stream" in proxy.log())
            assert server.stop() == 0
            assert web.message() is None and web.close_code == 1012, web.close_code
            wait_until(lambda: "/socket/websocket" in proxy.log())
            assert token not in proxy.log() and "token=" not in proxy.log(), proxy.log()
            assert token not in "\n".join(server.log)
        finally:
            proxy.close()
    print("ok  HTTP, event streams and WebSockets through nginx with TLS")


if __name__ == "__main__":
    main()
