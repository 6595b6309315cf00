# SPDX-License-Identifier: Apache-2.0
# One session started by twelve at once, a thousand times each: threads, commands, requests. Shorter: REPRISE_ROUNDS.
# limit: 1800
set -eu -o pipefail
here=$(cd "$(dirname "$0")/../integration" && pwd)
export REPRISE="${REPRISE:-$BUILD/src/cli/reprise}" REPRISE_SERVE="${REPRISE_SERVE:-$BUILD/src/server/reprise-serve}"
export PYTHONDONTWRITEBYTECODE=1
python=/usr/bin/python3
[ -x $python ] || python=python3

"$BUILD/tests/integration/starts"
$python "$here/starts.py"
