#!/usr/bin/env bash
# Runs clang-tidy, with the checks of .clang-tidy, over what differs from a revision; needs a build in build/release.
#
#   usage: scripts/tidy.sh [REVISION]      main unless said; --all for every source
set -euo pipefail
cd "$(dirname "$0")/.."
base=${1:-main}

if [ "$base" = --all ]; then
  mapfile -t sources < <(git ls-files '*.cpp')
else
  mapfile -t sources < <(git diff --name-only --diff-filter=d "$base" -- '*.cpp')
fi
[ ${#sources[@]} -gt 0 ] || exit 0
printf '%s\0' "${sources[@]}" |
  xargs -0 -P "$(nproc)" -n 1 clang-tidy-22 -p build/release --quiet --warnings-as-errors='*'
