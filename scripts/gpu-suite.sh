#!/usr/bin/env bash
# Makes one folder with all that a machine with an NVIDIA GPU needs to check and time what this build makes: neither
# LLVM nor this repository is needed there, only Python 3, the driver, cuBLASLt and NVRTC. Then run FOLDER/run.sh there.
#
#   usage: scripts/gpu-suite.sh [--smoke] [FOLDER]      FOLDER: build/gpu-suite by default; --smoke: the minimum
#
# Needs a build and NVRTC, but no GPU. TESSERA_BIN names the folder of the built programs (build/release/bin unless
# set).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
largest=60000000 # bytes

smoke=()
[ "${1:-}" != --smoke ] || { smoke=(--smoke); shift; }
case "$#${1:-}" in
  0 | 1[!-]*) ;;
  *) sed -n '5,7p' "$0" >&2; exit 2 ;;
esac
folder=$(realpath -m "${1:-$root/build/gpu-suite}")
binaries=$(realpath -m "${TESSERA_BIN:-$root/build/release/bin}")
cd "$root"

say() { echo "gpu-suite: $*" >&2; }

# Test programs record the kernels that they compare, with operands and results, into the folder that
# TESSERA_RECORD_KERNELS names.
record_kernels() {
  # Nothing else runs kernels on the emulator, or what it runs is broken on purpose.
  local tests said programs=(codegen-tests cuda-tests examples-cuda-tests attention-tests)
  local filter='-*CompileForGpus*:*CompilesForGpus*:*Barriers*:*OnCpu*:Contraction*'
  [ ${#smoke[@]} -eq 0 ] || programs=(cuda-tests)
  mkdir -p "$folder/cases"
  for tests in "${programs[@]}"; do
    if [ ! -x "$binaries/$tests" ]; then
      say "there is no $binaries/$tests: what it records is left out"
      continue
    fi
    say "kernels of $tests"
    said=$(TESSERA_RECORD_KERNELS="$folder/cases" "$binaries/$tests" --gtest_brief=1 --gtest_filter="$filter" 2>&1) || {
      tail -n 40 <<<"$said" >&2
      say "$tests failed"
      exit 1
    }
  done
  say "$(find "$folder/cases" -name '*.jsonl' -exec cat {} + | wc -l) kernels were recorded"
}

if [ ! -x "$binaries/tessera" ]; then
  say "there is no $binaries/tessera: build first (scripts/build.sh), or set TESSERA_BIN to the folder that holds it"
  exit 1
fi
if [ -e "$folder" ] && [ ! -e "$folder/folder.json" ] && [ -n "$(ls -A "$folder")" ]; then
  say "$folder is not empty and was not made by this script; name another folder"
  exit 1
fi
rm -rf "$folder"
mkdir -p "$folder"
echo '{}' >"$folder/folder.json" # ours, even if this ends early

record_kernels
python3 -B bench/gpu/make_folder.py "$folder" --tessera "$binaries/tessera" "${smoke[@]}"

size=$(du -sb "$folder" | cut -f 1)
if [ "$size" -gt "$largest" ]; then
  say "$folder takes $size bytes, more than $largest; its largest files:"
  find "$folder" -type f -printf '%s %P\n' | sort -rn | head -n 10 >&2
  exit 1
fi
say "$folder takes $size bytes; carry it to the machine with the GPU and run run.sh there"
