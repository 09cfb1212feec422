#!/usr/bin/env bash
# Installs what is missing, builds, runs every test.
#
#   usage: scripts/test.sh [ARGUMENT OF ctest ...]      for example: scripts/test.sh -R lint
#   PRESET=asan scripts/test.sh                all under the sanitizers of addresses and undefined behavior
#   PRESET=tsan scripts/test.sh -L runtime     the runtime's tests under that of threads (LLVM is not built for it)
#
# The last line is `N passed, M failed`; each GoogleTest and lit test counts by itself. Exit status 0 if none failed.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${PRESET:-release}
results="$PWD/build/$preset/tests.xml"

give_up() {
  echo "$1"
  echo "0 passed, 1 failed"
  exit 1
}
scripts/setup.sh || give_up "setup failed"
scripts/build.sh "$preset" || give_up "the build failed"

rm -f "$results"
# LLVM's libraries are not instrumented: they take memory from pools that LLVM's headers, compiled into our code,
# poison. (Calls through pointers are not checked: CUDA's libraries are opened, and their types declared, here.)
[ "$preset" != asan ] || export ASAN_OPTIONS="allow_user_poisoning=0:${ASAN_OPTIONS:-}"
# Outputs are not truncated: count_tests.py reads the summaries that GoogleTest and lit print.
ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --timeout 900 -j "$(nproc)" \
  --test-output-size-passed 10000000 --test-output-size-failed 10000000 --output-junit "$results" "$@" || true
[ -f "$results" ] || give_up "ctest wrote no results"
python3 scripts/count_tests.py "$results"
