# SPDX-License-Identifier: Apache-2.0
# Every sync fails once, with a power cut before every call that follows: nothing acknowledged as disk is lost.
# limit: 1800
exec "$BUILD/tests/fault/sync"
