#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a person at a terminal sees, the demo, and the bench.
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/../../lib/assert.sh"

# Runs on a terminal of 80 columns; what it shows is the output.
run_tty() {
  local words
  printf -v words '%q ' "$REPRISE" "$@"
  out=$(TERM=xterm COLUMNS=80 script -qec "$words" /dev/null </dev/null | tr -d '\r'; exit "${PIPESTATUS[0]}")
  code=$? err=''
}
escape=$'\033'

run start --scope nova --key kitchen
run append kitchen message '{"role":"user","content":"hello \u001b[31m there"}'

about 'documents are indented and coloured'
run_tty state kitchen
expect_code 0
expect_out_has "${escape}[36m\"session\"${escape}[0m: {"
run_tty state kitchen --json
expect_out_lacks "$escape"
expect_json .conversation.total 1
NO_COLOR=1 run_tty state kitchen
expect_out_lacks "$escape"
expect_out_has '  "session": {'
run state kitchen
expect_out_lacks "$escape"
expect_json .conversation.total 1

about 'stored text can not drive the terminal'
run_tty log kitchen --kind message
expect_out_lacks "${escape}[31m"
run log kitchen --kind message
expect_out_lacks "$escape"

run append kitchen message '{"role":"user","content":"c1 \u009b31m bidi \u202e rev \u2066 iso"}'
run append kitchen pin '{"label":"odd \u009b","content":"c1 \u009b31m bidi \u202e rev"}'
for words in 'state kitchen' 'export kitchen --format markdown' 'log kitchen' 'show kitchen' 'pins kitchen' 'search bidi' 'ls --all' \
  'brief kitchen' 'brief --scope nova'; do
  # shellcheck disable=SC2086
  run_tty $words
  expect_code 0
  for mark in $'\u009b' $'\u202e' $'\u2066'; do expect_out_lacks "$mark"; done
done
run state kitchen
expect_json '.conversation.messages[-1].content|explode|contains([155,8238,8294])' true
run export kitchen --format markdown
expect_out_has $'\u009b'

about 'a log tells what a tool was given'
run append kitchen tool '{"call_id":"c1","name":"Bash","status":"intended","input":{"command":"make test","timeout":5}}'
run log kitchen --kind tool
expect_out_has 'Bash: intended: make test'

about tables
run_tty ls
expect_out_has "${escape}[1mID"
expect_out_has 'just now'
run_tty search hello
expect_out_has "${escape}[1;33mhello${escape}[0m"

about 'errors are red'
run_tty show nobody
expect_code 3
expect_out_has "${escape}[31mreprise:${escape}[0m show: "

about 'levels are bars, a brief is behind a line'
run feel kitchen face_recognized
run_tty mood kitchen
expect_code 0
expect_out_has '█'
run_tty show kitchen
expect_out_has '█'
NO_COLOR=1 run_tty mood kitchen
expect_out_lacks "$escape"
run end kitchen
run_tty start --scope nova
expect_out_has '"session_id'
expect_out_lacks '"brief'
expect_out_has '│'
run start --scope nova --key kitchen --id again
run append kitchen message '{"role":"user","content":"hello again"}'

about 'local times with their zone, sizes for people'
REPRISE_NOW=2026-07-31T22:30:00Z run start --scope clock --key clock
REPRISE_NOW=2026-07-31T22:30:00Z run append clock note '{"id":"n","text":"late"}' --at 2026-07-31T22:30:00Z
export TZ=CET-1CEST,M3.5.0,M10.5.0/3
run log clock --kind note
expect_out_has '2026-08-01 00:30:00 CEST  note'
run log clock --kind note --utc
expect_out_has '2026-07-31 22:30:00 UTC   note'
run log clock --kind note --json
expect_json .at 2026-07-31T22:30:00.000Z
run show clock
expect_out_has '2026-08-01 00:3'
expect_out_has ' CEST'
expect_out_has ' B'
run show clock --json
expect_json '.created_at[0:14]' 2026-07-31T22:
expect_json '.bytes|type' number
run audit --utc
expect_out_has ' UTC '
run chain clock
expect_out_has ' CEST – open'
export TZ=UTC
run stats
checks=$((checks + 1))
grep -Eq '^file_bytes +[0-9.]+ [KM]iB$' <<<"$out" || fail 'no size for people'
run doctor
checks=$((checks + 1))
grep -Eq 'space: [0-9.]+ [KMGT]iB available' <<<"$out" || fail 'no size for people'

about 'a pager, for a person alone'
cat >"$work/pager" <<'PAGER'
#!/bin/sh
echo "paged"
sed 's/^/| /'
echo "said meanwhile" >&2
PAGER
chmod +x "$work/pager"
cat >"$work/both.py" <<'PY'
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))
PY
# With a terminal on both ends.
run_both() {
  python3 "$work/both.py" "$REPRISE" "$@" </dev/null >"$work/out" 2>"$work/err"
  code=$?
  out=$(tr -d '\r' <"$work/out") err=''
}
export TERM=xterm
REPRISE_PAGER=$work/pager run_both log clock
expect_code 0
expect_out_has paged
expect_out_has '| '
expect_out_has late
REPRISE_PAGER='' PAGER=$work/pager run_both log clock
expect_out_lacks paged
(
  unset REPRISE_PAGER
  PAGER=$work/pager run_both log clock
  printf '%s' "$out" >"$work/paged"
)
out=$(<"$work/paged")
expect_out_has paged
export REPRISE_PAGER=$work/pager
run_both log clock --no-pager
expect_out_lacks paged
expect_out_has late
run_both log clock --json
expect_out_lacks paged
run_both append clock note '{"id":"m","text":"later"}'
expect_out_lacks paged
run log clock
expect_out_lacks paged
run_both show nobody # an error stands behind the page, and the exit code is the command's
expect_code 3
expect_out_has 'said meanwhile'
checks=$((checks + 1))
[[ ${out##*said meanwhile} == *'show: '* ]] || fail 'the error is not the last'
REPRISE_PAGER='head -n 1' run_both log clock # a reader that leaves is no error
expect_code 0
REPRISE_PAGER=/no/such/pager run_both ls
expect_code 0
expect_out_has '--no-pager'
if command -v less >/dev/null; then
  unset REPRISE_PAGER PAGER
  run_both log clock # less ends by itself where all is on one page
  expect_code 0
  expect_out_has late
fi
export REPRISE_PAGER=cat

about export
run_tty export kitchen
expect_code 2
expect_out_has 'flood the terminal'
run_tty export kitchen --force
expect_code 0
run_tty export kitchen -o "$work/file"
expect_code 0

about demo # B-03, B-04, B-05: cause, ledger, fence
run demo crash --fast
expect_code 0
expect_quiet
expect_out_has 'In a mo'
expect_out_has 'kill -9'
expect_out_has 'resumed'
expect_out_has 'crash; last sign of life'
expect_out_has 'remembers 4 messages'
expect_out_has 'Do it, but carefully'
expect_out_has 'tool close_relay: outcome unknown'
expect_out_has 'fenced    exit code 4'
expect_out_has '9 events acknowledged before the kill, 9 of them there after it; 0 of the straggler'
expect_out_has 'reprise verify: ok'
expect_out_lacks "$escape"
checks=$((checks + 1))
compgen -G "$work/reprise-demo.*" >/dev/null && fail 'the folder was left behind'

about 'the robot of the demo' # N-04, N-10
run demo robot --fast
expect_code 0
expect_quiet
expect_out_has 'wound      violence'
expect_out_has 'restart   short_break, clean'
expect_out_has "Greet naturally, briefly acknowledge you're back"
expect_out_has 'restart   long_absence, clean'
expect_out_has 'Welcome them back warmly'
expect_out_has '↳'
expect_out_lacks "$escape"

about 'the coder of the demo' # X-05, X-06, X-07, X-09, X-14
run demo coder --fast
expect_code 0
expect_quiet
expect_out_has '[SESSION CONTINUITY'
expect_out_has '[task-7] CAT control of the ft991a (last stage: build, 2d ago)'
expect_out_has 'CRITICAL dummy load [inherited from '
expect_out_has 'password=[REDACTED]'
expect_out_lacks 'Tr4mpoline'
expect_out_has 'below_threshold  score'
expect_out_has '↳'

about 'the demo by itself is the crash; the others are asked for'
run_tty demo --fast
expect_code 0
expect_out_has "$escape"
expect_out_has 'kill -9'
expect_out_has 'reprise demo robot, reprise demo coder'
expect_out_lacks 'SESSION CONTINUITY'
run_tty demo robot --fast
expect_out_has '█'
expect_out_lacks 'kill -9'
run demo --help
expect_out_has 'crash (the default, about ten seconds)'

about 'a person can follow, a pipe need not wait'
(run_tty demo; printf '%s' "$out" >"$work/followed") &
paced=$!
run demo
expect_code 0
expect_out_has 'reprise verify: ok'
checks=$((checks + 1))
[[ ! -e $work/followed ]] || fail 'nobody could follow the one on the terminal'
wait $paced
out=$(<"$work/followed")
expect_out_has 'reprise verify: ok'
checks=$((checks + 1))
compgen -G "$work/reprise-demo.*" >/dev/null && fail 'a folder was left behind'
run demo crash --fast --keep
expect_code 0
expect_out_has 'kept: reprise --db sqlite:'
db=$(grep -o 'sqlite:[^ ]*' <<<"$out" | tail -n 1)
run --db "$db" log last --json --kind tool
expect_json '[.[-1].body.name,.[-1].body.status]' '["close_relay","done"]' "$(jq -sc . <<<"$out")"

about bench
run bench --events 50 --size 200 --json
expect_code 0
expect_json '[.events,.size,.durability]' '[50,200,"disk"]'
expect_json '.p50_us > 0 and .p99_us >= .p50_us and .in_flight_per_s > 0' true
checks=$((checks + 1))
compgen -G "$work/reprise-bench.*" >/dev/null && fail 'the folder was left behind'
run bench --events 20 --durability os
expect_code 0
expect_out_has 'durability os'
run --db "sqlite:$work/bench.db" bench --events 10
expect_code 0
run --db "sqlite:$work/bench.db" ls --scope bench --json
expect_json '.sessions|length' 1

finish
