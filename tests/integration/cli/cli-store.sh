#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Which store a command uses, and which commands make one.
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/../../lib/assert.sh"
unset REPRISE_DB
# Nothing lies here but what the test itself writes.
expect_nothing() {
  checks=$((checks + 1))
  local there
  there=$(cd "$work" && find . -mindepth 1 ! -name out ! -name err | sort | tr '\n' ' ')
  [[ $there == "$1" ]] || fail "there is '$there', not '$1'"
}
typo=sqlite:$work/no/such.db

about 'a mistyped --db creates nothing'
for words in ls 'ls --all' 'show last' 'state last' 'log last' 'log last --follow' 'search tea' 'evidence x --at 5m' 'chain x' \
  'brief --scope s' 'brief x' 'pins x' 'tasks x' 'memories --scope s' 'memories tea --scope s' 'mood x' 'snapshots x' 'export x' verify \
  'verify --repair' doctor stats 'stats --metrics' audit 'audit --verify' trash 'trash --empty' 'hold --list' 'hold x' 'token ls' \
  'token rm x' gc 'gc --dry-run' 'redact --apply x' 'completion sessions' 'append x x-a {}' 'append x --batch' 'heartbeat x' 'checkpoint x' \
  'end x' 'continue x' 'pin x a b' 'unpin x a' 'remember x y' 'feel x violence' 'restore x' 'fork x' 'rm x' 'untrash x'; do
  # shellcheck disable=SC2086
  run --db "$typo" $words --json </dev/null
  expect_code 7
  expect_error store.not_found
  expect_err_has "$work/no/such.db"
  expect_err_has 'check --db'
  expect_nothing ''
done
run --db "$typo" ls
expect_code 7
expect_err_has "reprise: ls: there is no store at $work/no/such.db"

about 'the default store that is not there yet'
for words in ls 'ls --json' 'search tea' 'memories --scope s' stats doctor audit trash 'hold --list' 'token ls' gc 'completion sessions'; do
  # shellcheck disable=SC2086
  run $words </dev/null
  expect_code 0
  expect_nothing ''
done
for words in 'show last' 'log last' 'append x x-a {}' 'end x' 'rm x'; do
  # shellcheck disable=SC2086
  run $words --json </dev/null
  expect_code 3
  expect_error session.not_found
  expect_nothing ''
done
run ls
expect_err_has "there is no store at $work/home/reprise.db"
expect_err_has "'reprise start --scope NAME'"
run ls --json
expect_json .sessions '[]'
expect_quiet
run doctor
expect_out_has "$work/home/reprise.db yet"
run verify --json
expect_code 0
expect_json .ok true
run verify x --json
expect_code 3
expect_nothing ''
REPRISE_DB=sqlite:$work/else.db run ls
expect_code 0
expect_err_has "$work/else.db"
expect_nothing ''

about 'a file that is no store stays as it is'
: >"$work/empty.db"
printf 'SQLite format 3' >"$work/half.db"
sqlite3 "$work/other.db" 'CREATE TABLE mine (a); INSERT INTO mine VALUES (1)'
sum=$(cat "$work"/*.db | sha256sum)
for file in empty half other; do
  for words in ls 'search tea' 'append x x-a {}' gc; do
    # shellcheck disable=SC2086
    run --db "sqlite:$work/$file.db" $words </dev/null
    checks=$((checks + 1))
    [[ $code == 7 || $code == 5 ]] || fail "exit code $code"
    expect_err_has "$work/$file.db"
  done
done
expect_nothing './empty.db ./half.db ./other.db '
checks=$((checks + 1))
[[ $(cat "$work"/*.db | sha256sum) == "$sum" ]] || fail 'a file was changed'
rm "$work"/*.db

about 'commands that begin something create it'
run --db "$typo" start --scope s
expect_code 0
expect_ok test -e "$work/no/such.db"
run --db "$typo" ls --json
expect_json '.sessions|length' 1
run --db "$typo" export last -o "$work/one.reprise"
run --db "sqlite:$work/second/in.db" import "$work/one.reprise"
expect_code 0
run start --scope s
expect_code 0
expect_ok test -e "$work/home/reprise.db"

about 'a token belongs to a store, and says to which'
run token create --name laptop
expect_code 0
expect_err_has "$work/home/reprise.db"
run --db "$typo" token create
expect_err_has "$work/no/such.db"
run token create --json
expect_json .store "$work/home/reprise.db"
expect_quiet
run -q token create
expect_quiet

about 'the way in for the server of a package'
if [[ $(id -u) == 0 ]] && command -v runuser >/dev/null && id -u nobody >/dev/null 2>&1; then
  as_server=$tests/../share/reprise-as-server
  chmod 755 "$work"
  mkdir "$work/bin"
  cp "$REPRISE" "$work/bin/reprise"
  as() {
    env PATH="$work/bin:$PATH" REPRISE_DB="$typo" REPRISE_SERVER_USER=nobody REPRISE_SERVER_HOME="$work/state" \
      "$as_server" "$@" >"$work/out" 2>"$work/err"
    code=$?
    out=$(<"$work/out") err=$(<"$work/err")
  }
  as token create --name two-words
  expect_code 0
  expect_out_has rpt_
  expect_err_has "$work/state/reprise.db"
  checks=$((checks + 1))
  [[ $(stat -c '%U %a' "$work/state" "$work/state/reprise.db" | tr '\n' ' ') == 'nobody 700 nobody 600 ' ]] ||
    fail "$(stat -c '%U %a %n' "$work/state" "$work/state/reprise.db")"
  as token ls --json
  expect_json '.tokens[0].name' two-words
  as show nobody
  expect_code 3
  REPRISE_SERVER_USER=no-such-user PATH="$work/bin:$PATH" "$as_server" ls 2>"$work/err" >"$work/out"
  code=$? err=$(<"$work/err")
  expect_code 1
  as version
  expect_code 0
fi

about 'an export never takes the place of the store'
home=$work/own db=$work/own/reprise.db
mkdir -p "$home/folder"
REPRISE_HOME=$home run start --scope s --key k
expect_code 0
REPRISE_HOME=$home run append k message '{"role":"user","content":"precious"}'
printf 'a-secret-of-the-agents-socket' >"$home/internal-secret"
for end in .fleet .seal .agents; do [[ -e $db$end ]] || (umask 077 && : >"$db$end"); done
chmod 600 "$home/internal-secret"
ln -s reprise.db "$home/link"
ln "$db.runs" "$home/second-name"
sums() { (cd "$home" && find . -type f ! -name '*-shm' ! -name reprise.db ! -name '*.runs' ! -name second-name ! -name index.json ! -name '*-wal' -exec cksum {} + | sort); }
before=$(sums)
for format in reprise nova clawd orbitmesh markdown cortex; do
  for file in "$db" "$db-wal" "$db-shm" "$db-journal" "$db.runs" "$db.fleet" "$db.seal" "$db.agents" "$home/internal-secret" \
    "$home/link" "$home/second-name" "$home/folder/../reprise.db"; do
    REPRISE_HOME=$home run export k --format "$format" -o "$file" --json
    expect_code 8
    expect_error refused
    expect_json .error.field output "$err"
    expect_err_has 'a file of the store itself'
  done
done
ln "$db.runs" "$home/folder/index.json"
REPRISE_HOME=$home run export k -o "$home/folder"
expect_code 8
expect_err_has 'a file of the store itself'
expect_json length 1 "$(find "$home/folder" -type f -printf '"%f"\n' | jq -sc .)"
[[ $(sums) == "$before" ]] || fail 'a file of the store has changed'
REPRISE_HOME=$home run log k
expect_out_has precious
REPRISE_HOME=$home run verify
expect_code 0
for option in store_file session_file; do
  for file in "$db" "$db-wal" "$home/link" "$home/internal-secret"; do
    printf '[scope s]\n%s = %s\n' "$option" "$file" >"$work/own.ini"
    REPRISE_HOME=$home run --config "$work/own.ini" append k message '{"role":"user","content":"more"}' --json
    expect_error config.invalid
    expect_json .error.field "$option" "$err"
  done
done
REPRISE_HOME=$home run log k
expect_out_lacks more

about 'a --db that names no file'
mkdir "$work/dir"
mkfifo "$work/pipe"
for words in ls 'append x x-a {}' 'start --scope s' verify; do
  # shellcheck disable=SC2086
  run --db "sqlite:$work/dir" $words --json
  expect_code 2
  expect_error usage
  expect_json .error.field db "$err"
  expect_err_has "$work/dir is a folder"
  [[ $err != *link* ]] || fail 'there is talk of links'
  # shellcheck disable=SC2086
  out=$(timeout 20 "$REPRISE" --db "sqlite:$work/pipe" $words --json 2>&1)
  code=$? err=$out
  expect_code 2
  expect_err_has 'not a regular file'
done
[[ -z $(ls -A "$work/dir") ]] || fail 'something was made in the folder'
run --db '' ls
expect_code 2
expect_err_has '--db is empty'
run --db= start --scope s
expect_code 2
expect_err_has '--db is empty'

about 'a file of tokens that others may read counts as none, and that is said'
clawd='{"version":1,"sessions":[{"info":{"id":"aaaa-1","name":"n","createdAt":1767323045000,"status":"running"},"messages":[],"sessionToken":"a-token-of-16-and-more"}],"internalSecret":"a-secret-that-all-agents-know"}'
fleet=$work/fleet.db.fleet
printf '%s' "$clawd" >"$work/clawd.json"
for way in mode link; do
  rm -f "$work"/fleet.db* "$work/elsewhere"
  : >"$work/elsewhere"
  chmod 600 "$work/elsewhere"
  if [[ $way == link ]]; then ln -s "$work/elsewhere" "$fleet"; else (umask 022 && : >"$fleet"); fi
  run --db "sqlite:$work/fleet.db" import "$work/clawd.json" --format clawd --scope s --json
  expect_json .session_id aaaa-1
  expect_out_has 'was not taken'
  expect_out_lacks 'was taken'
  expect_json .token null
  expect_error refused
  expect_err_has "$fleet"
  run --db "sqlite:$work/fleet.db" export --all --format clawd --json
  expect_code 0
  expect_err_has "$fleet"
  expect_err_has 'are left out'
  run --db "sqlite:$work/fleet.db" export --all --format clawd --no-tokens --json
  expect_quiet
done

about 'an export to the standard output by its other name'
REPRISE_HOME=$home run export k -o /dev/stdout --format markdown
expect_code 0
expect_out_has precious

about 'no half of a brain is left behind'
mkdir "$work/half.db-journal" # where its rows can't be written
REPRISE_HOME=$home run export k --format cortex -o "$work/half.db"
expect_code 7
[[ ! -e $work/half.db ]] || fail 'a file lies there'

about 'a server that can not start says so in one document'
run --json --db "sqlite:$work/serve.db" serve --listen nonsense
expect_code 2
expect_error usage
expect_json length 1 "$(jq -sc . <<<"$err")"

finish
