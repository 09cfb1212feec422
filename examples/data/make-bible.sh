#!/usr/bin/env bash
# Writes 4 MB of English text: the King James Bible from Debian's package bible-kjv, one verse per line, an empty line
# between chapters, without verse numbers. For examples/03-byte-gpt.tsr.
#
#   usage: make-bible.sh OUT.txt
set -euo pipefail
[ $# -eq 1 ] || { sed -n '2,5p' "$0"; exit 2; }
command -v bible >/dev/null || {
  echo "make-bible: install the package bible-kjv first (scripts/setup.sh bible-kjv)" >&2
  exit 1
}
mkdir -p "$(dirname "$1")"

# A line is a heading ("Genesis 1"), a verse ("  1 In the beginning …") or empty.
bible -l100000 gen1:1-rev22:21 | sed -nE 's/^ +[0-9]+ +//p; /^[A-Z0-9].* [0-9]+$/s/.*//p' | sed '1{/^$/d}' >"$1"
