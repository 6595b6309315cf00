#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C-02: tokens from the command line; and what `serve` hands to the server.
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/../../lib/assert.sh"

expect_match() {
  checks=$((checks + 1))
  [[ $out =~ $1 ]] || fail "the output does not match $1"
}

about 'making'
run token create --name laptop --scope nova --expires 30d
expect_code 0
expect_match '^rpt_[a-z2-7]{8}_[A-Za-z0-9_-]{43}$'
expect_err_has 'Authorization: Bearer'
laptop=$out
run -q token create --read-only
expect_code 0
expect_quiet
expect_match '^rpt_'
reader=$out
REPRISE_NOW=2026-11-16T00:00:00Z run token create --name robot --expires 2h --json
expect_code 0
expect_quiet
expect_json '.expires_at[:19]' 2026-11-16T02:00:00 # the clock goes on
expect_json '.token[4:12] == .id' true
expect_json '[.name, .scope, .read_only] | tostring' '["robot",null,false]'

about 'listing'
run token ls --json
expect_code 0
expect_json '.tokens | length' 3
expect_json '.tokens[0] | [.id, .name, .scope, .read_only] | tostring' "[\"${laptop:4:8}\",\"laptop\",\"nova\",false]"
expect_json '.tokens[1] | [.name, .scope, .read_only, .expires_at, .last_used_at] | tostring' '[null,null,true,null,null]'
expect_out_lacks "${laptop:13}"
run token ls
expect_code 0
expect_out_has "${laptop:4:8}  laptop"
expect_out_has '(all)'
expect_out_lacks "${laptop:13}"
REPRISE_NOW=2026-11-16T02:00:00Z run token ls --json
expect_json '[.tokens[] | .expired] | tostring' '[false,false,true]'

about 'nowhere to be read'
checks=$((checks + 1))
if grep -rqaF -e "${laptop:13}" -e "${reader:13}" "$work" --include='test.db*'; then fail 'the store holds a secret'; fi

about 'revoking'
run token rm laptop
expect_code 0
expect_out ''
expect_quiet
run token rm laptop --json
expect_code 3
expect_error token.not_found
run token rm "$reader"
expect_code 0
run token rm "${reader}x"
expect_code 2
checks=$((checks + 1))
[[ $err != *"${reader:13}"* ]] || fail 'the secret was told back'
run token ls --json
expect_json '[.tokens[].name] | tostring' '["robot"]'

about 'audit'
run audit --scope - --json
expect_code 0
expect_json '.event' $'token_created\ntoken_created\ntoken_created\ntoken_revoked\ntoken_revoked'
run audit --verify
expect_code 0
expect_out_has 'ok  -: 5 records'

about 'masking'
printf 'the tokens %s and rps_%s\n' "$laptop" "${laptop:13}" >"$work/note.txt"
run redact --check "$work/note.txt"
expect_out_has 'the tokens [REDACTED] and [REDACTED]'
expect_err_has 'reprise token'
run start --scope nova --key k
run append k message "{\"role\":\"user\",\"content\":\"it is $laptop\"}"
run log k --json
expect_out_lacks "${laptop:13}"

# ---- serve: a program that says what arrived stands where the server would, beside a copy of ours ----

about 'no server'
mkdir -p "$work/tree/bin"
cp "$REPRISE" "$work/tree/bin/reprise"
REPRISE=$work/tree/bin/reprise
run serve --listen 127.0.0.1:0
expect_code 1
expect_err_has 'the server is not installed'
expect_err_has "$work/tree/bin"
expect_err_has '../libexec/reprise/reprise-serve'
run serve --json
expect_code 1
expect_error internal
run serve --help
expect_code 0
expect_out_has 'usage: reprise serve'
expect_out_has --listen

about 'what arrives'
stand_in() {
  mkdir -p "$(dirname "$1")"
  cat >"$1" <<'EOF'
#!/bin/bash
printf '%s;' "${0##*/}" "$@"
printf '%s %s\n' "$REPRISE_DB" "${REPRISE_CONFIG-}"
kill -PIPE $$
EOF
  chmod +x "$1"
}
db=$REPRISE_DB
for place in libexec/reprise/reprise-serve server/reprise-serve bin/reprise-serve; do
  stand_in "$work/tree/$place"
  run serve
  expect_code 141 # SIGPIPE is not ignored over there
  expect_out "reprise-serve;$db "
done
sed -i '/kill/d' "$work/tree/bin/reprise-serve"
run serve --listen 0.0.0.0:7377 --listen unix:/x --replace --threads 'a b'
expect_code 0
expect_quiet
expect_out "reprise-serve;--listen;0.0.0.0:7377;--listen;unix:/x;--replace;--threads;a b;$db "
run --db sqlite:other --json serve --access-log off --config c.ini
expect_out 'reprise-serve;--log-format;json;--access-log;off;sqlite:other c.ini'
run serve -v --log-format json
expect_out "reprise-serve;--log-level;debug;--log-format;json;$db "
run -q serve
expect_out "reprise-serve;--log-level;error;$db "
run serve --help
expect_out "reprise-serve;--help;$db "
run help serve
expect_out "reprise-serve;--help;$db "
run serve --version
expect_out "reprise-serve;--version;$db "

about 'a server that can not be run'
printf 'no program\n' >"$work/tree/bin/reprise-serve"
run serve
expect_code 1
expect_err_has "can't be run"

finish
