#!/usr/bin/env bash
# Configures build/PRESET and builds there.
#
#   usage: scripts/build.sh [PRESET [TARGET ...]]
#
# PRESET is release (the default), debug, asan or tsan. Without TARGET everything is built.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
targets=("${@:2}")

# Without build.ninja no configuration has succeeded yet: start over, without the cache of those that failed.
fresh=()
[ -e "build/$preset/build.ninja" ] || fresh=(--fresh)
cmake --preset "$preset" -Wno-dev "${fresh[@]}"
cmake --build --preset "$preset" ${targets:+--target "${targets[@]}"}
