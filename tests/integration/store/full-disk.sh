#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A disk of 1 KiB blocks that is full but for a few of them: a command says so (exit 7) or works, and is never killed by a
# write to a part of a mapped file that got no block. An image, mounted in a namespace of its own.
set -u
: "${REPRISE:?the program under test}"
skip() { echo "skipped: $1"; exit 77; }
if [ "${FULL_DISK_INSIDE:-}" != yes ]; then
  [ "$(id -u)" = 0 ] || skip 'only root mounts images'
  command -v mkfs.ext4 >/dev/null || skip 'no mkfs.ext4'
  unshare -m true 2>/dev/null || skip 'no mount namespaces'
  FULL_DISK_INSIDE=yes exec unshare -m "$0"
fi

dir=$(mktemp -d "${TMPDIR:-/tmp}/rp-full-XXXXXX")
trap 'umount "$dir/mnt" 2>/dev/null; rm -rf "$dir"' EXIT
mkdir "$dir/mnt"
truncate -s 8M "$dir/image"
mkfs.ext4 -q -F -b 1024 -m 0 "$dir/image" || skip 'mkfs.ext4 fails'
mount -o loop "$dir/image" "$dir/mnt" 2>/dev/null || skip 'images cannot be mounted here'
export REPRISE_HOME="$dir/home" REPRISE_DB="sqlite:$dir/mnt/t.db"

failed=0 full=0 worked=0
for left in 0 4 8 12 16 24 32 40 64 128 256; do
  rm -f "$dir"/mnt/t.db* "$dir/mnt/fill"
  "$REPRISE" start --scope s --key k -q >/dev/null || { echo "FAILED  the disk is not full yet"; exit 1; }
  rm -f "$dir/mnt/t.db-shm" # nobody has it open: whoever comes next makes it anew
  dd if=/dev/zero of="$dir/mnt/fill" bs=1k 2>/dev/null
  truncate -s "-${left}k" "$dir/mnt/fill"
  "$REPRISE" append k message '{"role":"user","content":"x"}' -q >/dev/null 2>"$dir/said"
  code=$?
  case $code in
    0) worked=$((worked + 1)) ;;
    7) full=$((full + 1)) ;;
    *) echo "FAILED  with $left KiB left: exit $code: $(cat "$dir/said")"; failed=1 ;;
  esac
  # With room again it goes on, and nothing is damaged.
  rm -f "$dir/mnt/fill"
  "$REPRISE" append k message '{"role":"user","content":"y"}' -q >/dev/null || { echo "FAILED  after $left KiB"; failed=1; }
  "$REPRISE" verify -q >/dev/null || { echo "FAILED  damaged after $left KiB"; failed=1; }
done
echo "full disk: $full refused, $worked worked"
[ $full -gt 0 ] && [ $worked -gt 0 ] || { echo "FAILED  no disk was full, or all were"; failed=1; }
exit $failed
