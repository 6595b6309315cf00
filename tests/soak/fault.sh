# SPDX-License-Identifier: Apache-2.0
# The nth call of a cycle fails, for every n without exception.
# limit: 3600
for group in alloc sqlite vfs file store continuity; do "$BUILD/tests/fault/fault" "$group" || exit 1; done
