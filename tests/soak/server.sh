# SPDX-License-Identifier: Apache-2.0
# The server: 200 kills under load, ten minutes of hostile clients, 10,000 idle channels for five minutes, a minute of all at once.
# limit: 3600
# Shorter: REPRISE_KILLS, REPRISE_HOSTILE_S, REPRISE_CHANNELS, REPRISE_STAY_S, REPRISE_CROWD_S.
set -eu -o pipefail
here=$(cd "$(dirname "$0")/../integration" && pwd)
export REPRISE="${REPRISE:-$BUILD/src/cli/reprise}" REPRISE_SERVE="${REPRISE_SERVE:-$BUILD/src/server/reprise-serve}"
export REPRISE_SWARM="$BUILD/tests/bench/swarm" PYTHONDONTWRITEBYTECODE=1
python=/usr/bin/python3
[ -x $python ] || python=python3

REPRISE_ROUNDS=${REPRISE_KILLS:-200} $python "$here/server-kill.py"
# Only the figures of what is repeated, unless something goes wrong.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for part in hostile hostile-sockets; do
  REPRISE_CHANNELS=500 REPRISE_STAY_S=0 REPRISE_HOSTILE_S=$((${REPRISE_HOSTILE_S:-600} / 2)) \
    $python "$here/server-$part.py" >"$log" 2>&1 || { cat "$log"; exit 1; }
  tail -1 "$log"
done
REPRISE_SOAK= REPRISE_CHANNELS=${REPRISE_CHANNELS:-10000} REPRISE_STAY_S=${REPRISE_STAY_S:-300} \
  $python "$here/server-hostile-sockets.py" idle_channels | sed 's/^  //'
$python "$here/server-crowd.py"
