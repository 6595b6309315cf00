#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# O-07: a snapshot that fails because the disk is full is in the audit log once there is room again, though the log lies
# on that disk and the process that failed is gone. A tmpfs of a few blocks, in a namespace of its own.
set -u
: "${REPRISE:?the program under test}"
skip() { echo "skipped: $1"; exit 77; }
fail() { echo "FAILED  $1"; exit 1; }
if [ "${FULL_DISK_INSIDE:-}" != yes ]; then
  [ "$(id -u)" = 0 ] || skip 'only root mounts a tmpfs'
  unshare -m true 2>/dev/null || skip 'no mount namespaces'
  FULL_DISK_INSIDE=yes exec unshare -m "$0"
fi

dir=$(mktemp -d "${TMPDIR:-/tmp}/rp-full-XXXXXX")
trap 'umount "$dir/mnt" 2>/dev/null; rm -rf "$dir"' EXIT
mkdir "$dir/mnt"
mount -t tmpfs -o size=2m none "$dir/mnt" 2>/dev/null || skip 'no tmpfs can be mounted here'
export REPRISE_HOME="$dir/home" REPRISE_DB="sqlite:$dir/mnt/t.db"
failures() { "$REPRISE" audit --scope s --json | grep -c '"event":"snapshot_failed"'; }

"$REPRISE" start --scope s --key k --id full -q >/dev/null || fail "the disk is not full yet"
for i in 1 2 3; do "$REPRISE" append k message '{"role":"user","content":"x"}' -q >/dev/null || fail 'append'; done
[ "$(failures)" = 0 ] || fail 'nothing has failed yet'
dd if=/dev/zero of="$dir/mnt/fill" bs=1k 2>/dev/null
for i in 1 2; do
  "$REPRISE" checkpoint k >"$dir/said" 2>&1
  code=$?
  [ $code = 7 ] || fail "a checkpoint on a full disk: exit $code: $(cat "$dir/said")"
done
rm -f "$dir/mnt/fill"
n=$(failures)
[ "$n" = 2 ] || fail "$n of 2 failed snapshots are in the audit log: $("$REPRISE" audit --scope s --json)"
"$REPRISE" audit --scope s --json | grep '"snapshot_failed"' | grep -q '"session_id":"full".*failed_at' || fail 'which one, and when'
[ "$(failures)" = 2 ] || fail 'each is told once'
"$REPRISE" checkpoint k >/dev/null || fail 'with room again'
"$REPRISE" audit --scope s --verify -q >/dev/null || fail 'the chain'
"$REPRISE" verify -q >/dev/null || fail 'damaged'
echo 'ok'
