#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# append --batch: order, errors in their place, signals, readers that leave, kills.
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/../../lib/assert.sh"

lines() { # from, to
  for ((i = $1; i <= $2; i++)); do printf '{"kind":"x-n","body":{"n":%d},"idempotency_key":"k%d"}\n' "$i" "$i"; done
}

run start --scope batch --key b
expect_code 0
base=$("$REPRISE" log b --json | jq -s 'map(.seq)|max // 0')

about 'all well'
run append b --batch < <(lines 1 5000)
expect_code 0
expect_quiet
expect_json 'length' 5000 "$(jq -sc . <<<"$out")"
expect_json ". == [range($base + 1; $base + 5001)]" true "$(jq -sc 'map(.seq)' <<<"$out")"
expect_json unique '["disk"]' "$(jq -sc 'map(.durability)' <<<"$out")"

about 'repeats'
run append b --batch < <(lines 4999 5001)
expect_code 0
expect_json . "[[$((base + 4999)),true],[$((base + 5000)),true],[$((base + 5001)),null]]" \
  "$(jq -sc 'map([.seq,.repeated])' <<<"$out")"

about 'bad lines'
run append b --batch <<'END'
{"kind":"x-a","body":{"n":1}}

{"kind":"message","body":{"role":"user"}}
not json
{"kind":"x-a","body":{"n":2},"at":"2020-01-01T00:00:00Z"}
{"kind":"x-a","body":{"n":3}, "odd":1}
{"kind":"x-a","body":{"n":4}}
END
expect_code 2
all=$(jq -sc . <<<"$out")
expect_json 'map(.error.code)' '[null,"event.invalid","json.malformed",null,"event.invalid",null]' "$all"
expect_json 'map(.error.line)' '[null,3,4,null,6,null]' "$all"
expect_json '.[1].error.field' body.content "$all"
expect_json '[.[0].seq + 1 == .[3].seq, .[3].seq + 1 == .[5].seq]' '[true,true]' "$all"
expect_err_has 'line 3'
run log b --json --kind x-a
expect_json 'map(.body.n)' '[1,2,4]' "$(jq -sc . <<<"$out")"
expect_json '.[1].at' '2020-01-01T00:00:00.000Z' "$(jq -sc . <<<"$out")"

about 'sizes'
{ printf '{"kind":"x-a","body":{"s":"'; head -c 5000000 /dev/zero | tr '\0' x; printf '"}}\n'; lines 6001 6001; } >"$work/in"
run append b --batch <"$work/in"
expect_code 8
expect_json '[.[0].error.code,.[1].durability]' '["limit.size","disk"]' "$(jq -sc . <<<"$out")"
printf '{"kind":"x-a","body":{}}' >"$work/in"
run append b --batch <"$work/in"
expect_code 0
expect_json .durability disk
run append b --batch </dev/null
expect_code 0
expect_out ''

about 'durability and epochs'
run append b --batch --durability memory < <(lines 7001 7002)
expect_json 'map(.durability)|unique' '["os"]' "$(jq -sc . <<<"$out")"
run log b --json
expect_json '.body.n' 7002 "$(tail -n 1 <<<"$out")"
run append b --batch --durability os < <(lines 7003 7003)
expect_json .durability os
run append b --batch --epoch 9 --json < <(lines 8001 8003)
expect_code 4
expect_error session.fenced

about 'what is sent is answered while more may come'
mkfifo "$work/fifo"
: >"$work/acks"
"$REPRISE" append b --batch <"$work/fifo" >"$work/acks" 2>"$work/err" &
pid=$!
exec 7>"$work/fifo"
for round in 1 2 3; do
  lines $((9000 + round)) $((9000 + round)) >&7
  for ((i = 0; i < 1000; i++)); do
    [[ $(wc -l <"$work/acks") -ge $round ]] && break
    sleep 0.01
  done
  code=0 out=$(<"$work/acks") err=''
  expect_json length "$round" "$(jq -sc . <<<"$out")"
done

about 'a signal finishes what was taken'
kill -TERM $pid
wait $pid
code=$? out=$(<"$work/acks") err=$(<"$work/err")
exec 7>&-
expect_code 1
expect_err_has 'stopped by a signal'
expect_json length 3 "$(jq -sc . <<<"$out")"

about 'a reader that leaves'
{ lines 20000 24000 | "$REPRISE" append b --batch; echo "$?" >"$work/code"; } 2>"$work/err" | head -n 1 >/dev/null
code=$(<"$work/code") err=$(<"$work/err") out=''
expect_code 1
expect_err_has 'nobody reads'

about 'an ended session'
run start --scope batch --key over
run end over
over=$("$REPRISE" ls --status closed --json | jq -r '.sessions[0].session_id')
run append "$over" --batch < <(lines 1 3)
expect_code 4

about 'kills' # B-02: every acknowledged event is there, in order, and sending again doubles nothing
run start --scope batch --key killed
lines 1 20000 >"$work/all"
acked=0
for ((round = 0; round < 12; round++)); do
  : >"$work/acks"
  "$REPRISE" append killed --batch <"$work/all" >"$work/acks" 2>/dev/null &
  pid=$!
  for ((i = 0; i < 400; i++)); do
    [[ $(wc -l <"$work/acks") -gt $((round * 37)) ]] && break
    sleep 0.002
  done
  kill -KILL $pid 2>/dev/null
  wait $pid 2>/dev/null
  # A line without its end was not read by anybody.
  whole=$(wc -l <"$work/acks")
  top=$(head -n "$whole" "$work/acks" | jq -s 'map(.seq)|max // 0')
  ((top > acked)) && acked=$top
  out=$("$REPRISE" log killed --json | jq -c '[.seq,.kind,.body.n]')
  err='' code=0
  checks=$((checks + 1))
  stored=$(wc -l <<<"$out")
  ((stored >= acked)) || fail "acknowledged up to $acked, stored $stored"
done
run append killed --batch <"$work/all"
expect_code 0
run log killed --json --kind x-n
expect_json '. == [range(1; 20001)]' true "$(jq -sc 'map(.body.n)' <<<"$out")"
run verify
expect_code 0

finish
