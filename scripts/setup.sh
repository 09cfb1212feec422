#!/usr/bin/env bash
# Installs what building and testing need on Debian 12, from Debian's own archive; installed packages are left alone.
#
#   usage: scripts/setup.sh [--build] [PACKAGE ...]      --build: only what building needs; PACKAGE: in addition
#
# LLVM 22 is in Debian's security suite, which is enabled by default. CUDA is not needed.
set -euo pipefail

for_building=(
  # compiler, linker, build
  clang-22 lld-22 ninja-build cmake ccache
  # LLVM, MLIR and LLD as libraries; TableGen
  llvm-22-dev libmlir-22-dev mlir-22-tools liblld-22-dev
  # the training program
  libdnnl-dev libgomp1 libcli11-dev nlohmann-json3-dev libfmt-dev zlib1g-dev
  # the charts of reports, which become part of the compiler
  libjs-chart.js
)
for_testing=(
  # GoogleTest; lit and FileCheck; sanitizers
  libgtest-dev libgmock-dev llvm-22-tools libclang-rt-22-dev
  # ranks: mpirun, and the library that programs open
  openmpi-bin libopenmpi3
  # a solver of integer programs, which the one of the search for a sharding is compared with
  coinor-libcbc-dev
  # rules about the tree
  clang-format-22 clang-tidy-22 python3 git ca-certificates
)

packages=("${for_building[@]}")
if [ "${1:-}" = --build ]; then
  shift
else
  packages+=("${for_testing[@]}")
fi
packages+=("$@")

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "setup: this is not Debian; install what corresponds to: ${missing[*]}" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "setup: run as root (or install sudo) to install: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi

echo "setup: installing ${missing[*]}"
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@"; }
apt update
for package in "${missing[@]}"; do
  if [ -z "$(apt-cache madison "$package")" ]; then
    echo "setup: apt knows no package $package; Debian 12 has LLVM 22 in its security suite:" >&2
    echo "  deb http://deb.debian.org/debian-security bookworm-security main" >&2
    exit 1
  fi
done
apt install -y --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null
