#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The helpers that say whether a process lives: a zombie does not, whatever `kill -0` says.
set -euo pipefail
lib=$(cd "$(dirname "$0")/../lib" && pwd)
. "$lib/alive.sh"
fail() { echo "FAIL: $1"; exit 1; }

# A parent that never reaps: its child ends once it has become `sleep`, and stays a zombie.
exec 3< <(bash -c '(until [ "$(cat /proc/$$/comm)" = sleep ]; do :; done) & echo $!; exec sleep 600')
parent=$!
trap 'kill $parent' EXIT
read -r zombie <&3
until grep -q '^State:.Z' "/proc/$zombie/status"; do sleep 0.01; done
kill -0 "$zombie" || fail 'the zombie is not there to be asked'

! alive "$zombie" || fail 'alive.sh takes a zombie for a living process'
alive $$ || fail 'alive.sh does not know a living process'
! alive 4194305 || fail 'alive.sh knows a process that cannot be'
if command -v node >/dev/null; then
  node --input-type=module -e "
    const { alive } = await import('$lib/alive.mjs')
    process.exit(!alive($zombie) && alive($$) && !alive(4194305) ? 0 : 1)" || fail 'alive.mjs is wrong'
fi
echo 'a zombie is dead'
