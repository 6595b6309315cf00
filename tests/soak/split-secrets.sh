# SPDX-License-Identifier: Apache-2.0
# 150 streams through each door, killed at random instants: nothing acknowledged is lost, no secret is readable (B-14).
# limit: 3600
export REPRISE="${REPRISE:-$BUILD/src/cli/reprise}" REPRISE_SERVE="${REPRISE_SERVE:-$BUILD/src/server/reprise-serve}"
exec /usr/bin/python3 tests/integration/server/split-secrets.py
