#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every command on a store, every exit code, JSON and human output.
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/../../lib/assert.sh"
message() { printf '{"role":"%s","content":"%s"}' "$1" "$2"; }

about 'nothing there yet'
run verify
expect_code 0
run config show
expect_code 0
expect_ok test ! -e "$work/test.db"
run ls --json
expect_code 0
expect_json .sessions '[]'
run show last
expect_code 3

about start # N-02, O-06
run start --scope nova --key kitchen --provider test --meta '{"a":1}' --topics tea,cake
expect_code 0
expect_quiet
expect_json '[.scope,.key,.channel,.status,.epoch,.resumed,.restart.type,.restart.cause]' \
  '["nova","kitchen","cli","created",1,false,"fresh_start",null]'
expect_json '.total_sessions' 1
id=$(jq -r .session_id <<<"$out")
run start --scope nova --key kitchen
expect_code 0
expect_json '[.session_id,.epoch,.resumed]' "[\"$id\",2,true]"
run start --scope nova --id my-own-id --channel phone --mode auto
expect_json '[.session_id,.channel]' '["my-own-id","phone"]'
run start --scope nova --id '../../etc/passwd' --json
expect_code 2
expect_error usage
run start --scope nova --key kitchen --meta '[]'
expect_code 2
run start --scope nova --key nobody --mode resume --json
expect_code 3
expect_error session.not_found

about 'owners' # B-05: a living other owner is a conflict
sleep 1000 &
owner=$!
run start --scope nova --key owned --owner $owner
expect_code 0
run start --scope nova --key owned --owner $$ --json
expect_code 4
expect_error session.held
expect_err_has "$owner"
run start --scope nova --key owned --owner $owner
expect_json .repeated true
run start --scope nova --key owned --owner $$ --force
expect_code 0
expect_json .epoch 2
run append owned x-note '{}' --epoch 1 --json
expect_code 4
expect_error session.fenced
expect_out ''
run append owned x-note '{}' --epoch 2
expect_code 0
kill $owner
wait $owner 2>/dev/null
run start --scope nova --key owned --owner 999999999
expect_code 2

about append # B-01
run append kitchen message "$(message user hello)"
expect_code 0
expect_json .durability disk
seq=$(jq .seq <<<"$out")
run append "$id" message "$(message assistant 'good morning')" --expect "$seq" --durability os
expect_json '[.seq,.durability]' "[$((seq + 1)),\"os\"]"
run append kitchen message "$(message user again)" --expect "$seq" --json
expect_code 4
expect_error event.seq_conflict
run append kitchen x-a '{}' --durability memory
expect_json .durability os
run append kitchen x-a '{"n":1}' --idempotency-key k1
first=$out
run append kitchen x-a '{"n":1}' --idempotency-key k1
expect_json .repeated true
expect_json .seq "$(jq .seq <<<"$first")"
run append kitchen x-a '{"n":2}' --idempotency-key k1 --json
expect_code 4
expect_error request.key_reused
run append kitchen note '{"id":"n1","text":"from stdin"}' --at 2020-01-02T03:04:05Z
expect_code 0
run append kitchen note <<<$'{"id":"n2",\n "text":"two lines"}\n'
expect_code 0
two_lines=$(jq .seq <<<"$out")
run append kitchen note - <<<'{"id":"n3","text":"a dash"}'
expect_code 0
run append kitchen message '{"role":"user"}' --json
expect_code 2
expect_error event.invalid
expect_json .error.field body.content "$(tail -n 1 <<<"$err")"
run append kitchen message '{' --json
expect_code 2
expect_error json.malformed
run append kitchen nonsense '{}'
expect_code 2
run append kitchen x-a </dev/null
expect_code 2
run append nobody x-a '{}' --json
expect_code 3
expect_error session.not_found
{ printf '{"a":"'; head -c 1100000 /dev/zero | tr '\0' x; printf '"}'; } >"$work/large"
run append kitchen x-a - --json <"$work/large"
expect_code 8
expect_error limit.size

about references
run show "${id:0:13}"
expect_code 0
run show last --json
expect_code 0
run show no-such
expect_code 3
expect_err_has 'reprise: show: '

about heartbeat
run heartbeat kitchen
expect_code 0
expect_out ''
run heartbeat kitchen --json
expect_json .session_id "$id"
run heartbeat nobody
expect_code 3

about 'ls and show'
run ls
expect_code 0
expect_out_has "${id:0:13}"
expect_out_has 'kitchen'
expect_out_has 'STATUS'
run ls --json --scope nova
expect_json '.sessions|length' 3
expect_json '.cursor' null
expect_json '[.sessions[]|select(.key=="kitchen")|.session_id]' "[\"$id\"]"
run ls --json --scope other
expect_json '.sessions' '[]'
run ls --json --limit 1
expect_json '.sessions|length' 1
page=$(jq -r .cursor <<<"$out")
run ls --json --limit 2 --cursor "$page"
expect_json '.sessions|length' 2
run ls --json --status closed
expect_json '.sessions|length' 0
run ls --json --since 1h
expect_json '.sessions|length' 3
REPRISE_NOW=2099-01-01T00:00:00Z run ls --json --since 1h
expect_json '.sessions|length' 0
REPRISE_NOW=2099-01-01T00:00:00Z run ls
expect_out_has ' d ago'
run show kitchen
expect_out_has "$id"
run show kitchen --json
expect_json '[.session_id,.scope,.key,.provider]' "[\"$id\",\"nova\",\"kitchen\",\"test\"]"
expect_json '[.run.session_id,.run.restart_type,.run.start_number]' "[\"$id\",\"crash_recovery\",2]" # N-18
expect_json '.run|[.total_sessions >= .start_number,.elapsed == .elapsed_since_last,.uptime >= 0]' '[true,true,true]'
expect_json '[.usage.cost_usd,.usage.tokens_in]' '[0,0]' # L-12
run show kitchen
expect_out_has 'start 2, crash recovery (away for '
expect_out_has ', up for '
expect_out_lacks usage
REPRISE_BUDGET_TOKENS=1000 run show kitchen
expect_out_has '$0.00, 0 tokens in, 0 out of 1000 (0 %)'
REPRISE_BUDGET_USD=1.5 run show kitchen --json
expect_json '.usage|[.budget_usd,.budget_usd_share,.budget_tokens]' '[1.5,0,null]'

about log
run log kitchen --json
expect_code 0
expect_json 'map(.seq) == [range(1; length + 1)]' true "$(jq -sc . <<<"$out")"
last=$(tail -n 1 <<<"$out" | jq .seq)
checks=$((checks + 1))
[[ $(wc -l <<<"$out") == "$last" ]] || fail 'not one line per event'
run log kitchen --json --after "$((two_lines - 1))" --limit 1
expect_out_has '"body":{"id":"n2",  "text":"two lines"}'
run log kitchen --json --kind note
expect_json '[.body.id,.at]' '["n1","2020-01-02T03:04:05.000Z"]' "$(head -n 1 <<<"$out")"
checks=$((checks + 1))
[[ $(wc -l <<<"$out") == 3 ]] || fail 'not the three notes'
run log kitchen --kind message --limit 1
expect_out_has 'user: hello'
run log kitchen --after 100000
expect_out ''
run log kitchen --tail 2 --json
expect_json 'map(.seq)' "[$((last - 1)),$last]" "$(jq -sc . <<<"$out")"
run log kitchen --tail 100000 --json
checks=$((checks + 1))
[[ $(wc -l <<<"$out") == "$last" ]] || fail 'not all of them'
run log kitchen --tail 2 --kind note --json
expect_json 'map(.body.id)' '["n2","n3"]' "$(jq -sc . <<<"$out")"
run log kitchen --tail 2 --after "$((last - 1))" --json
expect_json .seq "$last"
# For people a streamed message is one line; each event is one with --json.
run start --scope stream --key stream
for words in 'I ' 'heard ' 'the bell'; do
  run append stream message "{\"role\":\"assistant\",\"content\":\"$words\",\"partial\":true,\"message_id\":\"m\"}"
done
run append stream message '{"role":"user","content":"yes"}'
run append stream message '{"role":"assistant","content":"and ","partial":true}'
run append stream message '{"role":"assistant","content":"so on","partial":true}'
run log stream
checks=$((checks + 2))
[[ $(sed 's/.*message  *//' <<<"$out") == $'assistant: I heard the bell\nuser: yes\nassistant: and so on' ]] || fail 'not a line a message'
run log stream --json
[[ $(wc -l <<<"$out") == 6 ]] || fail 'not a line an event'
run log kitchen --tail 0
expect_out ''
run log kitchen --tail 2 --limit 1
expect_code 2

about 'log --follow'
"$REPRISE" log kitchen --after "$last" --follow --json >"$work/follow" 2>"$work/err" &
follower=$!
run append kitchen x-follow '{"n":1}'
for ((i = 0; i < 500; i++)); do
  grep -q x-follow "$work/follow" && break
  sleep 0.02
done
kill -TERM $follower
wait $follower
code=$? out=$(<"$work/follow") err=$(<"$work/err")
expect_code 0
expect_json '[.kind,.body.n]' '["x-follow",1]'

about state
run state kitchen
expect_code 0
expect_json '[.session.session_id,.conversation.total]' "[\"$id\",2]"
expect_json '[.conversation.messages[].content]' '["hello","good morning"]'
run state kitchen --at "$seq"
expect_json '[.conversation.messages[].content]' '["hello"]'
run state kitchen --at 100000 --json
expect_code 3
expect_error event.not_found

about search # B-08
run search morning --json
expect_json '[.hits[]|[.session_id,.seq,.kind,.snippet]]' "[[\"$id\",$((seq + 1)),\"message\",\"assistant good [morning]\"]]"
run search morning
expect_out_has '[morning]'
run search morning --scope other --json
expect_json .hits '[]'
run search good morning --limit 1 --json
expect_json '.hits|length' 1

about 'snapshots, restore, fork' # B-07
run checkpoint kitchen
expect_code 0
n=$(jq .snapshot <<<"$out")
run append kitchen message "$(message user later)"
run snapshots kitchen
expect_out_has UNPACKED
run snapshots kitchen --json
expect_json "[.snapshots[]|select(.n==$n)|.reason]" '["manual"]'
run snapshots show kitchen "$n"
expect_code 0
expect_json '.conversation.total' 2
run snapshots show kitchen 4711 --json
expect_code 3
expect_error snapshot.not_found
run restore kitchen --snapshot "$n"
expect_code 0
run state kitchen
expect_json '.conversation.total' 2
run restore kitchen --at "$seq"
expect_code 0
run state kitchen
expect_json '.conversation.total' 1
run restore kitchen
expect_code 0
run restore my-own-id --json
expect_code 3
expect_error snapshot.not_found
run restore kitchen --at 100000
expect_code 3
for i in $(seq 1 14); do # O-03
  run append kitchen message "$(message user "once more $i")"
  run checkpoint kitchen
  n=$(jq .snapshot <<<"$out")
done
run snapshots kitchen --json
expect_json '.snapshots|length' 10
expect_json '.snapshots[0].n' "$n"
expect_json '[.snapshots[].n]|max-min' 9
run start --scope s --id was-closed
run append was-closed message "$(message user one)"
run append was-closed message "$(message user two)"
run end was-closed
run restore was-closed --at 1 --json
expect_code 4
expect_error session.ended
expect_err_has 'reprise start --scope s --id was-closed'
expect_err_has 'reprise fork was-closed --at 1'
run fork was-closed --at 1
expect_code 0
run start --scope s --id was-closed
expect_code 0
run restore was-closed --at 1
expect_code 0
run state was-closed
expect_json '.conversation.total' 1
mkdir "$work/folder" # O-01
for f in orbitmesh reprise orbitmesh; do
  run export kitchen --format "$f" -o "$work/folder"
  expect_code 0
done
out=$(cat "$work/folder/index.json")
expect_json '[.snapshots[].format]' '["reprise","orbitmesh"]'
expect_json '[.snapshots[].session_id]|unique|length' 1
expect_json . 600 "$(stat -c %a "$work/folder/index.json")"
run snapshots rm kitchen "$n"
expect_code 0
run snapshots rm kitchen "$n" --json
expect_code 3
run fork kitchen --at "$seq"
expect_code 0
expect_json .forked_from "$id"
branch=$(jq -r .session_id <<<"$out")
run state "$branch"
expect_json '.conversation.total' 1
run fork kitchen
expect_code 0

about 'export and import'
run export kitchen -o "$work/a.reprise"
expect_code 0
expect_out ''
checks=$((checks + 1))
[[ $(stat -c %a "$work/a.reprise") == 600 ]] || fail 'the file is not for its owner alone'
"$REPRISE" export kitchen >"$work/b.reprise"
expect_ok cmp "$work/a.reprise" "$work/b.reprise"
expect_ok "$REPRISE" export kitchen -o /dev/null
expect_ok test -c /dev/null
ln -s "$work/a.reprise" "$work/link"
run export kitchen -o "$work/link"
expect_code 8
run export kitchen -o "$work/no/such/folder" --json
expect_code 3
run import "$work/a.reprise" --json
expect_code 4
expect_error session.exists
run --db "sqlite:$work/other.db" import "$work/a.reprise"
expect_code 0
expect_json .session_id "$id"
run --db "sqlite:$work/other.db" log kitchen --json
imported=$out
run log kitchen --json
expect_out "$imported"
run --db "sqlite:$work/third.db" import - <"$work/b.reprise"
expect_code 0
run import "$work/nothing" --json
expect_code 3
expect_error file.not_found
echo 'not an export' >"$work/garbage"
run --db "sqlite:$work/third.db" import "$work/garbage"
expect_code 2
head -c 300 "$work/a.reprise" >"$work/cut"
run --db "sqlite:$work/fourth.db" import "$work/cut"
expect_code 5

about end
run end kitchen --reason upgrade --json
expect_code 0
expect_json '[.session_id,.status]' "[\"$id\",\"closed\"]"
run append "$id" x-a '{}' --json
expect_code 4
expect_error session.ended
run end my-own-id
expect_code 0
expect_out ''
run ls --status closed --json
expect_json '.sessions|length' 2
run start --scope nova --id "$id"
expect_code 0
expect_json '[.resumed,.restart.cause]' '[true,"upgrade"]'

about 'verify, doctor, stats, config'
run verify
expect_code 0
expect_out ok
run verify "$id" --json
expect_json '[.ok,.findings]' '[true,[]]'
run verify --repair
expect_code 0
run doctor
expect_code 0
expect_out_has '✓'
run doctor --json
expect_code 0
run stats
expect_code 0
expect_out_has sessions
run stats --json
expect_code 0
expect_json 'type' object
run config show
expect_code 0
expect_out_has heartbeat_s
REPRISE_IDLE_S=123 run config show --json
expect_json '[.options[]|select(.name=="idle_s")|[.value,.source]]' '[["123","REPRISE_IDLE_S"]]'
printf '[scope nova]\nidle_s = 77\n' >"$work/x.ini"
run config show --scope nova --config "$work/x.ini" --json
expect_json '[.options[]|select(.name=="idle_s")|.value]' '["77"]'
run --config "$work/missing.ini" ls
expect_code 2
echo 'idle = 3' >"$work/bad.ini"
run --config "$work/bad.ini" ls --json
expect_code 2
expect_error config.invalid

about 'stores that fail'
run --db sqlite:/proc/x.db start --scope a --json
expect_code 7
run --db gopher:x ls
expect_code 2
head -c 65536 /dev/urandom >"$work/random.db"
run --db "sqlite:$work/random.db" ls
expect_code 5
cp "$work/other.db" "$work/damaged.db"
size=$(stat -c %s "$work/damaged.db")
for page in 1 2 3 4; do # from the end; one may be free
  printf 'garbage garbage garbage' | dd of="$work/damaged.db" bs=1 seek=$((size - page * 4096)) conv=notrunc status=none
done
run --db "sqlite:$work/damaged.db" verify --json
expect_code 5

about 'talk and quiet'
run ls -q
expect_quiet
REPRISE_DEBUG=1 run append last x-a '{}'
expect_code 0
expect_json .durability disk
run ls --db
expect_code 2

about 'a reader that leaves'
out=$( ("$REPRISE" log "$id" --json; echo "code $?" >"$work/code") | head -n 1)
code=0 err=$(<"$work/code")
expect_json .seq 1
"$REPRISE" ls >/dev/full 2>"$work/err"
code=$? err=$(<"$work/err") out=''
expect_code 7
expect_err_has "can't write the output"

about 'one damaged event'
run start --scope hurt --key hurt
for n in 1 2 3; do run append hurt note "{\"id\":\"n$n\",\"text\":\"walrus $n\"}"; done
python3 - "$work/test.db" <<'EOF'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
with db:
    assert db.execute("UPDATE rp_events SET body = replace(body, 'walrus 2', 'badger 2') WHERE body LIKE '%walrus 2%'").rowcount == 1
db.close()
EOF
seq=$("$REPRISE" log hurt --json 2>/dev/null | jq -r 'select(.kind == "x-damaged") | .seq')
run log hurt --json
expect_code 0
expect_err_has "event can't be read, the first is $seq"
expect_json '.warning|type' string "$err" # with --json what is said is JSON, too
expect_json '[.seq,.body.reason,.body.original_kind]' "[$seq,\"its checksum does not fit\",\"note\"]" \
  "$(jq -c 'select(.kind == "x-damaged")' <<<"$out")"
expect_out_has 'walrus 1'
expect_out_has 'walrus 3'
expect_out_lacks badger
run log hurt --kind message
expect_out_has 'x-damaged'
run state hurt --json
expect_code 0
expect_err_has "event $seq can't be read"
run export hurt -o "$work/hurt.reprise"
expect_code 0
expect_err_has "the first is $seq"
run search badger
expect_out_lacks badger
run verify hurt --json
expect_code 5
run verify --repair
expect_code 0
run log hurt
expect_quiet

finish
