#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An agent that survives kill -9. It talks on the terminal and runs shell commands; its memory is Reprise.

  examples/agent.py                      talk to it; "$ COMMAND" runs one; the end of the input ends the session
  $ kill -9 $PPID                        said to it: the tool kills the agent. Start it again: it knows what it was doing

A model makes it think; any server with /chat/completions does (Ollama, llama.cpp, a vendor with a key):

  MODEL_URL=http://127.0.0.1:11434/v1 MODEL=llama3.2 examples/agent.py

Without one it only remembers: it answers with what you said before. Everything else is the same.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request

BUILT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "src", "cli", "reprise")
REPRISE = shutil.which("reprise") or BUILT
KEY = os.environ.get("AGENT_KEY", "agent")
OUTPUT_MAX = 20000  # characters of a command's output that are kept
STEPS_MAX = 20  # commands in a row that a model may run
RULES = ("You are an agent on a Linux machine. To run a shell command, answer with one line that begins with '$ ' and nothing "
         "else; its output is the next message. Otherwise answer in plain words.")


def reprise(*words, text=""):
    done = subprocess.run([REPRISE, "--json", *words], input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)


def append(kind, **body):
    """Once this returns, the event is on the disk."""
    return reprise("append", KEY, kind, "-", text=json.dumps(body))


def say(role, text):
    append("message", role=role, content=text)
    if role in ("assistant", "system"):
        print("agent: " + text, flush=True)


def messages():
    return reprise("state", KEY)["conversation"]["messages"]


def run(command):
    """A tool. The ledger has it before it runs: whoever comes back after a crash sees that its outcome is unknown."""
    call = "call-%d" % reprise("show", KEY)["seq"]
    append("tool", call_id=call, name="shell", status="running", input={"command": command})
    done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    output = (done.stdout + done.stderr)[:OUTPUT_MAX].rstrip() or "(no output, exit code %d)" % done.returncode
    append("tool", call_id=call, name="shell", status="done", output=output)
    return output


def think(talk):
    """What to say next, given everything that was said."""
    if "MODEL_URL" not in os.environ:
        return recall(talk)
    said = [{"role": m["role"] if m["role"] == "assistant" else "user", "content": m["content"]} for m in talk]
    body = {"model": os.environ.get("MODEL", ""), "messages": [{"role": "system", "content": RULES}, *said]}
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ.get("MODEL_KEY", "none")}
    request = urllib.request.Request(os.environ["MODEL_URL"] + "/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]["content"].strip()


def words(message):
    return set(re.findall(r"\w+", message["content"].lower()))


def recall(talk):
    """Without a model: what the person said before that shares most words with the question."""
    if talk[-1]["role"] == "tool":
        return talk[-1]["content"]
    before = [m for m in talk[:-1] if m["role"] == "user" and not m["content"].startswith("$ ")]
    best = max(before, key=lambda m: len(words(m) & words(talk[-1])), default=None)
    return 'you told me: "%s"' % best["content"] if best and words(best) & words(talk[-1]) else "I will remember that."


def turn(text):
    say("user", text)
    for _ in range(STEPS_MAX):
        if text.startswith("$ "):
            say("tool", run(text[2:]))
        text = think(messages())
        say("assistant", text)
        if not text.startswith("$ "):
            return


def begin():
    """Begins a session, or comes back to the one whose agent died: Reprise watches over our process."""
    start = reprise("start", "--scope", "examples", "--key", KEY, "--owner", str(os.getpid()))
    if not start["resumed"]:
        print("(a new session)", flush=True)
        return
    state = reprise("state", KEY)
    print("(back after a %s, with %d messages)" % (start["restart"]["cause"], len(state["conversation"]["messages"])), flush=True)
    for tool in state.get("tools", []):
        if tool["status"] == "unknown":
            # The model reads it too, before it does anything else.
            say("system", "I was cut off while running `%s`: look before it is repeated." % tool["input"]["command"])


def lines():
    """What the person says. A terminal shows it by itself, behind a prompt."""
    terminal = sys.stdin.isatty()
    while True:
        if terminal:
            print("you: ", end="", flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        if not terminal:
            print("you: " + line.strip(), flush=True)
        if line.strip():
            yield line.strip()


def main():
    begin()
    for line in lines():
        turn(line)
    reprise("end", KEY)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        # No end: the session is open, and the next start comes back to it.
        print("\n(interrupted; start me again to go on)")
        sys.exit(130)
