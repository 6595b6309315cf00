# SPDX-License-Identifier: Apache-2.0
"""A WebSocket client as small as can be (RFC 6455), over any connected socket: for tests that want to see each frame."""
import base64
import os
import struct

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class WebSocket:
    def __init__(self, sock, host, path, headers=None):
        key = base64.b64encode(os.urandom(16)).decode()
        lines = ["GET %s HTTP/1.1" % path, "Host: %s" % host, "Upgrade: websocket", "Connection: Upgrade",
                 "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: " + key]
        lines += ["%s: %s" % item for item in (headers or {}).items()]
        self.sock, self.rest, self.close_code, self.close_reason = sock, b"", None, ""
        sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        head = self._until(b"\r\n\r\n")
        self.status = int(head.split()[1])
        if self.status != 101:
            raise ConnectionError("no WebSocket: %s" % head.decode("latin1").split("\r\n")[0])

    def _more(self):
        part = self.sock.recv(65536)
        if not part:
            raise ConnectionError("the other end is gone")
        self.rest += part

    def _until(self, mark):
        while mark not in self.rest:
            self._more()
        found, self.rest = self.rest.split(mark, 1)
        return found

    def _take(self, n):
        while len(self.rest) < n:
            self._more()
        found, self.rest = self.rest[:n], self.rest[n:]
        return found

    def frame(self):
        """The next frame: its opcode and payload."""
        first, second = self._take(2)
        n = second & 127
        if n == 126:
            n = struct.unpack(">H", self._take(2))[0]
        elif n == 127:
            n = struct.unpack(">Q", self._take(8))[0]
        return first & 15, self._take(n)

    def message(self):
        """The next text or binary message; None once the other end has closed (close_code)."""
        while True:
            opcode, payload = self.frame()
            if opcode == PING:
                self.send(payload, PONG)
            elif opcode == CLOSE:
                self.close_code = struct.unpack(">H", payload[:2])[0] if payload else 1005
                self.close_reason = payload[2:].decode()
                try:
                    self.send(payload[:2], CLOSE)
                except OSError:
                    pass  # it did not wait for the answer
                return None
            elif opcode in (TEXT, BINARY):
                return payload.decode() if opcode == TEXT else payload

    def send(self, payload, opcode=TEXT):
        payload = payload.encode() if isinstance(payload, str) else payload
        mask, n = os.urandom(4), len(payload)
        head = bytes([0x80 | opcode])
        if n < 126:
            head += bytes([0x80 | n])
        elif n < 65536:
            head += bytes([0x80 | 126]) + struct.pack(">H", n)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", n)
        self.sock.sendall(head + mask + bytes(b ^ mask[i & 3] for i, b in enumerate(payload)))
