#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares the ABI of libreprise with the one written down: abi.sh LIBRARY LAYOUT-PROGRAM EXPECTED [--write]
# A difference is no mistake by itself: it is a change that users of the library notice, and belongs into CHANGES.md.
set -eu
now=$(mktemp)
trap 'rm -f "$now"' EXIT
{
  echo "# Exported symbols and public structs (size, alignment) of libreprise on x86-64; tests/abi/abi.sh compares them."
  nm -D --defined-only "$1" | awk '{ print "symbol " $3 }' | LC_ALL=C sort
  "$2" | sed 's/^/struct /'
} >"$now"
if [ "${4:-}" = --write ]; then cp "$now" "$3"; exit 0; fi
[ "$(uname -m)" = x86_64 ] || { echo "skipped: the layout is written down for x86_64"; exit 77; }
diff -u "$3" "$now" || { echo "the ABI changed: if that is meant, run this with --write and tell it in CHANGES.md"; exit 1; }
missing=$(sed -n 's/^symbol //p' "$now" | while read -r symbol; do
  grep -rqw "$symbol" "$(dirname "$0")/../../man/libreprise.3" || echo "$symbol"; done)
[ -z "$missing" ] || { echo "libreprise(3) does not list: $missing"; exit 1; }
