#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What was worked on, by project and day: two weeks, several projects, languages, a crash, an unfinished request.
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/../../lib/assert.sh"
export HOME=$work/user
mkdir -p "$HOME"

# Runs at a moment: DAY TIME WORDS… of November 2026; the 18th is a Wednesday.
at() {
  local day=$1 time=$2
  shift 2
  REPRISE_NOW=2026-11-${day}T$time:00Z run "$@"
}
asks() { at "$1" "$2" append "$3" message "$(jq -nc --arg t "$4" '{role:"user",content:$t}')"; }
answers() { at "$1" "$2" append "$3" message "$(jq -nc --arg t "$4" '{role:"assistant",content:$t}')"; }
edits() { at "$1" "$2" append "$3" tool "$(jq -nc --arg f "$4" --arg c "$2" '{call_id:("e"+$c+$f),name:"Edit",status:"done",input:{file_path:$f}}')"; }
bash_call() {
  at "$1" "$2" append "$3" tool "$(jq -nc --arg x "$4" --arg c "$2" --arg s "$5" --arg o "$6" \
    '{call_id:("b"+$c),name:"Bash",status:$s,input:{command:$x},output:$o}')"
}
begins() { at "$1" "$2" start --scope "$3" --key "$4"; }
recap() {
  REPRISE_NOW=2026-11-18T20:00:00Z run recap "$@"
}
# Runs on a terminal of $1 columns.
recap_tty() {
  local words columns=$1
  shift
  printf -v words '%q ' "$REPRISE" recap "$@"
  out=$(REPRISE_NOW=2026-11-18T20:00:00Z TERM=xterm NO_COLOR=1 COLUMNS=$columns script -qec "$words" /dev/null </dev/null | tr -d '\r')
  code=$? err=''
}

begins 04 09:00 shop old
asks 04 09:00 old 'Add a footer with the address'
answers 04 09:05 old 'The footer is there.'
at 04 09:10 end old

at 11 09:00 start --scope shop --id absturz # without a key, so that the next start ends it: it crashed
asks 11 09:01 absturz 'Rename the table of orders'
bash_call 11 09:02 absturz 'psql -f rename.sql' running ''

begins 16 10:00 shop basket
asks 16 10:00 basket 'Baue den Warenkorb so um, dass er nach dem Neuladen noch da ist'
edits 16 10:10 basket /srv/shop/src/basket.ts
bash_call 16 10:12 basket 'git commit -m "Keep the basket"' done '[main 1a2b3c4] Keep the basket'
answers 16 10:15 basket 'Der Warenkorb bleibt jetzt erhalten.'
asks 17 23:50 basket 'Write a test for the basket that reloads the page twice'
edits 18 00:10 basket /srv/shop/test/basket.test.ts
bash_call 18 00:12 basket 'npm test' failed 'Error: expected 2 items but got 0'
at 18 00:13 append basket todo '{"items":[{"content":"Make the test pass","status":"in_progress"},{"content":"Tidy up","status":"completed"}]}'

begins 17 11:00 hafen licht
asks 17 11:00 licht '请把登录页面的按钮改成蓝色，并且检查所有的测试都能通过'
answers 17 11:05 licht '按钮已经改成蓝色，测试全部通过。'
at 17 11:10 end licht
begins 17 12:00 hafen quiet
at 17 12:01 end quiet

begins 17 18:00 werft kran
asks 17 18:00 kran 'Fix the brakes of the crane so that they hold in a storm'
answers 17 18:01 kran 'Shall I take the old ones off first?'
asks 18 08:00 kran 'continue'

begins 18 15:00 hafen sturm
asks 18 15:00 sturm 'first things first'
asks 18 15:01 sturm "$(printf 'Look at \033]0;owned\007 this \033[2J\033[31m log \302\233 and \342\200\256 turn it')"

about 'by project and day' # B-13
recap --all --utc
expect_code 0
shown=$(grep -v '^ ' <<<"$out")
checks=$((checks + 1))
[[ $shown == $'hafen\nWednesday 18 November (today)\nTuesday 17 November (yesterday)\n\nwerft\nWednesday 18 November (today)\nTuesday 17 November (yesterday)\n\nshop\nTuesday 17 November (yesterday)\nMonday 16 November' ]] || fail "the headings are $shown"
expect_out_has '  11:00  '
expect_out_has '请把登录页面的按钮改成蓝色，并且检查所有的测试都能通过'
expect_out_has 'Baue den Warenkorb so um, dass er nach dem Neuladen noch da ist'
expect_out_has 'answer: Der Warenkorb bleibt jetzt erhalten.'
expect_out_has 'committed: 1a2b3c4 Keep the basket'
expect_out_has 'before: first things first'
expect_out_has 'NOT FINISHED: '
expect_out_has 'fails: npm test — '
expect_out_has 'open: Make the test pass'
expect_out_lacks 'Tidy up'
expect_out_lacks 'footer'
expect_err_has '1 session without a request'

about 'a day has what was done on it, also after midnight'
recap --utc --scope shop --on yesterday
expect_out_has 'test/basket.test.ts'
expect_out_lacks 'src/basket.ts'
expect_out_lacks 'Warenkorb'
recap --utc --scope shop --on 'last monday'
expect_out_has 'src/basket.ts'
expect_out_lacks 'NOT FINISHED'
expect_out_lacks 'npm test'

about 'a go-on tells what went on'
recap --utc --scope werft --on today
expect_out_has '08:00  '
expect_out_has 'Fix the brakes of the crane'
expect_out_has 'NOT FINISHED: no answer came'
expect_out_lacks 'continue'

about 'a crash'
recap --utc --scope shop --on 2026-11-11
expect_out_has 'Wednesday 11 November'
expect_out_has '09:01  absturz  Rename the table of orders'
expect_out_has 'NOT FINISHED: it ended at a tool'
recap --utc --scope shop --on 2026-11-11 --json
expect_json '.projects[0].days[0].sessions[0]|[.last_request_end,.active]|join(" ")' 'tool false'

about 'times in words'
for words in '--since monday' '--since 2026-11-16' '--since 3d' "--since '2 days'" "--since '2 days ago'" '--since Monday'; do
  eval "recap --json --utc --scope shop $words"
  expect_json '[.projects[].days[].day]|join(" ")' '2026-11-17 2026-11-16'
done
recap --json --utc --scope shop --since '3 weeks'
expect_code 2
expect_error usage
expect_json .error.field since "$err"
expect_err_has 'last tuesday'
recap --json --utc --scope shop --on 'last nonsense'
expect_json .error.field on "$err"
recap --json --since today --until monday
expect_json .error.field until "$err"
recap --json --on today --since monday
expect_json .error.field on "$err"
recap --json --all --scope shop
expect_json .error.field all "$err"
recap --json --utc --scope shop --until 2026-11-04
expect_json '.projects[0].days[0].sessions[0].last_request' 'Add a footer with the address'
recap --json --utc --scope shop --since 2026-11-01 --until tuesday
expect_json '[.projects[].days[].day]|join(" ")' '2026-11-17 2026-11-16 2026-11-11 2026-11-04'

about 'days are local ones'
out=$(TZ=Asia/Tokyo REPRISE_NOW=2026-11-18T20:00:00Z "$REPRISE" recap --json --scope shop)
expect_json '[.projects[].days[].day]|join(" ")' '2026-11-18 2026-11-16'

about 'documents'
recap --all --utc --json
expect_json '[.projects[].scope]|join(" ")' 'hafen werft shop'
expect_json .silent 1
expect_json .unreadable 0
expect_json .more false
expect_json '.projects[2].days[0].sessions[0]|.last_request_end' open
expect_json '.projects[2].days[1].sessions[0]|[.last_request_end,.files[0].path,.commits[0].commit]|join(" ")' \
  'answered /srv/shop/src/basket.ts 1a2b3c4 Keep the basket'

about 'a request drives no terminal, and fits one'
for columns in 24 40 80 160; do
  recap_tty $columns --all --utc
  checks=$((checks + 1))
  [[ $out != *$'\033'* && $out != *$'\007'* && $out != *$'\302\233'* && $out != *$'\342\200\256'* ]] || fail 'control characters'
  widest=0
  while IFS= read -r line; do
    wide=$(wc -L <<<"$line")
    ((wide > widest)) && widest=$wide
  done < <(grep '^ ' <<<"$out")
  checks=$((checks + 1))
  ((widest <= (columns < 40 ? 40 : columns))) || fail "a line of $widest columns in $columns"
done
REPRISE_NOW=2026-11-18T20:00:00Z run chain sturm
expect_out_lacks $'\033'
expect_out_has 'Look at'

about 'lists say what was asked last'
REPRISE_NOW=2026-11-18T20:00:00Z run ls --all
expect_out_has 'Write a test for the basket that reloads the page twice'
expect_out_lacks 'Baue den'
expect_out_lacks $'\033'
at 18 19:00 append basket session '{"name":"The basket"}'
REPRISE_NOW=2026-11-18T20:00:00Z run ls --all
expect_out_has 'The basket · Write a test'
run ls --all --json
expect_json '.sessions[]|select(.key=="licht")|.last_request_end' answered
expect_json '.sessions[]|select(.key=="basket")|[.last_request_end,.files_changed,.last_request_at[:19]]|@csv' \
  '"open",2,"2026-11-17T23:50:00"'
expect_json '.sessions[]|select(.key=="quiet")|has("last_request")' false
run chain licht --json
expect_json '.sessions[-1].last_request_end' answered
run show basket --json
expect_json .last_request 'Write a test for the basket that reloads the page twice'

about 'the ids that a brief names are good for search and log'
REPRISE_NOW=2026-11-18T20:00:00Z run brief --scope shop --json
id=$(jq -r '.brief' <<<"$out" | sed -n 's/.*reprise log \([0-9a-f-]*\).*/\1/p')
checks=$((checks + 1))
[[ ${#id} == 13 ]] || fail "the brief names '$id'"
run log "$id"
expect_code 0
run search Warenkorb
expect_out_has "$(jq -r '.sessions[]|select(.key=="basket")|.session_id' <<<"$("$REPRISE" ls --all --json)" | cut -c1-13)"

for n in one two; do
  at 18 17:0${#n} start --scope own --id a-chosen-name-$n
  asks 18 17:1${#n} a-chosen-name-$n "Count the whales, $n"
  at 18 17:2${#n} end a-chosen-name-$n
done
REPRISE_NOW=2026-11-18T20:00:00Z run brief --scope own --json
for n in one two; do
  checks=$((checks + 1))
  [[ $out == *"a-chosen-name-$n"* ]] || fail "the brief does not name a-chosen-name-$n"
done
run search whales
expect_out_has 'a-chosen-name-one '
expect_out_has 'a-chosen-name-two '

about 'a sealed scope is told with its key alone'
(umask 077 && head -c 32 /dev/urandom >"$work/key")
printf '[scope tresor]\nkey_file = %s\n' "$work/key" >"$work/sealed.ini"
export REPRISE_CONFIG=$work/sealed.ini
for name in ended open; do
  begins 18 16:00 tresor $name
  asks 18 16:01 $name "Move the secret garden, $name"
done
at 18 16:02 end ended
recap --scope tresor --utc
expect_out_has 'Move the secret garden, ended'
expect_out_has 'Move the secret garden, open'
run ls --scope tresor
expect_out_has 'Move the secret garden, ended'
unset REPRISE_CONFIG
recap --scope tresor --utc
expect_code 0
expect_out_lacks garden
expect_err_has "2 sessions can't be read"
recap --scope tresor --utc --json
expect_json .unreadable 2

about 'no store yet'
REPRISE_DB=sqlite:$work/none.db recap --scope nowhere --json
expect_code 0
REPRISE_HOME=$work/empty REPRISE_DB='' recap --scope nowhere --json
expect_json '.projects|length' 0

finish
