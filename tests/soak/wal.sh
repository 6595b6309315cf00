# SPDX-License-Identifier: Apache-2.0
# The write-ahead log stays within its bound beside an open reader.
# limit: 600
exec "$BUILD/tests/fault/wal"
