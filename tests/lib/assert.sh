# SPDX-License-Identifier: Apache-2.0
# Little helpers for tests in bash. Source it, call `run`, then expect things of what it left:
# $out and $err (without the last line break) and $code. REPRISE names the program under test.
# shellcheck shell=bash disable=SC2034

set -u
: "${REPRISE:?the program under test}"
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export REPRISE_HOME=$work/home REPRISE_DB=sqlite:$work/test.db
export TMPDIR=$work
unset REPRISE_CONFIG REPRISE_NOW REPRISE_DEBUG REPRISE_SCOPE CLAUDE_PROJECT_DIR
# Outside of any project, which would be the scope, and nothing waits for a key.
cd "$work" || exit 1
export REPRISE_PAGER=cat TZ=UTC
failures=0 checks=0 what=start

# Names what the next checks are about.
about() { what=$1; }

fail() {
  failures=$((failures + 1))
  printf 'FAIL [%s] line %s: %s\n' "$what" "${BASH_LINENO[1]}" "$1"
  printf '     out: %s\n     err: %s\n     code: %s\n' "${out:0:600}" "${err:0:600}" "$code"
}

out='' err='' code=0
# Runs `reprise ARGS…` with the standard input of the caller.
run() {
  "$REPRISE" "$@" >"$work/out" 2>"$work/err"
  code=$?
  out=$(<"$work/out") err=$(<"$work/err")
}

expect_code() {
  checks=$((checks + 1))
  [[ $code == "$1" ]] || fail "exit code $code, not $1"
}
# The whole output is this.
expect_out() {
  checks=$((checks + 1))
  [[ $out == "$1" ]] || fail "the output is not '$1'"
}
# The output or what was said holds this text.
expect_out_has() {
  checks=$((checks + 1))
  [[ $out == *"$1"* ]] || fail "the output does not hold '$1'"
}
expect_out_lacks() {
  checks=$((checks + 1))
  [[ $out != *"$1"* ]] || fail "the output holds '$1'"
}
expect_err_has() {
  checks=$((checks + 1))
  [[ $err == *"$1"* ]] || fail "'$1' was not said"
}
expect_quiet() {
  checks=$((checks + 1))
  [[ -z $err ]] || fail 'something was said'
}
# The jq filter gives this from the output (or, with a third argument, from that text).
expect_json() {
  checks=$((checks + 1))
  local got
  got=$(jq -rc "$1" <<<"${3-$out}" 2>&1) || { fail "jq $1: $got"; return; }
  [[ $got == "$2" ]] || fail "$1 is '$got', not '$2'"
}
# Any command; what it prints is lost.
expect_ok() {
  checks=$((checks + 1))
  "$@" >/dev/null 2>&1 || fail "failed: $*"
}
# With --json an error is all that is said, but for warnings, and those are documents too.
expect_error() {
  checks=$((checks + 1))
  local got
  got=$(jq -r 'select(has("error") and (.error|type) == "object")|.error.code' <<<"$err" 2>&1)
  [[ $got == "$1" ]] || fail "the error is '$got', not '$1'"
}

finish() {
  printf '%d checks, %d failures\n' "$checks" "$failures"
  ((failures == 0 && checks > 0)) || exit 1
  exit 0
}
