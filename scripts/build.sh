#!/usr/bin/env bash
# Configures and builds into build/PRESET.
#
#   usage: scripts/build.sh [PRESET]      release (unless said), debug, asan or tsan
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}

cmake --preset "$preset" -Wno-dev
cmake --build --preset "$preset"
