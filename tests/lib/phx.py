# SPDX-License-Identifier: Apache-2.0
"""A client of channels for tests that want to see each message: version 2 of the Phoenix protocol over ws.py."""
import json

from ws import WebSocket

PATH = "/socket/websocket?vsn=2.0.0"


class Phoenix(WebSocket):
    def __init__(self, server, path=PATH, headers=None, sock=None, host="localhost"):
        super().__init__(sock or server.socket(), host, path, headers)
        self.ref, self.others = 0, []  # messages that were no replies

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.sock.close()

    def say(self, topic, event, payload, join_ref="1"):
        """Sends; returns the ref."""
        self.ref += 1
        self.send(json.dumps([join_ref, str(self.ref), topic, event, payload]))
        return str(self.ref)

    def hear(self, ref):
        """The reply to that: its status and response; None when the socket was closed."""
        while True:
            text = self.message()
            if text is None:
                return None, None
            message = json.loads(text)
            if message[3] == "phx_reply" and message[1] == ref:
                return message[4]["status"], message[4]["response"]
            self.others.append(message)

    def ask(self, topic, event, payload, join_ref="1"):
        return self.hear(self.say(topic, event, payload, join_ref))

    def join(self, topic, payload=None, join_ref="1"):
        status, response = self.ask(topic, "phx_join", payload or {}, join_ref)
        if status is None:
            raise ConnectionError("closed with %s %s" % (self.close_code, self.close_reason))
        if status == "error" and response.get("retryable"):  # the server stops; the stock client would come again
            raise ConnectionError("%s: %s" % (topic, response))
        assert status == "ok", (topic, status, response)
        return response
