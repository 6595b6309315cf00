#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What comes back: the robot's story and the coder's, told through the command line with a clock of their own.
# shellcheck disable=SC1091,SC2034,SC2105,SC2154
. "$(dirname "$0")/../../lib/assert.sh"
export REPRISE_CONFIG=$work/reprise.ini USER=ada
printf '[scope nova]\ntemplate = robot\n' >"$REPRISE_CONFIG"

# Runs `reprise ARGS…` at a time of the third of March.
at() { REPRISE_NOW=2026-03-03T$1Z run "${@:2}"; }
day() { REPRISE_NOW=2026-03-$1Z run "${@:2}"; }
say() { at "$1" append last message "{\"role\":\"$2\",\"content\":\"$3\"}"; }

# ---- the robot ---------------------------------------------------------------

about 'a first start tells nothing' # N-03, N-04
at 18:30:00 brief --scope nova
expect_code 0
expect_out ''
expect_err_has 'nothing to tell'
at 18:30:00 brief --scope nova --json
expect_json '[.scope,.brief]' '["nova",null]'
at 18:30:00 start --scope nova
expect_code 0
expect_json '[.restart.type,.restart.cause,.brief]' '["fresh_start",null,null]'
robot1=$(jq -r .session_id <<<"$out")

about 'it is hurt' # N-08, N-10, N-11, N-12, N-13
at 18:30:01 append last person '{"name":"Mia"}'
at 18:30:01 feel last face_recognized
expect_code 0
expect_json .durability disk
say 18:30:05 user 'Shall we finish the lighthouse puzzle?'
say 18:30:09 assistant 'Only the red roof is missing.'
say 18:30:20 user 'Afterwards I pack for Bremen.'
at 18:30:29 feel last harsh_words
at 18:30:30 feel last violence
at 18:30:32 mood last --json
expect_code 0
expect_json '[.mood,.wounds[0].event,.wounds[0].healing]' '["sad","violence",false]'
expect_json '.wounds[0]|[.duration,.heal_rate]' '[300,0.001]'
expect_json '.wounds[0].remaining_fixed_seconds|. > 290 and . < 299' true
expect_json '.levels.fear >= 0.25 and .levels.sadness >= 0.2' true
at 18:30:32 mood last
expect_out_has 'mood       sad'
expect_out_has 'wound      violence: at least sadness 0.20, fear 0.25; open for'
expect_out_lacks '█'
at 18:30:32 show last
expect_out_has 'mood       sad'
expect_out_has 'scope'

about 'feelings have names'
at 18:30:34 feel last violense
expect_code 2
expect_err_has "did you mean 'violence'?"
at 18:30:34 feel last violence --intensity lots
expect_code 2
run feel --list
expect_code 0
expect_out_has pat_level2
run feel --list --json
expect_json '.events|index("violence") != null' true
run config emotions
expect_code 0
expect_out_has '[event violence]'
expect_out_has '[emotion joy]'
at 18:31:00 end last
expect_code 0

about 'a short break' # N-03, N-04, N-07
at 18:34:30 start --scope nova
expect_json '[.restart.type,.restart.cause,.previous_session_id,.total_sessions]' \
  "[\"short_break\",\"clean\",\"$robot1\",2]"
brief=$(jq -r .brief <<<"$out")
out=$brief
expect_out_has Mia
expect_out_has 'lighthouse puzzle'
expect_out_has violence
expect_out_has "Greet naturally, briefly acknowledge you're back"
at 18:34:31 mood last --json
expect_json '.wounds[0].event' violence
at 18:34:31 brief last --json
expect_code 0
expect_json '.brief|length > 0' true
at 18:34:35 append last sleep '{"state":"sleeping"}'
at 18:35:00 end last
expect_code 0

about 'two hours of sleep' # N-03, N-04, N-10, N-14
at 20:35:00 start --scope nova
expect_json '[.restart.type,.total_sessions]' '["long_absence",3]'
out=$(jq -r .brief <<<"$out")
expect_out_has Mia
expect_out_has 'Welcome them back warmly'
expect_out_has 'about 2 hours'
at 20:35:01 mood last --json
expect_json '.wounds|length' 0
at 20:35:01 state last --json
expect_json .presence.last_person Mia
at 20:35:02 brief last --explain
expect_code 0
expect_out_has '↳'
at 20:35:02 brief last --explain --json
expect_json '.lines|length > 0 and all(.[]; .line != null and (.reason|length) > 0)' true
at 20:35:03 end last

# ---- the coder ----------------------------------------------------------------

about 'a coder works' # X-04, X-06, X-07
day 02T14:00:00 start --scope coder --id work-1
expect_json '[.restart.type,.brief]' '["fresh_start",null]'
day 02T14:00:01 append work-1 activity '{"text":"ham radio: CAT of the ft991a","workdir":"/srv/Projects/lbf-ham-radio"}'
day 02T14:00:02 append work-1 message '{"role":"user","content":"CAT control of the ft991a in lbf-ham-radio, ham radio at last"}'
day 02T14:00:03 append work-1 task '{"task_id":"task-7","title":"CAT control","stage":"build"}'
day 02T14:00:03 append work-1 task '{"task_id":"task-6","title":"read the manual","stage":"done","status":"done"}'
day 02T14:00:04 pin work-1 'dummy load' 'never transmit without it' --importance critical
expect_code 0
expect_json 'has("seq")' true
day 02T14:00:05 pin work-1 'rig login' 'user ada password=Tr4mpoline-77'
expect_code 0
day 02T14:00:06 remember work-1 'the ft991a speaks CAT at 38400 baud' --confidence 1 --category radio,cat
expect_code 0
memory=$(jq -r .memory_id <<<"$out")
day 02T14:00:07 tasks work-1
expect_out_has task-7
expect_out_lacks task-6
day 02T14:00:07 tasks work-1 --all --json
expect_json '.tasks|map(.task_id)|sort' '["task-6","task-7"]'
day 02T14:00:07 tasks work-1 --json
expect_json '.tasks|map(.task_id)' '["task-7"]'
day 02T14:00:07 pins work-1
expect_out_has 'dummy load  critical'
expect_out_has 'password=[REDACTED]' # X-14
expect_out_lacks Tr4mpoline
day 02T14:00:08 unpin work-1 'dummy loat'
expect_code 3
expect_err_has "did you mean 'dummy load'?"
day 02T14:00:09 pin work-1 scratch 'for a moment'
day 02T14:00:09 unpin work-1 scratch
expect_code 0
day 02T14:00:09 pins work-1 --json
expect_json '.pins|map(.label)' '["dummy load","rig login"]'

about 'an eleventh pin is refused' # X-06
day 02T14:00:10 start --scope full --id full
for i in 1 2 3 4 5 6 7 8 9 10; do day 02T14:00:10 pin full "p$i" "content $i"; done
expect_code 0
day 02T14:00:11 pin full p11 'one too many' --json
expect_code 8
expect_error limit.pins
day 02T14:00:11 pin full p3 'in place of the third'
expect_code 0
day 02T14:30:00 end work-1
expect_code 0

about 'after 48 hours' # X-02, X-03, X-05, X-06, X-07, X-09
day 04T14:30:00 brief --scope coder --topics ft991a,ham-radio
expect_code 0
preview=$out
expect_out_has '[SESSION CONTINUITY — inherited from 1 prior session(s)]'
expect_out_has '- [task-7] CAT control (last stage: build, 2d ago)'
expect_out_has 'ACTIVE PROJECTS: '
expect_out_has lbf-ham-radio
expect_out_has 'HOT TOPICS: '
expect_out_has 'WORKING MEMORY RESTORED: 2 pins inherited'
expect_out_lacks task-6
day 04T14:30:00 brief --scope coder --topics ft991a --explain --json
expect_json '.candidates[0]|[.session_id,.verdict]' '["work-1","restored"]'
expect_json '.candidates[0]|(.hours*10|round/10)' 48
expect_json '.candidates[0]|has("recency") and has("overlap") and has("tasks") and has("score") and has("reason")' true
expect_json '.counts.restored' 1
expect_json '.pins|map(.label)|sort' '["dummy load","rig login"]'
expect_json ".memories[]|select(.memory_id==\"$memory\")|[.original,(.factor*1e6|round),(.inherited*1e6|round)]" \
  '[1,885714,885714]'
expect_json '.tasks|map([.task_id,.verdict])' '[["task-7","surfaced"]]'
day 04T14:30:00 brief --scope coder --topics ft991a --explain
expect_code 0
expect_out_has 'VERDICT'
expect_out_has work-1
expect_out_has 'inherited        dummy load  from work-1'
expect_out_has '↳'
day 04T14:30:00 ls --scope coder --json
expect_json '.sessions|length' 1 # a brief changes nothing
day 04T14:30:00 start --scope coder --id work-2 --topics ft991a,ham-radio
expect_json '[.restart.type,.previous_session_id]' '["long_absence","work-1"]'
expect_json '.inherited|[.pins,.tasks,.memories,.sessions[0].session_id]' '[2,1,1,"work-1"]'
expect_json .brief "$preview"
day 04T14:30:01 pins work-2
expect_out_has 'dummy load [inherited from work-1 @ 2026-03-02 14:30:00 UTC'
day 04T14:30:01 pins work-2 --json
expect_json '.pins|map(.inherited_from)|unique' '["work-1"]'

about 'memories' # X-17
day 04T14:30:02 memories --scope coder --json
expect_json '.memories[0]|[.memory_id,.confidence,.session_id]' "[\"$memory\",1,\"work-1\"]" # the stored score stays
day 04T14:30:02 memories baud --scope coder
expect_code 0
expect_out_has '38400 baud'
day 04T14:30:02 memories nothing-of-the-kind --scope coder --json
expect_out '{"memories":[]}'
day 04T14:30:03 memories --set "$memory" --confidence 0.4 --reason 'was 4800' --session work-2
expect_code 0
day 04T14:30:04 memories --scope coder --json
expect_json '.memories[0].confidence' 0.4
run memories
expect_code 2
run memories --set x --confidence 1
expect_code 2
day 04T14:30:05 memories --forget "$memory" --scope coder
expect_code 0
day 04T14:30:05 memories --forget "$memory" --scope coder --json
expect_code 3
expect_error memory.not_found

about 'the chain' # X-08
day 04T14:30:06 chain work-2 --json
expect_json '.sessions|map(.session_id)' '["work-1","work-2"]'
day 04T14:30:06 chain work-2 --depth 1 --json
expect_json '.sessions|map(.session_id)' '["work-2"]'
day 04T14:30:06 chain work-2
expect_out_has '└─ work-2'
expect_out_has '2026-03-02 14:00:00 UTC'
run chain nobody
expect_code 3

about 'continue a named one, however old' # X-10
day 20T09:00:00 brief --scope coder --explain --json # X-16
expect_json '.candidates[]|select(.session_id=="work-1")|.verdict' outside_lookback
expect_json '[.counts.outside_lookback,(.brief|tostring|test("dummy load"))]' '[2,false]'
day 20T09:00:00 start --scope coder --id work-3
day 20T09:00:01 continue work-1
expect_code 0
expect_out_has work-3
expect_out_has ada
day 20T09:00:01 continue work-1 --into work-3 --by bob --json
expect_json '[.from,.into,.by,.pins,.tasks,.memories]' '["work-1","work-3","bob",0,0,0]' # a second time adds nothing
day 20T09:00:02 pins work-3 --json
expect_json '.pins|map(.label)|sort' '["dummy load","rig login"]'
run continue nobody --into work-3
expect_code 3
run continue full
expect_code 3
expect_err_has 'has no open session to inherit it'

about 'what a start would tell of a killed one' # X-02, X-11
printf '[scope channels]\nper_channel = true\n' >>"$REPRISE_CONFIG"
sleep 1000 &
owner=$!
day 20T10:00:00 start --scope channels --id talk-1 --channel signal --owner "$owner"
expect_code 0
day 20T10:00:01 pin talk-1 promise 'call back at noon'
kill "$owner"
wait "$owner" 2>/dev/null
day 20T11:00:00 brief --scope channels --channel signal
expect_out_has 'call back at noon'
preview=$out
day 20T11:00:00 show talk-1 --json
expect_json '[.crash_recovered,.ended_at]' '[false,null]' # a brief changes nothing
day 20T11:00:00 audit --scope channels
expect_out_lacks session_captured

about 'a channel has its own past' # X-08
day 20T11:00:00 start --scope channels --id desk-1 --channel desk
expect_json '[.restart.type,.previous_session_id,.brief]' '["fresh_start",null,null]'
day 20T11:00:00 start --scope channels --id talk-2 --channel signal
expect_json '[.restart.cause,.previous_session_id,.crash_recovered]' '["crash","talk-1",[]]'
expect_json .brief "$preview"
expect_ok grep -q '"continued_by": "talk-2"' "$work/sessions/talk-1.json"

about audit # X-12
day 20T09:00:03 audit --scope coder --json
expect_code 0
first=$(head -n 1 <<<"$out")
expect_json 'has("n") and has("at") and has("event") and has("fields") and has("prev_hash") and has("hash")' true "$first"
events=$(jq -r .event <<<"$out" | sort -u | tr '\n' ' ')
out=$events
for event in session_captured session_restored confidence_decay_applied pending_task_surfaced session_chain_traversal \
  session_override; do expect_out_has "$event"; done
day 20T09:00:03 audit --scope coder --limit 1
expect_code 0
expect_out_has session_
day 20T09:00:03 audit --scope coder --head
expect_code 0
head=$out
day 20T09:00:03 audit --scope coder --verify --expect "$head"
expect_code 0
expect_out_has "head $head"
day 20T09:00:03 audit --verify --json
expect_json '.scopes|map(.scope)|index("coder") != null' true
day 20T09:00:03 audit --scope coder --verify --expect "99999:${head#*:}"
expect_code 5
run audit --expect 1:x
expect_code 2

# ---- secrets --------------------------------------------------------------------

about 'redact --check' # X-14
printf 'first line\nkey ghp_%s and\npassword=hunter2hunter2\n' aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5 >"$work/leak"
run redact --check "$work/leak"
expect_code 0
expect_out_has 'key [REDACTED] and'
expect_out_has 'password=[REDACTED]'
expect_err_has "$work/leak:2:5: "
expect_err_has "$work/leak:3:10: "
run redact --check "$work/leak" --strict
expect_code 8
expect_err_has '2 secrets found'
run redact --check - --json <"$work/leak"
expect_code 0
expect_json '[.file,(.secrets|length),.secrets[1].line,.secrets[1].column]' '["stdin",2,3,10]'
printf 'nothing here\n' >"$work/plain"
run redact --check "$work/plain" --strict
expect_code 0
expect_quiet
expect_out 'nothing here'
run redact
expect_code 2
run redact --check a --apply b
expect_code 2

about 'redact --apply' # X-14
run start --scope leak --id leak
run append leak message '{"role":"user","content":"the word is Zanzibar-Quartz"}'
printf 'Zanzibar-Quartz\n' >"$work/word"
run redact --apply leak --text-file "$work/word" --dry-run --json
expect_code 0
expect_json '[.session_id,.secrets,.dry_run]' '["leak",1,true]'
run redact --apply leak --text-file "$work/word" --json
expect_code 0
expect_json '.dry_run' false
run log leak --kind message
expect_out_has 'the word is [REDACTED]'
checks=$((checks + 1))
grep -rqa Zanzibar-Quartz "$work"/test.db* "$work"/sessions 2>/dev/null && fail 'the secret is still in the files'

# ---- moments ----------------------------------------------------------------------

about evidence # L-07
at 10:00:00 start --scope lecture --id lecture
at 10:00:10 append lecture note '{"id":"n1","text":"a slide with a whale","timestamp":12.5}'
at 10:00:11 append lecture frame '{"frame_id":"f1","timestamp":13}'
at 10:05:00 append lecture note '{"id":"n2","text":"questions","timestamp":300}'
at 10:05:10 evidence lecture --at 5m --window 20s --json
expect_code 0
expect_json '[(.notes|map(.body.id)),(.frames|map(.body.frame_id))]' '[["n1"],["f1"]]'
at 10:05:10 evidence lecture --video-at 301.5 --window 10
expect_out_has questions
expect_out_lacks whale
at 10:05:10 evidence lecture --at 2026-03-03T08:00:00Z
expect_code 0
expect_out ''
expect_err_has 'nothing around that moment'
run evidence lecture
expect_code 2

# ---- elsewhere --------------------------------------------------------------------

about 'other formats' # N-06, C-11
run export lecture --format markdown -o "$work/lecture.md"
expect_code 0
expect_ok grep -q whale "$work/lecture.md"
run export "$robot1" --format nova -o "$work/session.json"
expect_code 0
run import "$work/session.json" --json
expect_code 0
expect_json '[.session_id,.skipped]' "[\"$robot1\",true]" # it is there already
elsewhere=sqlite:$work/elsewhere.db
run --db "$elsewhere" import "$work/session.json" --scope copy --dry-run --json
expect_code 0
expect_json .skipped false
run --db "$elsewhere" ls --json
expect_json '.sessions|length' 0
run --db "$elsewhere" import "$work/session.json" --format nova --scope copy
expect_code 0
expect_out_has taken
expect_err_has '1 session taken in, 0 skipped'
run --db "$elsewhere" ls --scope copy --json
expect_json '.sessions|length' 1
run export work-1 --format cortex
expect_code 2
expect_err_has '-o brain.db'
run export work-1 --format cortex -o "$work/brain.db"
expect_code 0
run import - --format clawd </dev/null
expect_code 2

about 'a pin that was taken off or replaced stays so' # X-17
day 21T09:00:00 start --scope off --id off-1
day 21T09:00:01 pin off-1 gone 'no longer so' --importance critical
day 21T09:00:02 pin off-1 stay 'still so' --importance critical
day 21T09:00:03 pin off-1 n old --importance critical
day 21T09:00:04 end off-1
day 21T10:00:00 start --scope off --id off-2
expect_json .inherited.pins 3
day 21T10:00:01 unpin off-2 gone
expect_code 0
day 21T10:00:02 pin off-2 n NEW
day 21T10:00:03 end off-2
for i in 3 4 5 6; do # the fourth of these restores neither of the first two
  day "21T1$i:00:00" start --scope off --id "off-$i"
  expect_json .inherited.pins 2
  day "21T1$i:00:01" pins "off-$i" --json
  expect_json '.pins|map([.label,.content])|sort' '[["n","NEW"],["stay","still so"]]'
  day "21T1$i:00:02" end "off-$i"
done
day 21T17:00:00 brief --scope off --explain --json
expect_json '.pins|map(select(.verdict=="dropped"))|map([.session_id,.label])|sort' '[["off-1","gone"],["off-1","n"]]'

about 'why, in the log' # X-16
REPRISE_NOW=2026-03-04T15:00:00Z REPRISE_DEBUG=1 run brief --scope coder
expect_err_has 'session work-1: '
expect_err_has 'pin "dummy load"'
REPRISE_NOW=2026-03-04T15:00:00Z CORTEX_SESSION_DEBUG=1 run start --scope coder --id work-4
expect_code 0
expect_err_has 'session work-1: '

about metrics
run stats --metrics
expect_code 0
expect_out_has '# TYPE reprise_'

finish
