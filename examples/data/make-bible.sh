#!/usr/bin/env bash
# Writes real English text, 4 MB: the King James Bible from Debian's package bible-kjv, one verse a line, an empty line
# between chapters, without verse numbers. FOLDER/train.txt has the first nine tenths, FOLDER/val.txt the rest.
#
#   usage: make-bible.sh FOLDER
set -euo pipefail
[ $# -eq 1 ] || { sed -n '2,5p' "$0"; exit 2; }
folder=$1
command -v bible >/dev/null || { echo "make-bible: install the package bible-kjv first (scripts/setup.sh bible-kjv)" >&2; exit 1; }
mkdir -p "$folder"

# A line is a heading ("Genesis 1"), a verse ("  1 In the beginning …") or empty.
bible -l100000 gen1:1-rev22:21 | sed -nE 's/^ +[0-9]+ +//p; /^[A-Z0-9].* [0-9]+$/s/.*//p' | sed '1{/^$/d}' >"$folder/all.txt"
verses=$(wc -l <"$folder/all.txt")
head -n $((verses * 9 / 10)) "$folder/all.txt" >"$folder/train.txt"
tail -n +$((verses * 9 / 10 + 1)) "$folder/all.txt" >"$folder/val.txt"
rm "$folder/all.txt"
