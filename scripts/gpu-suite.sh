#!/usr/bin/env bash
# Makes one folder with all that a machine with an NVIDIA GPU needs to check and time what this build makes: neither
# LLVM nor this repository is needed there, only Python 3, the driver, cuBLASLt and NVRTC. Then run FOLDER/run.sh there.
#
#   usage: scripts/gpu-suite.sh [--smoke] [--minutes M] [FOLDER]
#
# FOLDER: build/gpu-suite by default; --smoke: the minimum; --minutes: what it may take (6): kernels that would be
# recorded later are left out. Needs a build and NVRTC, but no GPU. TESSERA_BIN names the folder of the built programs
# (build/release/bin unless set).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
largest=60000000 # bytes

options=()
while [[ "${1:-}" == --* ]]; do
  case "$1" in
    --smoke) options+=(--smoke) ;;
    --minutes) options+=(--minutes "${2:?--minutes needs a number}"); shift ;;
    *) sed -n '5,9p' "$0" >&2; exit 2 ;;
  esac
  shift
done
[ $# -le 1 ] || { sed -n '5,9p' "$0" >&2; exit 2; }
folder=$(realpath -m "${1:-$root/build/gpu-suite}")
binaries=$(realpath -m "${TESSERA_BIN:-$root/build/release/bin}")
cd "$root"

say() { echo "gpu-suite: $*" >&2; }

if [ -e "$folder" ] && [ ! -e "$folder/folder.json" ] && [ -n "$(ls -A "$folder")" ]; then
  say "$folder is not empty and was not made by this script; name another folder"
  exit 1
fi
if [ ! -x "$binaries/tessera" ]; then
  say "there is no $binaries/tessera: build first (scripts/build.sh), or set TESSERA_BIN to the folder that holds it"
  exit 1
fi
rm -rf "$folder"
mkdir -p "$folder"
echo '{}' >"$folder/folder.json" # ours, even if this ends early

python3 -B bench/gpu/make_folder.py "$folder" --binaries "$binaries" "${options[@]}"

size=$(du -sb "$folder" | cut -f 1)
if [ "$size" -gt "$largest" ]; then
  say "$folder takes $size bytes, more than $largest; its largest files:"
  find "$folder" -type f -printf '%s %P\n' | sort -rn | head -n 10 >&2
  exit 1
fi
say "$folder takes $size bytes; carry it to the machine with the GPU and run run.sh there"
