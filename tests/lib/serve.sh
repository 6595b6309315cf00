# SPDX-License-Identifier: Apache-2.0
# A server for tests in bash: source assert.sh, then this. REPRISE_SERVE names the program under test.
#
#   serve_start [ARGS…]   starts it on $REPRISE_DB; $address and $url say where it listens, $serve_pid who it is
#   serve_stop            SIGTERM, and waits for its end; its exit code is in $code
#   serve_kill            kill -9
# shellcheck shell=bash disable=SC2034,SC2154

: "${REPRISE_SERVE:?the program under test}"
. "$(dirname "${BASH_SOURCE[0]}")/alive.sh"
serve_pid='' address='' url=''

serve_start() {
  : >"$work/serve.log"
  "$REPRISE_SERVE" --listen 127.0.0.1:0 "$@" </dev/null >/dev/null 2>"$work/serve.log" &
  serve_pid=$!
  trap 'serve_kill; rm -rf "$work"' EXIT
  local until=$((SECONDS + 60))
  until grep -q 'event=ready' "$work/serve.log"; do
    if ! alive "$serve_pid" || ((SECONDS > until)); then
      cat "$work/serve.log"
      fail 'the server does not come up'
      finish
    fi
    sleep 0.02
  done
  address=$(sed -n 's/.*event=listening.* address=\([^ ]*\).*/\1/p' "$work/serve.log" | head -n 1)
  url=http://$address
}

serve_stop() {
  kill -TERM "$serve_pid"
  wait "$serve_pid"
  code=$?
  serve_pid=''
}

serve_kill() {
  [[ -n $serve_pid ]] || return 0
  kill -KILL "$serve_pid" 2>/dev/null
  wait "$serve_pid" 2>/dev/null
  serve_pid=''
}
