# SPDX-License-Identifier: Apache-2.0
# valgrind over start, append, checkpoint, end, and the travels: no error, no lost block.
# limit: 600
command -v valgrind >/dev/null || { echo "memcheck: skipped: no valgrind"; exit 77; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite,indirect,possible \
  --errors-for-leak-kinds=definite,indirect --log-file="$log" "$BUILD/tests/fault/fault" once || { cat "$log"; exit 1; }
echo "memcheck: 4 cycles, 0 errors, 0 blocks lost"
