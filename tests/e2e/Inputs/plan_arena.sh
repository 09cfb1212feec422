#!/usr/bin/env bash
# Fails unless `tessera plan` and `tessera compile`, with the same arguments, say that the arena has the same size.
set -euo pipefail
tessera compile "$@" --no-cache --dump-dir dumps -o program >/dev/null
compiled=$(python3 -c "import json; print(json.load(open('dumps/manifest.json'))['arena']['bytes'])")
planned=$(tessera plan "$@" | sed -n 's/^arena .*, \([0-9]*\) bytes,.*/\1/p')
[ "$planned" = "$compiled" ] || { echo "planned $planned bytes, compiled $compiled"; exit 1; }
