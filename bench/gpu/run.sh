#!/usr/bin/env bash
# Runs on a machine with an NVIDIA GPU what scripts/gpu-suite.sh put into this folder: checks, timings, peers, profile.
#
#   usage: run.sh [first|second|third] [--minutes M] [--out DIR] [--copy DIR] [--only PART,PART]      --help says more
#
# It needs Python 3, the driver, cuBLASLt, and NVRTC for single kernels. Exit status 1 if a check failed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null || { echo "run.sh: there is no python3 here; install Python 3.9 or later" >&2; exit 2; }
exec python3 -B "$here/bench/gpu/run.py" "$@"
