# SPDX-License-Identifier: Apache-2.0
"""A server's routes as /openapi.json describes them, and curl: every answer is checked against the description."""
import json
import re
import subprocess
import tempfile

import jsonschema

from serve import DEADLINE, Answer

MESSAGE = {"kind": "message", "body": {"role": "user", "content": "where do the otters live?"}}
METHODS = ("get", "post", "put", "patch", "delete")


def curl(server, method, target, body=None, headers=()):
    """What curl makes of it. The target goes out as it is."""
    with tempfile.NamedTemporaryFile(dir=server.folder) as head, tempfile.NamedTemporaryFile(dir=server.folder) as got:
        command = ["curl", "-sS", "--globoff", "--path-as-is", "--max-time", str(int(DEADLINE)), "-D", head.name,
                   "-o", got.name, server.url + target]
        command += ["-I"] if method == "HEAD" else ["-X", method]
        for header in headers:
            command += ["-H", header]
        if body is not None:
            command += ["--data-binary", "@-"]
        run = subprocess.run(command, input=body, capture_output=True, timeout=DEADLINE + 10, check=False)
        if run.returncode:
            raise AssertionError("curl %s %s: %s" % (method, target, run.stderr.decode()))
        lines = head.read().decode("latin-1").split("\r\n")
        while "HTTP/1.1 100" in lines[0]:
            lines = lines[lines.index("") + 1:]
        fields = {}
        for line in lines[1:]:
            if ":" in line:
                name, value = line.split(":", 1)
                fields[name.strip().title()] = value.strip()
        # With -I curl writes the head where the body would go.
        return Answer(int(lines[0].split()[1]), fields, b"" if method == "HEAD" else got.read())


class Api:
    """The server's routes as it describes them itself, and what was seen of them."""

    def __init__(self, doc):
        self.doc = doc
        self.seen = set()  # (method, path, status, code or None)
        self.resolver = jsonschema.RefResolver.from_schema(doc)

    def operations(self):
        for path, item in self.doc["paths"].items():
            for method in METHODS:
                if method in item:
                    yield method.upper(), path, item[method]

    def operation(self, method, path):
        return self.doc["paths"][path]["get" if method == "HEAD" else method.lower()]

    def codes(self, method, path):
        return {c for r in self.operation(method, path)["responses"].values() for c in r.get("x-codes", [])}

    def validate(self, value, schema):
        validator = jsonschema.Draft202012Validator(schema, resolver=self.resolver)
        for error in validator.iter_errors(value):
            raise AssertionError("%s: %s\n%s" % ("/".join(map(str, error.absolute_path)), error.message,
                                                 json.dumps(value)[:2000]))

    def check(self, method, path, answer):
        """The answer is one of those that the description has for this route."""
        response = self.operation(method, path)["responses"].get(str(answer.status))
        assert response, "%s %s: %r is not described" % (method, path, answer)
        content = {k.split(";")[0]: v for k, v in response.get("content", {}).items()}
        if not content and answer.status in (202, 204):
            assert not answer.body, "%s %s: %r has a body" % (method, path, answer)
        else:
            assert answer.type in content, "%s %s: %r is of a type that is not described" % (method, path, answer)
        code = None
        if method != "HEAD" and answer.type.endswith("json") and answer.type != "application/x-ndjson":
            self.validate(answer.json, content[answer.type]["schema"])
        if method != "HEAD" and answer.type == "application/problem+json":
            code = answer.json["code"]
            assert code in response["x-codes"], "%s %s: %s is not among its codes" % (method, path, code)
            assert answer.json["status"] == answer.status
            if answer.status in (429, 503):
                assert int(answer.headers["Retry-After"]) > 0
            if answer.status == 401:
                assert "Bearer" in answer.headers["Www-Authenticate"]
        self.seen.add((method, path, answer.status, code))
        return answer


class Client:
    def __init__(self, server, api=None, headers=()):
        self.server, self.headers = server, list(headers)
        self.api = api or Api(curl(server, "GET", "/openapi.json").json)

    def ask(self, method, path, want, body=None, code=None, field=None, query="", headers=(), **params):
        """One request by curl: `path` as described, its parameters by name; the status and code that are wanted."""
        target = re.sub(r"\{(\w+)\}", lambda m: str(params.get(m.group(1), "1")), path) + ("?" + query if query else "")
        headers = self.headers + list(headers)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.append("Content-Type: application/json")
        answer = curl(self.server, method, target, body, headers)
        where = "%s %s: %r" % (method, target, answer)
        assert answer.status == want, "not %d: %s" % (want, where)
        self.api.check(method, path, answer)
        if code:
            assert answer.json["code"] == code, "not %s: %s" % (code, where)
        if field is not None:
            assert answer.json.get("field") == field, "not the field %s: %s" % (field, where)
        return answer

    def start(self, want=201, **members):
        return self.ask("POST", "/v1/sessions", want, dict({"scope": "otters"}, **members)).json

    def append(self, sid, body=None, want=200, **more):
        return self.ask("POST", "/v1/sessions/{id}/events", want, MESSAGE if body is None else body, id=sid, **more)
