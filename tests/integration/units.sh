#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# systemd has nothing to say against the units, and finds little to fear. $REPRISE is the program under test.
set -euo pipefail
units=$(cd "$(dirname "$0")/../../share/systemd" && pwd)
command -v systemd-analyze >/dev/null || { echo "no systemd-analyze here"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# verify wants the program to be where the unit says, which is true once it is installed.
sed "s|^ExecStart=@bindir@/reprise|ExecStart=$REPRISE|" "$units/reprise.service.in" >"$scratch/reprise.service"
grep -qF "ExecStart=$REPRISE serve" "$scratch/reprise.service"
cp "$units/reprise.socket" "$scratch/"

said=$(systemd-analyze verify --man=no "$scratch/reprise.service" "$scratch/reprise.socket" 2>&1) || {
  # Where there is no systemd at all the tool itself may fail.
  grep -qE 'Failed to (initialize manager|get properties|connect)' <<<"$said" && { echo "$said"; exit 77; }
  echo "$said"
  exit 1
}
[ -z "$said" ] || { echo "$said"; exit 1; }

# A typo must not pass, or the check above means nothing.
sed 's/^WatchdogSec=.*/WatchdogSec=soon/' "$scratch/reprise.service" >"$scratch/bad.service"
said=$(systemd-analyze verify --man=no "$scratch/bad.service" 2>&1) || true
grep -q 'bad.service:.*soon' <<<"$said" || { echo "a wrong unit is not found out: $said"; exit 1; }

score=$(systemd-analyze security --offline=true --threshold=20 --no-pager "$scratch/reprise.service") || {
  tail -n 1 <<<"$score"
  exit 1
}
tail -n 1 <<<"$score"
