# SPDX-License-Identifier: Apache-2.0
# Eight writers for half a minute, holders that die, writers that stand still.
# limit: 600
exec "$BUILD/tests/integration/procs"
