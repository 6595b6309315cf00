# SPDX-License-Identifier: Apache-2.0
# The real agents from npm, for the campaigns of tests/soak. $agents is the folder that they are kept in.
#
#   fetch PACKAGE FOLDER   installs it there, once; false where the registry can't be reached
# shellcheck shell=bash disable=SC2154

fetch() {
  [ -f "$agents/$2/ready" ] && return 0
  mkdir -p "$agents/$2"
  (cd "$agents/$2" && printf '{"private":true}\n' >package.json &&
    timeout 600 npm install --no-audit --no-fund --ignore-scripts --force "$1" >npm.log 2>&1 && touch ready)
}
