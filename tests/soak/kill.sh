# SPDX-License-Identifier: Apache-2.0
# 5,000 deaths of append --batch by SIGKILL (B-02).
# limit: 1800
exec "$BUILD/tests/integration/kill" "${REPRISE:-$BUILD/src/cli/reprise}"
