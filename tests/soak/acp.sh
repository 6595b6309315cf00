# SPDX-License-Identifier: Apache-2.0
# The ACP proxy: 300 deaths of it, or of the agent behind it, at random instants of a conversation (O-05, B-06).
# limit: 1200
export REPRISE="${REPRISE:-$BUILD/src/cli/reprise}" PYTHONDONTWRITEBYTECODE=1
python=/usr/bin/python3
[ -x $python ] || python=python3
exec $python "$(dirname "$0")/../integration/acp/acp-kill.py"
