#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays histories of coding sessions through the hooks and counts what the briefs tell of what was needed (B-13).

usage: replay.py [-v] [--lines N [--seed N]] [PROJECT…]

A history has a line for each thing that an agent's hooks see, with its time. A question names a session and the facts that its agent
needed from earlier ones, each with the pattern that finds it in the brief. Beside tests/brief, a folder ../shared/brief of the tree is
used where it is there: histories that are not ours to publish. With -v every missed fact is told. With --lines nothing is judged:
lines of briefs are chosen at random and printed with their session, for a reader who judges what they are worth.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
REPRISE = os.environ.get("REPRISE", os.path.join(TREE, "build/src/cli/reprise"))
# Where histories are, and the share of their facts that the briefs must tell: a little below what was measured.
SETS = [(HERE, 0.87), (os.path.join(TREE, "../shared/brief"), 0.75)]
BRIEF_BYTES = 1500


def project_folder(name, events):
    """The folder that nearly all changed files are below; paths of our own histories are relative to it."""
    paths = [e["input"].get("file_path", "").split("/") for e in events if e["event"] == "Tool"]
    paths = [p[1:-1] for p in paths if p[0] == "" and len(p) > 1]
    folder = []
    while inside := [p[len(folder)] for p in paths if p[:len(folder)] == folder and len(p) > len(folder)]:
        deeper, count = collections.Counter(inside).most_common(1)[0]
        # The first two are a home, of which a history may name several.
        if len(folder) >= 2 and count < 0.95 * sum(p[:len(folder)] == folder for p in paths):
            break
        folder.append(deeper)
    return "/" + "/".join(folder or ["srv", name])


class Machine:
    """A machine on which the agents of a project ran: a store, a clock, and a process for each agent that lives."""

    def __init__(self, name, folder, home):
        self.name, self.folder, self.home = name, folder, home
        self.agents = {}
        self.clean = {k: v for k, v in os.environ.items() if not k.startswith(("REPRISE", "CLAUDE"))}

    def hook(self, entry, event, **fields):
        """What the agent is answered."""
        document = {"session_id": "session-%d" % entry["k"], "hook_event_name": event, "cwd": self.folder, **fields}
        command = [REPRISE, "hook", event, "--agent", "claude", "--scope", self.name, "--within", "60s", "-v",
                   "--owner", str(self.agents[entry["k"]].pid)]
        run = subprocess.run(command, input=json.dumps(document), capture_output=True, text=True, timeout=90, check=False,
                             env=self.clean | {"REPRISE_HOME": self.home, "REPRISE_NOW": entry["at"]})
        if run.returncode or run.stderr:
            raise AssertionError("%s, %s, %s: %s" % (self.name, entry["at"], event, run.stderr or run.returncode))
        return run.stdout

    def start(self, entry):
        """The brief of the session that begins, or nothing."""
        self.agents[entry["k"]] = subprocess.Popen(["sleep", "3600"], stdin=subprocess.DEVNULL)
        answer = self.hook(entry, "SessionStart", **entry["input"])
        return json.loads(answer)["hookSpecificOutput"]["additionalContext"] if answer else ""

    def call(self, entry, number):
        """A tool's call as its two hooks; a declined one has no second."""
        given = dict(entry["input"])
        if not given.get("file_path", "/").startswith("/"):
            given["file_path"] = os.path.join(self.folder, given["file_path"])
        call = {"tool_name": entry["tool"], "tool_use_id": "call-%d" % number, "tool_input": given}
        self.hook(entry, "PreToolUse", **call)
        if entry["fate"] == "done":
            self.hook(entry, "PostToolUse", **call, tool_response={"text": entry["out"]})
        elif entry["fate"] == "failed":
            self.hook(entry, "PostToolUseFailure", **call, error=entry["out"])

    def end(self, k):
        agent = self.agents.pop(k)
        agent.kill()
        agent.wait()


def replay(path):
    """The briefs of a history by session."""
    name = os.path.basename(path)[:-len(".jsonl")]
    with open(path, encoding="utf-8") as f:
        events = sorted(map(json.loads, f), key=lambda e: e["at"])
    briefs = {}
    with tempfile.TemporaryDirectory(prefix="brief-") as home:
        machine = Machine(name, project_folder(name, events), home)
        try:
            for number, entry in enumerate(events):
                if entry["event"] == "SessionStart":
                    briefs[entry["k"]] = machine.start(entry)
                elif entry["event"] == "Tool":
                    machine.call(entry, number)
                else:
                    machine.hook(entry, entry["event"], **entry["input"])
                if entry["event"] == "SessionEnd":
                    machine.end(entry["k"])
        finally:
            for k in list(machine.agents):
                machine.end(k)
    return name, briefs


def histories(folder, wanted):
    folder = os.path.join(folder, "histories")
    names = sorted(n for n in os.listdir(folder) if n.endswith(".jsonl"))
    return [os.path.join(folder, n) for n in names if not wanted or n[:-len(".jsonl")] in wanted]


def replay_all(folder, wanted):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(pool.map(replay, histories(folder, wanted)))


def judge(folder, briefs, verbose):
    """Prints the recall of each project. Returns that of all."""
    with open(os.path.join(folder, "questions.json"), encoding="utf-8") as f:
        sessions = [s for s in json.load(f)["sessions"] if s["project"] in briefs]
    told, asked = collections.Counter(), collections.Counter()
    for session in sessions:
        project, brief = session["project"], briefs[session["project"]][session["k"]]
        for fact in session["facts"]:
            found = re.search(fact["re"], brief, re.IGNORECASE | re.DOTALL)
            asked[project] += 1
            told[project] += bool(found)
            if verbose and not found:
                print("  %s %d is not told (%s): %s" % (project, session["k"], fact["kind"], fact["fact"]))
    for project, of_them in briefs.items():
        sizes = [len(b.encode()) for b in of_them.values() if b] or [0]
        print("%-12s %3d of %3d facts, %2d briefs of %d bytes, the longest %d" %
              (project, told[project], asked[project], len(sizes), sum(sizes) / len(sizes), max(sizes)))
    print("%-12s %3d of %3d facts = %.1f %%" % ("together", told.total(), asked.total(), 100 * told.total() / asked.total()))
    return told.total() / asked.total()


def lines_of(brief):
    """The lines that say something, each with the heading that it stands under."""
    heading = ""
    for line in brief.splitlines():
        if line.startswith("- "):
            yield heading + " " + line
        elif line.endswith(":"):
            heading = line
        elif line and not line.startswith("["):
            yield line


def choose(briefs, count, seed):
    every = [(project, k, line) for project, of_them in sorted(briefs.items()) for k, brief in sorted(of_them.items()) for line in lines_of(brief)]
    for project, k, line in sorted(random.Random(seed).sample(every, min(count, len(every)))):
        print("%s %d  %s" % (project, k, line))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-v", "--verbose", action="store_true", help="tell every missed fact")
    parser.add_argument("--lines", type=int, help="print so many lines of briefs, chosen at random, and judge nothing")
    parser.add_argument("--seed", type=int, default=1, help="what the choice depends on")
    parser.add_argument("projects", nargs="*", metavar="PROJECT", help="replay these alone")
    options = parser.parse_args()
    chosen, failed = {}, False
    if not any(histories(folder, options.projects) for folder, _ in SETS if os.path.isdir(folder)):
        parser.error("there is no such project")
    for folder, least in SETS:
        if not os.path.isdir(folder):
            print("skipped: there is no %s" % os.path.relpath(folder, TREE))
            continue
        if not histories(folder, options.projects):
            continue
        began = time.monotonic()
        briefs = replay_all(folder, options.projects)
        if options.lines:
            chosen.update(briefs)
            continue
        recall = judge(folder, briefs, options.verbose)
        print("%.1f s for %s, where %.0f %% is the least\n" % (time.monotonic() - began, os.path.relpath(folder, TREE), 100 * least))
        longest = max(len(b.encode()) for of_them in briefs.values() for b in of_them.values())
        failed |= longest > BRIEF_BYTES or not options.projects and recall < least
    if options.lines:
        choose(chosen, options.lines, options.seed)
    return failed


if __name__ == "__main__":
    sys.exit(main())
