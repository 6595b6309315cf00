# SPDX-License-Identifier: Apache-2.0
# Many threads on one engine, fifty times as long.
# limit: 600
exec "$BUILD/tests/fault/threads"
