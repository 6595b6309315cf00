#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the documents true: what they say a command prints is what it prints.

usage: docs.py [--check]

A ```text block shows the output of the ```sh block before it. The sh blocks of a section (##) that has one are run in
their order, in the tree, on an empty store; ./dev is left out. The figures of the README come from docs/benchmarks.md, and docs/kill.svg
from the demo. All of it is written anew, or with --check compared. $REPRISE is the program (default: of build/).

Ids, milliseconds and process ids differ each time: they are cut to what stays.
"""
import html
import os
import pty
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REPRISE = os.environ.get("REPRISE") or os.path.join(ROOT, "build", "src", "cli", "reprise")
DOCUMENTS = ["README.md"] + sorted("docs/" + n for n in os.listdir(os.path.join(ROOT, "docs")) if n.endswith(".md"))
PICTURE = "docs/kill.svg"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
TRIES = 3  # a slow machine may need a second more than the text says
SECONDS = 120  # for the commands of a section


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


# ---- outputs ------------------------------------------------------------------


def steady(text):
    """The text without what differs from run to run."""
    text = re.sub(r"\b([0-9a-f]{8})-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b", r"\1-…", text)
    text = re.sub(r"\b([0-9a-f]{8})-[0-9a-f]{4}(?=  )", r"\1-…   ", text)  # in a column
    text = re.sub(r"\b(01[0-9a-f]{6})-[0-9a-f]{4}\b", r"\1-…", text)
    text = re.sub(r":\d\d\.\d{3}Z", ":…Z", text)
    text = re.sub(r"\b[0-9a-f]{64}\b", "…", text)
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"


def outputs(blocks):
    """What each of the shell blocks prints, run one after the other in one shell."""
    script = "".join("%s\nprintf '\\036'\n" % re.sub(r"^\./dev .*", ":", b, flags=re.M) for b in blocks)
    with tempfile.TemporaryDirectory(prefix="reprise-docs.") as home:
        env = {k: v for k, v in os.environ.items() if not k.startswith("REPRISE_")}
        env.update(REPRISE_HOME=home, PATH=os.path.dirname(REPRISE) + ":" + env["PATH"], LC_ALL="C.UTF-8", TZ="UTC")
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=ROOT, env=env, text=True, timeout=SECONDS,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit("docs: exit code %d of\n%s\n%s" % (done.returncode, script, done.stderr))
    return [steady(part) for part in done.stdout.split("\036")]


def section(text):
    """A section with its outputs as they are."""
    blocks = list(FENCE.finditer(text))
    if not any(b[1] == "text" for b in blocks):
        return text
    printed = iter(outputs([b[2] for b in blocks if b[1] == "sh"]))
    last = [""]

    def renewed(block):
        if block[1] == "sh":
            last[0] = next(printed)
        return "```text\n%s```" % last[0] if block[1] == "text" else block[0]

    return FENCE.sub(renewed, text)


def document(text):
    return "".join(section(part) for part in re.split(r"^(?=## )", text, flags=re.M))


# ---- figures -------------------------------------------------------------------


def figures():
    """Three rows of docs/benchmarks.md, in the README's words."""
    bench = read("docs/benchmarks.md")

    def row(under, begins):
        found = re.search(r"^## %s$.*?^\| %s \|([^\n]*)\|$" % (under, begins), bench, re.M | re.S)
        return [cell.strip(" *") for cell in found[1].split("|")]

    bare, _, ours, _, _ = row("One writer", r"\*\*median\*\*")
    resume = {n: row("Resume", n)[0] for n in ("1000", "1000000")}
    empty, hook = row("Hooks of coding agents", "an empty process")[0], row("Hooks of coding agents", r"\*\*PreToolUse\*\*")[0]
    return ("- an event of 1 KiB, acknowledged once it is **on the disk**: %s (a bare SQLite commit of it: %s)\n"
            "- **coming back** after a crash: %s with a million events, %s with a thousand\n"
            "- a **hook** around an agent's tool, process and all: %s (an empty process: %s)\n"
            "- measured by `./dev bench --only append,resume,hook`; [docs/benchmarks.md](docs/benchmarks.md) has the rest, and what others need for the same\n" %
            (ours, bare, resume["1000000"], resume["1000"], hook, empty))


def with_figures(text):
    return re.sub(r"(?<=<!-- figures -->\n)(?:- .*\n)*", lambda _: figures(), text)


# ---- the picture ---------------------------------------------------------------

COLOURS = {"31": "#ff6b6b", "32": "#8bd17c", "33": "#e5c07b", "36": "#6cc7d9", "2": "#8b949e", "1": "#ffffff"}
INK, PAPER, LINE, WIDE = "#d0d7de", "#0d1117", 20, 8.4


def on_terminal(*words):
    """What a command shows on a terminal, colours and all."""
    shown = []
    env = dict(os.environ, TERM="xterm-256color", COLUMNS="100", LC_ALL="C.UTF-8")
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(words[0], words, env)
    try:
        while data := os.read(fd, 65536):
            shown.append(data)
    except OSError:
        pass  # the terminal's other end is closed
    _, status = os.waitpid(pid, 0)
    if status:
        sys.exit("docs: %s failed" % " ".join(words))
    return b"".join(shown).decode().replace("\r", "")


def scenes():
    """The kill and the return, as the demo shows them."""
    text = on_terminal(REPRISE, "demo", "crash", "--fast")
    text = text[text.index("\n", text.index("reprise demo")) : text.index("── a straggler")].strip("\n")
    pids = list(dict.fromkeys(re.findall(r"process *\S* (\d+)", text)))
    for pid, steady_pid in zip(pids, ("4711", "4720")):
        text = re.sub(r"\b%s\b" % pid, steady_pid, text)
    text = re.sub(r"session [0-9a-f-]+…, ", "", text)
    text = re.sub(r"; last sign of life [^\n(]*\(crash_recovery\)", "", text)
    lines = [s for s in text.rstrip().rsplit("\n", 1)[0].splitlines() if " µs from asking" not in s]
    tidy = "\n".join(lines).rstrip("\n")
    return ["\033[1m$\033[0m reprise demo", ""] + tidy.replace("\033[1m\033[0m", "").splitlines()


def spans(line):
    style, out = [], []
    for part in re.split(r"(\033\[[0-9;]*m)", line):
        code = re.fullmatch(r"\033\[([0-9;]*)m", part)
        if code:
            style = [] if code[1] in ("", "0") else style + code[1].split(";")
        elif part:
            fill = next((COLOURS[s] for s in reversed(style) if s in COLOURS), None)
            look = (' fill="%s"' % fill if fill else "") + (' font-weight="bold"' if "1" in style else "")
            out.append("<tspan%s>%s</tspan>" % (look, html.escape(part, quote=False)) if look else html.escape(part, quote=False))
    return "".join(out)


def picture():
    lines = scenes()
    width = int(max(len(re.sub(r"\033\[[0-9;]*m", "", s)) for s in lines) * WIDE) + 40
    height = len(lines) * LINE + 40
    body = "\n".join('<text x="20" y="%d" xml:space="preserve">%s</text>' % (34 + i * LINE, spans(s))
                     for i, s in enumerate(lines) if s)
    return ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img"\n'
            '  aria-label="An agent is killed in the middle of a turn; a new process resumes its session">\n'
            '<rect width="100%%" height="100%%" rx="8" fill="%s"/>\n'
            '<g font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="14" fill="%s">\n%s\n</g>\n</svg>\n'
            % (width, height, width, height, PAPER, INK, body))


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    check = bool(sys.argv[1:])
    makers = {path: (lambda path=path: document(with_figures(read(path)))) for path in DOCUMENTS}
    makers[PICTURE] = picture
    wrong = 0
    for path, make in makers.items():
        old = read(path) if os.path.exists(os.path.join(ROOT, path)) else ""
        for _ in range(TRIES):
            new = make()
            if new == old:
                break
        if new == old:
            continue
        wrong += 1
        if check:
            with tempfile.NamedTemporaryFile("w", suffix=".md", encoding="utf-8") as f:
                f.write(new)
                f.flush()
                subprocess.run(["diff", "-u", "--label", path, "--label", "what is printed", os.path.join(ROOT, path), f.name], check=False)
        else:
            with open(os.path.join(ROOT, path), "w", encoding="utf-8") as f:
                f.write(new)
            print("written anew: " + path)
    if check and wrong:
        sys.exit("docs: %d differ from what is printed; ./dev docs writes them anew" % wrong)
    print("the documents say what is printed")


main()
