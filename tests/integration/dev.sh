#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What ./dev says before it does anything: a copy of it among compilers and package tools that only pretend. $REPRISE_SOURCE
# is the tree.
set -uo pipefail
: "${REPRISE_SOURCE:?the tree}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/tree/tests" "$scratch/bin"
cp "$REPRISE_SOURCE/dev" "$scratch/tree/"
cp -r "$REPRISE_SOURCE/tests/soak" "$REPRISE_SOURCE/tests/fuzz" "$scratch/tree/tests/"
cd "$scratch/tree" || exit 1
failures=0
fail() { failures=$((failures + 1)); printf 'FAIL: %s\n%s\n' "$1" "${out:-}"; }
says() { [[ $out == *"$1"* ]] || fail "not said: $1"; }
pretend() { printf '#!/bin/bash\n%s\n' "$2" >"$scratch/bin/$1"; chmod +x "$scratch/bin/$1"; }
# A machine without sudo: only what a bare Debian has, and what pretends.
for tool in bash env cat ls sed grep paste fold tr tail cut mkdir rm kill dirname head mktemp script; do
  ln -s "$(command -v $tool)" "$scratch/bin/$tool"
done
dev() { out=$(PATH=$scratch/bin bash ./dev "$@" 2>&1); code=$?; }
pretend id 'echo 1000'
pretend apt-get 'exit 1'
pretend apt-cache 'exit 0'

# Without root and sudo: which packages, and the one command for somebody who has them.
pretend dpkg-query '[[ ${@: -1} == meson || ${@: -1} == zlib1g-dev ]] || printf installed'
dev build
[[ $code == 1 ]] || fail "exit code $code without packages"
says 'apt-get update && apt-get install -y --no-install-recommends meson zlib1g-dev'
says 'An administrator'
[[ $out != *ninja-build* ]] || fail 'a package that is there is asked for'
pretend dpkg-query '[[ ${@: -1} == meson || ${@: -1} == curl ]] || printf installed'
dev run # and what it needs behind the build, so that nobody is asked twice
[[ $code == 1 ]] || fail "exit code $code without packages"
says '--no-install-recommends meson curl'

# With nothing missing it goes on, and what takes long is told: on a terminal in one line, in a log not that soon.
pretend dpkg-query 'printf installed'
pretend gcc 'echo some-linux-gnu'
pretend meson 'echo "$@" >>asked; mkdir -p build/meson-info && echo "[]" >build/meson-info/intro-targets.json; : >build/build.ninja'
pretend ninja 'echo "[3/9] Compiling"; exec 3<> <(:); read -rt 8 -u 3; exit 0'
dev build
[[ $code == 0 ]] || fail "exit code $code with all packages"
[[ $out != *'[3/9]'* ]] || fail 'a log is filled with progress'
grep -q -- '-Dlibdir=lib/some-linux-gnu' asked || fail 'the library would go where nobody looks'
out=$(PATH=$scratch/bin script -qec './dev build' /dev/null </dev/null 2>&1)
says 'building: [3/9]'

# Names are told, and a wrong one is refused before anything is installed or built.
pretend dpkg-query 'exit 1'
for words in 'fuzz nonsense' 'fuzz json soon' 'soak kill nonsense' 'test --nonsense' 'nonsense' \
  'setup build nonsense' 'setup nonsense' 'build nonsense' 'docs --nonsense' 'docs --check nonsense' 'fuzz 5 json' 'fuzz json 5 nonsense' \
  'test --quick nonsense' 'run a nonsense' 'format nonsense' 'lint nonsense' 'package nonsense'; do
  # shellcheck disable=SC2086
  dev $words
  [[ $code == 1 && $out != *apt-get* ]] || fail "$words: exit code $code"
done
dev fuzz nonsense
says 'snapshot uri'
dev soak nonsense
says 'threads wal stranger'
dev
says 'split-secrets'
says 'mcp pack redact'
((failures == 0)) || exit 1
echo 'what is missing, how far it is and what there is: told'
