#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Lists: whose sessions, in which order and shape, and how they fit a terminal.
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/../../lib/assert.sh"
export HOME=$work/user
mkdir -p "$HOME/.claude"

# Runs on a terminal of $1 columns.
run_tty() {
  local words columns=$1
  shift
  printf -v words '%q ' "$REPRISE" "$@"
  out=$(TERM=xterm NO_COLOR=1 COLUMNS=$columns script -qec "$words" /dev/null </dev/null | tr -d '\r'; exit "${PIPESTATUS[0]}")
  code=$? err=''
}
# The sessions' keys in the order of the list.
expect_keys() {
  local wanted=$1
  shift
  run ls --json "$@"
  expect_code 0
  expect_json '[.sessions[].key]|join(" ")' "$wanted"
}
minute() {
  local m=$1
  shift
  REPRISE_NOW=2026-01-31T12:$m:00Z run "$@"
}
say() { printf '{"role":"user","content":"%s"}' "$1"; }

about 'by last activity' # O-06
minute 00 start --scope zoo --key otters
minute 01 start --scope zoo --key seals
minute 02 start --scope zoo --key a-key-that-is-as-long-as-people-make-them
minute 03 append otters message "$(say 'Count all of the animals first')"
minute 04 append otters message "$(say 'Feed the otters at noon, then tell the keeper of the seals all about it')"
expect_keys 'otters a-key-that-is-as-long-as-people-make-them seals'
expect_keys 'otters a-key-that-is-as-long-as-people-make-them' --limit 2
page=$(jq -r .cursor <<<"$out")
expect_keys seals --limit 2 --cursor "$page"
minute 05 append seals session '{"name":"The seals of the north"}'
expect_keys 'seals otters a-key-that-is-as-long-as-people-make-them'
expect_keys 'seals otters' --since 2026-01-31T12:04:00Z

about titles
minute 06 ls
expect_out_has 'The seals of the north'
expect_out_has 'Feed the otters at noon, then tell the keeper of the seals all about it'
expect_out_lacks 'Count all'
expect_out_has 'a-key-that-is-as-long-as-people-make-them'
expect_out_has 'SCOPE'
minute 06 append a-key-that-is-as-long-as-people-make-them message '{"role":"assistant","content":"not asked for"}'
minute 06 append a-key-that-is-as-long-as-people-make-them message \
  '{"role":"user","content":[{"type":"text","text":"\n  in \u001b[31mblocks"}]}'
minute 06 ls
expect_out_has '  in [31mblocks'

about 'as wide as the terminal'
for columns in 40 60 80 100 140 200; do
  REPRISE_NOW=2026-01-31T12:07:00Z run_tty $columns ls --all
  expect_code 0
  widest=0
  while IFS= read -r line; do ((${#line} > widest)) && widest=${#line}; done < <(grep -v '^the sessions of' <<<"$out")
  checks=$((checks + 1))
  ((widest <= columns)) || fail "a line of $widest columns in $columns"
done
expect_out_has 'a-key-that-is-as-long-as-people-make-them' # 200: all of it
expect_out_has 'all about it'
REPRISE_NOW=2026-01-31T12:07:00Z run_tty 100 ls --scope zoo
expect_out_has 'a-key-that-is-as-long-as-people-make-them' # keys are whole where they fit
expect_out_lacks 'all about it'
expect_out_has '…'
expect_out_lacks SCOPE

about 'inside a project the scope is its own'
mkdir -p "$work/repo/.git" "$work/repo/src/deep" "$work/agents/.gemini" "$work/agents/sub" "$HOME/plain"
ln -s repo "$work/link"
cd "$work/repo/src/deep" || exit 1
run start --key mine
expect_code 0
scope=$(jq -r .scope <<<"$out")
checks=$((checks + 1))
[[ $scope == repo-?????? ]] || fail "the scope is $scope"
cd "$work/link" || exit 1
expect_keys mine
expect_keys 'mine a-key-that-is-as-long-as-people-make-them seals otters' --all
expect_keys 'a-key-that-is-as-long-as-people-make-them seals otters' --scope zoo
run brief --json --explain
expect_code 0
expect_json .scope "$scope"
run remember mine 'the gate code is on the board'
run memories gate --json
expect_json '.memories[0].scope' "$scope"
REPRISE_SCOPE=zoo run ls --json
expect_json '.sessions|length' 3
REPRISE_SCOPE='no scope' run ls --json
expect_code 2
run_tty 80 ls
expect_out_has "the sessions of the scope $scope; --all lists every scope's"
run_tty 80 ls --all
expect_out_lacks 'every scope'
run ls --all --scope zoo
expect_code 2
cd "$work/agents/sub" || exit 1
run start --key theirs
expect_json '.scope[0:7]' agents-

about 'the scope is the one that bridges have'
cd "$work/repo" || exit 1
printf '%s\n%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
  '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"remember","arguments":{"text":"the bridge was here"}}}' |
  "$REPRISE" mcp >"$work/mcp.out" 2>&1
run memories bridge
expect_out_has 'the bridge was here'

about 'elsewhere it must be named, and ls lists all'
cd "$HOME/plain" || exit 1 # the settings at home are the user's, not a project's
for words in start brief memories; do
  run $words --json
  expect_code 2
  expect_error usage
  expect_json .error.field scope "$err"
done
run ls --json
expect_json '.sessions|length' 6

about 'lists have one shape' # {"noun":[…]}
cd "$work" || exit 1
run checkpoint otters
run pin otters gate 'is open'
while read -r noun words; do
  # shellcheck disable=SC2086
  run $words --json
  expect_code 0
  expect_json "type + \" \" + (.$noun|type)" 'object array'
  checks=$((checks + 1))
  (($(wc -l <<<"$out") == 1)) || fail 'not one document'
done <<'LISTS'
sessions ls
sessions chain otters
sessions trash
sessions hold --list
hits search otters
pins pins otters
tasks tasks otters
memories memories --scope zoo
snapshots snapshots otters
events feel --list
checks doctor
findings verify
tokens token ls
options config show
items gc --dry-run
scopes audit --verify
notes evidence otters --at 5m
LISTS
run pins otters --json
expect_json '.pins[0].label' gate

about 'streams are a document per line'
for words in 'log otters' audit; do
  # shellcheck disable=SC2086
  run $words --json
  expect_json '[inputs|type]|unique|join(" ")' object
done

finish
