#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# B-09, X-15, L-09 on the command line: rm, trash, untrash, hold, gc.
# shellcheck disable=SC1091,SC2034,SC2154,SC2217
. "$(dirname "$0")/../../lib/assert.sh"

# Noon of a day; the clock of each command goes on from there.
at() { export REPRISE_NOW=2026-$1T12:00:00Z; }
# A session that has ended, with its key; $id is its id.
ended() {
  run start --scope nova --key "$1"
  id=$(jq -r .session_id <<<"$out")
  run append "$id" message "{\"role\":\"user\",\"content\":\"$1 says hello\"}"
  run end "$id"
  expect_code 0
}

about 'nothing there'
run trash
expect_code 0
expect_out ''
run trash --json
expect_json .sessions '[]'
run gc
expect_code 0
expect_out '0 abandoned, 0 archived, 0 to the trash, 0 deleted (0 B), 0 kept'
run rm nobody --json
expect_code 3
expect_error session.not_found
run untrash nobody
expect_code 3
run hold nobody
expect_code 3
run hold --list --json
expect_json .sessions '[]'

about 'rm and back'
at 01-10
ended kitchen
kitchen=$id
ended garden
garden=$id
run rm kitchen
expect_code 0
expect_out "$kitchen is in the trash; until 2026-01-17 12:00:00 UTC 'reprise untrash $kitchen' takes it back"
run ls --json
expect_json '[.sessions[].session_id]' "[\"$garden\"]"
run show kitchen
expect_code 3
run trash
expect_out_has kitchen
expect_out_has '7 days'
run trash --json
expect_json '[.sessions[]|[.session_id,.key,.until[:16]]]' "[[\"$kitchen\",\"kitchen\",\"2026-01-17T12:00\"]]"
run untrash kitchen
expect_code 0
expect_out "$kitchen is back"
run untrash kitchen --json
expect_code 3
expect_error session.not_found
run show kitchen
expect_code 0

about 'hold'
run hold kitchen --json
expect_json '[.session_id,.held]' "[\"$kitchen\",true]"
run hold --list
expect_out_has kitchen
run rm kitchen --json
expect_code 8
expect_error session.on_hold
expect_err_has 'hold'
run rm kitchen --now --yes
expect_code 8
run hold kitchen --off
expect_out "$kitchen is no longer on hold"
run hold
expect_code 2
run hold kitchen --list
expect_code 2

about 'in use'
sleep 1000 &
owner=$!
run start --scope nova --key busy --owner $owner
run rm busy --json
expect_code 4
expect_error session.held
run rm busy --now --yes
expect_code 4
kill $owner
wait $owner 2>/dev/null

about 'for good'
ended cellar
cellar=$id
run rm cellar --now </dev/null
expect_code 2
expect_err_has '--yes'
run show cellar
expect_code 0
run rm cellar --now --yes
expect_code 0
expect_out "deleted $cellar for good"
run show "$cellar"
expect_code 3
ended attic
run rm attic
run rm attic --now --yes --json
expect_json '[.session_id,.deleted]' "[\"$id\",true]"
run audit --json
expect_out_has '"deletion"'
expect_out_has "$cellar"

about 'asking'
# Runs on a terminal, where somebody types the first argument.
run_asked() {
  local words typed=$1
  shift
  printf -v words '%q ' "$REPRISE" "$@"
  out=$(TERM=dumb COLUMNS=80 script -qec "$words" /dev/null <<<"$typed" | tr -d '\r'; exit "${PIPESTATUS[0]}")
  code=$? err=''
}
ended shed
run_asked n rm shed --now
expect_code 1
expect_out_has "Delete session $id (2 events, "
expect_out_has 'nothing was deleted'
run show shed
expect_code 0
run_asked y rm shed --now
expect_code 0
expect_out_has 'for good'
run show shed
expect_code 3
ended porch
run_asked '' rm porch
expect_code 0
run_asked '' trash --empty
expect_code 0
expect_out_has 'emptying the trash ['

about 'emptying the trash'
run rm garden
run trash --dry-run
expect_code 2
run trash --empty --dry-run --json
expect_json '[.deleted,.dry_run]' '[1,true]'
run trash --json
expect_json '.sessions|length' 1
run hold garden
run trash --empty --json
expect_json '[.deleted,.kept]' '[0,1]'
run hold garden --off
expect_ok test -f "$work/sessions/$garden.json"
run trash --empty
expect_code 0
expect_ok test ! -e "$work/sessions/$garden.json"
expect_out_has 'deleted 1 of 1 sessions'
run trash --json
expect_json '.sessions' '[]'
run show "$garden"
expect_code 3

about 'gc: ages'
at 02-01
ended hall
hall=$id
export REPRISE_NOW=2026-02-15T11:00:00Z
run gc --dry-run --older-than 20d --json
expect_code 0
expect_json '[.items[]|[.action,.session_id]]' "[[\"archive\",\"$kitchen\"],[\"trash\",\"$kitchen\"]]"
expect_json '[.summary.archived,.summary.trashed,.summary.dry_run]' '[1,1,true]'
said=$(jq -c '[.items[]|[.action,.session_id,.reason,.bytes]]' <<<"$out")
run trash --json
expect_json '.sessions' '[]'
expect_ok test -f "$work/sessions/$kitchen.json"
run gc --older-than 20d --json
expect_json '[.items[]|[.action,.session_id,.reason,.bytes]]' "$said"
expect_json '[.summary.archived,.summary.trashed,.summary.dry_run]' '[1,1,false]'
expect_ok test -f "$work/archive/2026-01/$kitchen.json.gz"
expect_json '[.session_id,.schema_version]' "[\"$kitchen\",1]" "$(gunzip -c "$work/archive/2026-01/$kitchen.json.gz")"
expect_ok test ! -e "$work/sessions/$kitchen.json"
run trash
expect_out_has kitchen
export REPRISE_NOW=2026-02-21T13:00:00Z
run gc --dry-run
expect_out_has '0 deleted'
run trash
expect_out_has ' hours'
export REPRISE_NOW=2026-02-22T13:00:00Z
run gc
expect_out_has "delete   ${kitchen:0:13}"
expect_out_has 'in the trash for 7 days'
expect_out_has '1 deleted'
expect_ok test ! -e "$work/archive/2026-01/$kitchen.json.gz"
run show "$kitchen"
expect_code 3
run show hall
expect_code 0

about 'gc: configured'
at 02-28
printf '[scope nova]\nretain_days = 10\n' >"$work/x.ini"
run --config "$work/x.ini" gc --json
expect_json '[.items[]|[.action,.session_id]]' "[[\"trash\",\"$hall\"]]"
run --config "$work/x.ini" gc --scope other --json
expect_json .items '[]'
run untrash hall
run hold hall
run --config "$work/x.ini" gc
expect_out_has "keep     ${hall:0:13}"
expect_out_has 'on hold'
REPRISE_DISK_BUDGET=lots run gc --json
expect_code 2
expect_error config.invalid
run gc --budget lots
expect_code 2
expect_err_has '512M'
run gc --older-than soon
expect_code 2

about 'gc: budget'
head -c 400000 /dev/urandom | base64 -w 0 >"$work/noise"
printf '{"text":"%s"}' "$(<"$work/noise")" >"$work/body"
for i in 1 2 3 4; do
  at "03-0$i"
  run start --scope big --key "big$i"
  run append "big$i" x-noise - <"$work/body"
  run end "big$i"
done
run gc --budget 1M --dry-run --json
said=$(jq -c '[.items[]|[.action,.session_id]]' <<<"$out")
expect_json '.items[0].session_id' "$hall"
expect_json '.items[0].action' keep
run gc --budget 1M --json
expect_json '[.items[]|[.action,.session_id]]' "$said"
expect_json '.summary.deleted > 0 and .summary.deleted < 4' true
checks=$((checks + 1))
[[ $(stat -c %s "$work/test.db") -le 1048576 ]] || fail 'the file is over its budget'
run ls --scope big --json
expect_json '[.sessions[].key]|index("big4") != null and index("big1") == null' true

about 'gc: abandoned'
at 04-01
run start --scope web --key call --channel phone
call=$(jq -r .session_id <<<"$out")
run append call message '{"role":"user","content":"hello?"}'
run start --scope web --key desk
export REPRISE_NOW=2026-04-01T13:00:01Z
run gc --scope web --json
expect_json '[.items[]|[.action,.session_id,.reason]]' "[[\"abandon\",\"$call\",\"no activity for 60 minutes\"]]"
run show "$call" --json
expect_json .status abandoned
run ls --status abandoned --json
expect_json '.sessions|length' 1

about 'words'
for command in gc trash untrash hold rm; do
  run "$command" --help
  expect_code 0
  expect_out_has "usage: reprise $command"
  expect_out_has 'example'
done
unset REPRISE_NOW
run verify
expect_code 0
run audit --verify
expect_code 0

finish
