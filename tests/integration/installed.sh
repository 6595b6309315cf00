#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What an installation, and so the package, holds for people: documents, examples, manuals, completions, the sample configuration.
# $MESON installs from $BUILD.
set -euo pipefail
: "${MESON:?}" "${BUILD:?}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$MESON" install -C "$BUILD" --no-rebuild --quiet --destdir "$scratch" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
root=$(dirname "$(dirname "$(find "$scratch" -path '*/bin/reprise' -type f)")")
missing=0
for file in bin/reprise bin/reprise-as-server share/bash-completion/completions/reprise share/zsh/site-functions/_reprise \
  share/fish/vendor_completions.d/reprise.fish share/man/man8/reprise-as-server.8 share/man/man1/reprise.1 share/man/man5/reprise.ini.5 \
  share/doc/reprise/{README,CHANGES}.md \
  share/doc/reprise/examples/{reprise.ini,hello.c,memory.c,Makefile}; do
  [ -s "$root/$file" ] || { echo "missing: $file"; missing=1; }
done
# Every document and example of the tree is there.
here=$(cd "$(dirname "$0")/../.." && pwd)
for file in "$here"/docs/*.md "$here"/examples/*; do
  find "$root/share/doc/reprise" -name "$(basename "$file")" | grep -q . || { echo "not installed: $file"; missing=1; }
done
[ -x "$root/bin/reprise-as-server" ] || { echo "reprise-as-server can't be run"; missing=1; }
# The sample is the one of this program, and is read by it.
"$root/bin/reprise" config sample | cmp - "$root/share/doc/reprise/examples/reprise.ini"
REPRISE_HOME=$scratch/home "$root/bin/reprise" --config "$root/share/doc/reprise/examples/reprise.ini" config show >/dev/null
exit $missing
