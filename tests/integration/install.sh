#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `meson install` leaves behind is whole, and works from where it was put. $BUILD is a build tree.
set -euo pipefail
: "${BUILD:?a build tree}"
source=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "FAIL: $1"; exit 1; }

# What is installed, the tests left out; the completions are nobody's dependency.
mapfile -t targets < <(python3 -c 'import json, os, sys
for t in json.load(open(sys.argv[1] + "/meson-info/intro-targets.json")):
    if t["installed"]: print(*(os.path.relpath(f, sys.argv[1]) for f in t["filename"]), sep="\n")' "$BUILD")
ninja -C "$BUILD" "${targets[@]}" >"$scratch/ninja" || { cat "$scratch/ninja"; exit 1; }
DESTDIR=$scratch/packed meson install --no-rebuild --quiet -C "$BUILD" >/dev/null
prefix=$(sed -n 's/^prefix=//p' "$(find "$scratch/packed" -name reprise.pc)")
[[ -n $prefix ]] || fail 'there is no reprise.pc'
root=$scratch/packed$prefix
start=$(sed -n 's/^ExecStart=\([^ ]*\) .*/\1/p' "$root/lib/systemd/system/reprise.service")
[[ $start == "$prefix/bin/reprise" && -x $scratch/packed$start ]] || fail "the unit starts $start, which is not there"
for file in share/man/man{1/reprise.1,5/reprise.ini.5,8/reprise-as-server.8} share/bash-completion/completions/reprise share/zsh/site-functions/_reprise \
  share/fish/vendor_completions.d/reprise.fish share/doc/reprise/{README.md,CHANGES.md,examples/reprise.ini} \
  include/reprise/reprise.h share/reprise/reprise-alerts.yml libexec/reprise/reprise-serve; do
  [[ -s $root/$file ]] || fail "$file is not installed"
done
for file in "$source"/docs/* "$source"/examples/*; do
  [[ -s $root/share/doc/reprise/${file#"$source"/} ]] || fail "$file is not installed"
done
[[ -x $root/bin/reprise-as-server ]] || fail "reprise-as-server can't be run"
# The sample is the one of this program, and is read by it.
sample=$root/share/doc/reprise/examples/reprise.ini
"$root/bin/reprise" config sample | cmp - "$sample"
REPRISE_HOME=$scratch/home "$root/bin/reprise" --config "$sample" config show >/dev/null

# Moved as a whole, it still finds its parts: the server, and through pkg-config the library.
mv "$root" "$scratch/moved"
version=$("$scratch/moved/bin/reprise" --version)
export PATH=$scratch/moved/bin:$PATH REPRISE_HOME=$scratch/home
[[ $(reprise serve --version) == "reprise-serve ${version#reprise }" ]] || fail 'the server is not the one beside the program'
PKG_CONFIG_PATH=$(dirname "$(find "$scratch/moved" -name reprise.pc)")
export PKG_CONFIG_PATH
flags=$(pkg-config --define-variable=prefix="$scratch/moved" --cflags --libs reprise)
cd "$scratch"
for example in hello memory; do
  # shellcheck disable=SC2086
  cc "$source/examples/$example.c" -o "$example" $flags
done
LD_LIBRARY_PATH=$(dirname "$(find "$scratch/moved" -name libreprise.so)")
export LD_LIBRARY_PATH
./memory >first && ./memory >second
grep -q 'mend the lamp' second || fail 'the second run of memory knows nothing of the first'
rm first second # what they hold must not be taken for what the next program says
./hello >first &
pid=$!
until grep -q 'stored 2' first 2>/dev/null; do sleep 0.05; done
kill -9 $pid
wait $pid || true
./hello >second &
pid=$!
until grep -q 'stored' second 2>/dev/null; do sleep 0.05; done
kill -9 $pid
wait $pid || true
grep -q "I remember 2: message .*thought 2" second || fail 'hello does not remember'

# The agent in Python, with the program that was installed: killed by its own tool, and back.
printf '%s\n' 'my train leaves at nine' '$ kill -9 $PPID' | python3 "$scratch/moved/share/doc/reprise/examples/agent.py" >first || true
! grep -q 'agent: $' first && grep -q 'I will remember' first || fail 'the agent did not answer'
echo 'when does my train leave?' | python3 "$scratch/moved/share/doc/reprise/examples/agent.py" >second
grep -q 'back after a crash, with 3 messages' second && grep -q 'cut off while running `kill -9 $PPID`' second &&
  grep -q 'you told me: "my train leaves at nine"' second || { cat second; fail 'the agent did not come back'; }
echo "installed, moved, compiled against, killed and back"
