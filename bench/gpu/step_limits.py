#!/usr/bin/env python3
"""Prints as a table what a step of a program for a GPU takes at least, by families of kernels, from its manifest.

usage: step_limits.py MANIFEST.json [--device NAME]

MANIFEST.json is what `tessera compile --dump-dir` writes. NAME (H100) is one of device.py's data sheets: a kernel or a
contraction takes at least its bytes at the rate of the memory or, if it multiplies matrices, its operations at the rate
of the tensor cores. docs/cuda.md has such a table.
"""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import device  # noqa: E402
import step_bytes  # noqa: E402

HEAD = ("part of a step", "launches", "GB", "TFLOP", "limit, ms", "measured, ms")


def precision_of(manifest):
    kinds = {gemm["type"] for gemm in manifest["gemms"]}
    return "bf16" if "bf16" in kinds else "fp16" if "f16" in kinds else "f32"


def families(manifest, sheet):
    """{family: [launches, bytes, operations, seconds at least]} of a step."""
    rate, copy, sums = sheet["flops"][precision_of(manifest)], sheet["memory_bytes"], {}
    for part in step_bytes.parts_of(manifest):
        one = sums.setdefault(part.family, [0, 0, 0, 0.0])
        flops = part.calls * part.flops
        for i, value in enumerate((part.calls, part.bytes, flops, max(part.bytes / copy, flops / rate))):
            one[i] += value
    return sums


def print_table(sums):
    print(f"| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}")

    def line(name, calls, count, flops, seconds):
        cells = (name, calls, f"{count / 1e9:.1f}", f"{flops / 1e12:.2f}" if flops else "", f"{seconds * 1e3:.1f}", "")
        print("| " + " | ".join(map(str, cells)) + " |")

    for family, one in sorted(sums.items(), key=lambda item: -item[1][3]):
        line(family, *one)
    line("together", *map(sum, zip(*sums.values())))


def main():
    parser = argparse.ArgumentParser(description="What a step takes at least, from the manifest of its program.")
    parser.add_argument("manifest")
    parser.add_argument("--device", default="H100")
    options = parser.parse_args()
    sheet = device.data_sheet(options.device)
    if not sheet:
        parser.error(f"there is no data sheet of {options.device}")
    print_table(families(step_bytes.read_manifest(options.manifest), sheet))


if __name__ == "__main__":
    main()
