# SPDX-License-Identifier: Apache-2.0
# Whether a process lives, for tests in bash (others have alive.mjs). One that is dead but not yet reaped does not: in a
# container without an init nobody may ever reap it, and `kill -0` would find it for good.
# shellcheck shell=bash

alive() { # alive PID
  local stat
  { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
  [[ ${stat##*) } != [ZX]* ]]
}
