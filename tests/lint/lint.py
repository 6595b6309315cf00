#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The project's own rules, which no general tool knows.

usage: lint.py [--counts] [CHECK…]

Each function check_NAME yields lines about what is wrong; none is a pass. With
--counts the last line printed is "passed failed skipped" and the talk goes to stderr.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ABOVE = ("bridge", "server", "cli")  # the layers above the engine
LONGEST = 90  # lines of a function
LONG = 60  # from here on a word, no failure
README_LINES = 120
FOLDER_FILES = 40
CLI = "build/src/cli/reprise"
FORMAT_VERSION = "14."  # the clang-format whose opinion counts


class Skip(Exception):
    pass


def files(*suffixes, under=("include", "src", "tests", "examples", "tools", "docs", "man", ".")):
    """Project files with one of the suffixes; build trees, data and corpora left out."""
    seen = set()
    for top in under:
        for folder, subs, names in os.walk(os.path.join(ROOT, top)):
            subs[:] = [] if top == "." else sorted(s for s in subs if s not in ("corpus", "data", "node_modules"))
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), ROOT)
                if path != ".git" and path not in seen and (not suffixes or path.endswith(suffixes)):
                    seen.add(path)
                    yield path


def text(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as f:
        return f.read()


def layers():
    names = re.search(r"layers = \[([^\]]*)\]", text("src/meson.build")).group(1)
    return re.findall(r"'([^']+)'", names)


def check_includes():
    """A layer includes itself and the layers before it; public headers include no internals."""
    order = layers()
    for path in files(".c", ".h", under=("src",)):
        layer = path.split("/")[1]
        if layer not in order:
            yield "%s: the folder is no layer of src/meson.build" % path
            continue
        allowed = order[: order.index(layer) + 1]
        if layer in ABOVE:  # use the engine through the public API alone
            allowed = [l for l in allowed if l in ("base", "json", "net", "bridge", layer)]
        made = re.findall(r"output: '([^']+\.h)'", text("src/%s/meson.build" % layer))
        for n, line in enumerate(text(path).splitlines(), 1):
            m = re.match(r'\s*#\s*include\s+"([^"/]+)(/?)', line)
            if m and m.group(1) not in made and (not m.group(2) or m.group(1) not in allowed):
                yield '%s:%d: %s may not include "%s…"' % (path, n, layer, m.group(1))
    for path in files(".h", under=("include",)):
        if re.search(r'^\s*#\s*include\s+"', text(path), re.M):
            yield "%s: includes an internal header" % path


def functions(path):
    """(name, first line, length) of each function; relies on Linux braces: the body's brace stands in column 0."""
    lines = text(path).splitlines()
    start = None
    for n, line in enumerate(lines, 1):
        if line == "{":
            start = n
        elif line == "}" and start:
            head = " ".join(lines[max(0, start - 6) : start - 1])
            names = re.findall(r"(\w+)\s*\(", head)
            yield (names[-1] if names else "?"), start, n - start - 1
            start = None


def check_function_length():
    """No function over 90 lines; those over 60 are told."""
    for path in files(".c", under=("src", "tests", "examples")):
        for name, line, length in functions(path):
            if length > LONGEST:
                yield "%s:%d: a function of %d lines (%s)" % (path, line, length, name)
            elif length > LONG and path.startswith("src/"):
                print("     note: %s:%d: %d lines in one function" % (path, line, length), file=sys.stderr)


def check_leftovers():
    """Nothing is put off in a comment, and nothing speaks of the machine it was written on."""
    word = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX)\b|(?<![\w.])/(work|root|home/\w+)/")
    for path in files():
        if path == "LICENSE" or path.endswith((".png", ".gz", ".zst", ".db")):
            continue
        for n, line in enumerate(text(path).splitlines(), 1):
            m = word.search(line)
            if m:
                yield "%s:%d: %s" % (path, n, m.group(0))


def check_licence():
    """Every source says its licence in its first lines."""
    for path in files(".c", ".h", ".py", under=("include", "src", "tests", "examples", "tools")):
        if "SPDX-License-Identifier: Apache-2.0" not in "\n".join(text(path).splitlines()[:3]):
            yield "%s: no SPDX line" % path


def check_requirements():
    """A requirement that is cited is listed in docs/requirements.md, and one that is listed is cited by a test."""
    sys.path.insert(0, os.path.join(ROOT, "tools"))
    import requirements

    listed = dict(requirements.rows(text(requirements.PAGE)))
    for path in files(".c", ".h", ".py", ".sh", ".mjs", ".md", ".build"):
        for n, line in enumerate(text(path).splitlines(), 1):
            for cited in re.findall(requirements.ID, line):
                if cited not in listed:
                    yield "%s:%d: no requirement %s" % (path, n, cited)
    cited = requirements.citations()
    for name, column in listed.items():
        if name not in cited and column != requirements.NOT_YET:
            yield "%s: no test cites %s" % (requirements.PAGE, name)
        if name in cited and column == requirements.NOT_YET:
            yield "%s: %s is cited by tests and not 'not yet' (tools/requirements.py)" % (requirements.PAGE, name)


def check_names():
    """No two external symbols, and no two struct tags of headers, have one name."""
    tags, symbols = {}, {}
    for path in files(".h", under=("include", "src")):
        for tag in re.findall(r"^(?:typedef )?(?:struct|enum|union) (\w+) \{", text(path), re.M):
            tags.setdefault(tag, []).append(path)
    for tag, paths in sorted(tags.items()):
        if len(paths) > 1:
            yield "%s: a tag of %s" % (tag, " and ".join(paths))
    libraries = glob.glob(os.path.join(ROOT, "build/src/*/librp_*.a"))
    if not libraries or not shutil.which("nm"):
        return
    out = subprocess.run(["nm", "-A", "-g", "--defined-only", *libraries], capture_output=True, text=True).stdout
    for line in out.splitlines():
        if ":" not in line or len(line.split()) < 3:
            continue
        where, name = line.split()[0], line.split()[-1]
        symbols.setdefault(name, set()).add(os.path.basename(where.split(":")[1]))
    for name, objects in sorted(symbols.items()):
        if len(objects) > 1:
            yield "%s: defined in %s" % (name, " and ".join(sorted(objects)))


def check_header_comments():
    """The first comment of a source, behind its licence, says what the file is."""
    first = re.compile(r"/\* SPDX[^\n]*\*/\n\s*/\*(.*?)\*/", re.S)
    for path in files(".c", ".h", under=("include", "src", "tests", "examples")):
        m = first.match(text(path))
        words = m.group(1).strip(" *\n") if m else ""
        if not words or words.startswith("-") or words.startswith("clang-format"):
            yield "%s: no comment that says what it is" % path


def check_folders():
    """A folder has at most 40 files."""
    count = {}
    for path in files(under=("include", "src", "tests", "examples", "tools", "docs", "man", "share", "plugins")):
        count[os.path.dirname(path)] = count.get(os.path.dirname(path), 0) + 1
    for folder, n in sorted(count.items()):
        if n > FOLDER_FILES:
            yield "%s: %d files" % (folder, n)


def check_errors():
    """docs/protocol.md has every row of the one error table."""
    doc = text("docs/protocol.md")
    for m in re.finditer(r"^  X\((\w+),\s*(-\d+),\s*\"([^\"]+)\",\s*(\d+),\s*(-\d+),\s*(\d)", text("include/reprise/error.h"), re.M):
        symbol, code, name, http, rpc, status = m.groups()
        row = r"^\| `%s` \| `RP_E_%s` \| %s \| %s \| %s \| %s \|" % (re.escape(name), symbol, code, http, rpc, status)
        if not re.search(row, doc, re.M):
            yield "docs/protocol.md: no row, or another one, for %s (%s)" % (name, symbol)


def commands():
    if not os.path.exists(os.path.join(ROOT, CLI)):
        raise Skip("%s is not built" % CLI)
    out = subprocess.run([os.path.join(ROOT, CLI), "--help"], capture_output=True, text=True, timeout=20)
    found = re.findall(r"^ {2,4}([a-z][a-z-]+)\b", out.stdout, re.M)
    if not found:
        raise Skip("no commands in the output of reprise --help")
    return found


def check_manual():
    """The manual has every command of the program."""
    names = commands()
    pages = " ".join(text(p) for p in files(".1", under=("man",))).replace("\\-", "-")
    for name in names:
        if not re.search(r"\b%s\b" % re.escape(name), pages):
            yield "man: no word on the command %s" % name


def check_help():
    """Every command explains itself, with an example."""
    for name in commands():
        out = subprocess.run([os.path.join(ROOT, CLI), name, "--help"], capture_output=True, text=True, timeout=20)
        if out.returncode or "reprise " + name not in out.stdout:
            yield "reprise %s --help: exit %d, or no example" % (name, out.returncode)


def check_links():
    """Links between the documents lead somewhere."""
    for path in files(".md", under=(".", "docs")):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text(path)):
            if not os.path.exists(os.path.join(ROOT, os.path.dirname(path), target)):
                yield "%s: a link to %s, which is not there" % (path, target)


def check_readme():
    """The README is one page: the rest has a place in docs/."""
    lines = text("README.md").count("\n")
    if lines > README_LINES:
        yield "README.md: %d lines, at most %d" % (lines, README_LINES)


def check_zombies():
    """Tests ask tests/lib/alive whether a process lives: a zombie does not, and in a container it may stay for good."""
    asks = re.compile(r"""\bkill -0\b|\bos\.kill\([^)]*, *0\)|["']-0["']|\bprocess\.kill\([^)]*, *0\)|existsSync\(`/proc/""")
    for path in files(".sh", ".py", ".mjs", "run", under=("tests/integration", "tests/soak", "tests/lib", "tests/bench", "tests/fault")):
        if path in ("tests/integration/alive.sh", "tests/lib/alive.sh"):
            continue
        for n, line in enumerate(text(path).splitlines(), 1):
            if asks.search(line):
                yield "%s:%d: %s" % (path, n, line.strip())


def check_format():
    """clang-format has nothing to change."""
    tool = shutil.which("clang-format")
    if not tool:
        raise Skip("clang-format is not installed (./dev lint installs it)")
    version = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
    if "version " + FORMAT_VERSION not in version:
        raise Skip("clang-format is not version %s" % FORMAT_VERSION.rstrip("."))
    sources = list(files(".c", ".h", under=("include", "src", "tests", "examples")))
    out = subprocess.run([tool, "--dry-run", "-Werror", *sources], cwd=ROOT, capture_output=True, text=True)
    wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", out.stderr, re.M)))
    yield from ("%s: not as clang-format would have it (./dev format)" % p for p in wrong)


def main():
    wanted = [a for a in sys.argv[1:] if not a.startswith("-")]
    counts = [0, 0, 0]
    for name, check in sorted(globals().items()):
        if not name.startswith("check_") or (wanted and name[6:] not in wanted):
            continue
        try:
            wrong = list(check())
        except Skip as why:
            print("     skipped: %s: %s" % (name[6:], why), file=sys.stderr)
            counts[2] += 1
            continue
        counts[1 if wrong else 0] += 1
        if wrong:
            print("---- FAILED: %s (%s)" % (name[6:], check.__doc__), file=sys.stderr)
            print("\n".join("     " + w for w in wrong[:40]), file=sys.stderr)
            if len(wrong) > 40:
                print("     … and %d more" % (len(wrong) - 40), file=sys.stderr)
    if "--counts" in sys.argv:
        print(*counts)
    elif not counts[1]:
        print("%d rules hold" % counts[0])
    sys.exit(0 if "--counts" in sys.argv or not counts[1] else 1)


main()
