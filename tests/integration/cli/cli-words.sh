#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The command line's words: help, versions, mistakes, completion. No store is needed for any of it.
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/../../lib/assert.sh"
commands='start append heartbeat checkpoint end ls show state log search evidence chain brief continue pin unpin pins tasks
remember memories feel mood snapshots restore fork export import serve token verify doctor stats redact audit rm trash untrash hold gc
config bench demo help version'

about overview
run
expect_code 2
expect_err_has 'usage: reprise'
expect_err_has 'no command given'
run help
expect_code 0
expect_quiet
for c in $commands; do expect_out_has "  $c "; done
overview=$out
run --help
expect_out "$overview"

about 'help of each command'
for c in $commands completion; do
  run "$c" --help
  expect_code 0
  expect_out_has "usage: reprise $c"
  expect_out_has 'example'
  page=$out
  run help "$c"
  expect_out "$page"
done
run help nonsense
expect_code 2

about version
run version
expect_code 0
plain=$out
run --version
expect_out "$plain"
run version --json
expect_json '"reprise " + .version' "$plain"

about mistakes
run strat
expect_code 2
expect_err_has "reprise: strat: unknown command"
expect_err_has "did you mean 'start'?"
run start --scop x --json
expect_code 2
expect_error usage
expect_json '[.error.message,.error.hint]' "[\"unknown option '--scop'\",\"did you mean --scope?\"]" "$err" # nothing beside it
expect_out ''
run start --scop x
expect_code 2
expect_err_has "reprise: start: unknown option '--scop'"
expect_err_has 'hint: did you mean --scope?'
run ls -y
expect_code 2
expect_err_has "see 'reprise ls --help'"
run start
expect_code 2
expect_err_has '--scope is missing'
run append
expect_code 2
run append last
expect_code 2
expect_err_has 'the kind of the event is missing'
run append last message '{}' more
expect_code 2
run append last message --batch
expect_code 2
run append last --batch --expect 3
expect_code 2
run restore last --at 1 --snapshot 1
expect_code 2
run snapshots rm last
expect_code 2
run snapshots rm last x
expect_code 2
run config set
expect_code 2
run log last --limit none
expect_code 2
run breif --scope x
expect_code 2
expect_err_has "did you mean 'brief'?"
run brief
expect_code 2
expect_err_has '--scope is missing'
run demo robt
expect_code 2
expect_err_has "did you mean 'robot'?"
run token
expect_code 2
expect_err_has 'it needs create | ls | rm ID'
run token make
expect_code 2
run token rm
expect_code 2
run token ls --name x
expect_code 2
expect_err_has "belong to 'token create'"
run token create twice
expect_code 2
run token create --expires 0
expect_code 2
expect_err_has '--expires'
run token create --expires soon
expect_code 2
run pin last only-a-label
expect_code 2
expect_err_has 'it needs ID LABEL CONTENT'
run export last --format pigeon
expect_code 2
expect_err_has 'one of reprise'
REPRISE_NOW=yesterday run ls
expect_code 2
expect_err_has REPRISE_NOW
run start --scope $'bad\033[31m'
expect_code 2
checks=$((checks + 1))
[[ $err != *$'\033'* ]] || fail 'an escape sequence came through'

about completion
run completion bash
expect_code 0
for c in $commands; do expect_out_has "$c"; done
expect_ok bash -n "$work/out"
# What bash would offer after these words.
offer() {
  # shellcheck disable=SC1091
  out=$(. "$work/out.bash"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _reprise; printf '%s ' "${COMPREPLY[@]}")
}
cp "$work/out" "$work/out.bash"
offer reprise sta
expect_out 'start state stats '
offer reprise --db x sna
expect_out 'snapshots '
offer reprise start --mo
expect_out '--mode '
offer reprise start --mode s
expect_out 'successor '
offer reprise ls --status c
expect_out 'created checkpointed closed '
offer reprise demo c
expect_out 'crash coder '
offer reprise pin last --importance c
expect_out 'critical '
offer reprise redact --check "$work/out.b"
expect_out "$work/out.bash "
offer reprise token c
expect_out 'create '
offer reprise serve --l
expect_out '--listen --log-format --log-level '
offer reprise serve --log-format j
expect_out 'json '
offer reprise help ver
expect_out 'verify version '
run completion zsh
expect_code 0
expect_out_has '#compdef reprise'
if command -v zsh >/dev/null; then expect_ok zsh -n "$work/out"; fi
run completion fish
expect_code 0
for c in $commands; do expect_out_has "-a $c -d"; done
expect_out_has "-n '__reprise_is ls' -l status -x -a 'created active idle checkpointed closed abandoned'"
expect_out_has "-n '__reprise_is export' -l output -s o -r -F"
if command -v fish >/dev/null; then
  cp "$work/out" "$work/out.fish"
  expect_ok fish -n "$work/out.fish"
  # What fish would offer after these words.
  offer_fish() { out=$(fish -c "source $work/out.fish; complete -C '$1'" | cut -f 1 | tr '\n' ' '); }
  offer_fish 'reprise sta'
  expect_out 'start state stats '
  offer_fish 'reprise --db x sna'
  expect_out 'snapshots '
  offer_fish 'reprise start --mode s'
  expect_out 'successor '
  offer_fish 'reprise token c'
  expect_out 'create '
  offer_fish 'reprise ls --sta'
  expect_out '--status '
fi
run completion tcsh
expect_code 2

about 'the sample configuration' # X-16
run config sample
expect_code 0
expect_out_has '#idle_s = 60'
expect_out_has '# quiet seconds after which a session is idle (a number, 0 or more)'
cp "$work/out" "$work/sample.ini"
run --config "$work/sample.ini" config show --json # comments alone
expect_json '[.options[]|select(.source != "default")]' '[]'
defaults=$(jq -c '[.options[]|[.name,.value]]' <<<"$out")
sed -E 's/^#([a-z_]+ =|\[)/\1/' "$work/sample.ini" >"$work/whole.ini"
run --config "$work/whole.ini" config show --json
expect_code 0
expect_json '[.options[]|[.name,.value]]' "$defaults"
expect_json '[.options[]|select(.source == "default")|.name]' '[]' # every option appears
run --config "$work/whole.ini" config show --scope my-robot --json
expect_json '.options[]|select(.name == "template")|.value' robot
: >"$work/broken.ini" && echo nonsense >"$work/broken.ini"
run --config "$work/broken.ini" config sample # needs no configuration of one's own
expect_code 0
run config sample --json
expect_json '.sample|type' string

about 'a body of each kind is shown to who writes none'
run start --scope s --key k
run append k message hello
expect_code 2
expect_err_has 'the body must be a JSON object'
expect_err_has "is like '{\"role\":\"user\",\"content\":\"hello\"}'"
for kind in message note frame transcript intent pin unpin task project activity learning confidence sop tool emotion \
  person sleep approval question usage session provider todo turn x-mine; do
  run append k "$kind" hello --json
  expect_code 2
  body=$(jq -r .error.hint <<<"$err")
  body=${body#*\'} body=${body%\'*}
  run append k "$kind" "$body"
  expect_code 0
done

finish
