#!/usr/bin/env python3
"""Prints as a table what a step of a program for a GPU takes at least, by families of kernels, from its manifest.

usage: step_limits.py MANIFEST.json [--device NAME]

MANIFEST.json is what `tessera compile --dump-dir` writes. NAME (H100) is one of device.py's data sheets: a kernel takes
at least its bytes at the rate of the memory or, if it multiplies matrices, its operations at the rate of the tensor
cores. Contractions of the library count by operations alone. docs/cuda.md has such a table.
"""

import argparse
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import device  # noqa: E402
import profile_parts  # noqa: E402

HEAD = ("part of a step", "launches", "GB", "TFLOP", "limit, ms", "measured, ms")


def precision_of(manifest):
    kinds = {gemm["type"] for gemm in manifest["gemms"]}
    return "bf16" if "bf16" in kinds else "fp16" if "f16" in kinds else "f32"


def families(manifest, sheet):
    """{family: (launches, bytes, operations, seconds at least)} of a step."""
    rate, copy, sums = sheet["flops"][precision_of(manifest)], sheet["memory_bytes"], {}

    def add(family, calls, count, flops):
        one = sums.setdefault(family, [0, 0, 0, 0.0])
        for i, value in enumerate((calls, calls * count, calls * flops, calls * max(count / copy, flops / rate))):
            one[i] += value

    add("contractions", 1, 0, manifest["entries"]["step"]["flops"])
    sums["contractions"][0] = None  # the manifest does not say how often each is called
    for kernel in manifest["kernels"]:
        calls = kernel.get("calls", {}).get("step", 0)
        family = profile_parts.family_of({"kind": "kernel", "name": kernel["name"]})
        if calls:
            flops = kernel["flops"] if kernel["contracts"] else 0
            add(family, calls, kernel["read"] + kernel["written"], flops)
    return sums


def print_table(sums):
    print(f"| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}")
    for family, (calls, count, flops, seconds) in sorted(sums.items(), key=lambda item: -item[1][3]):
        cells = (family, calls or "", f"{count / 1e9:.1f}" if count else "", f"{flops / 1e12:.2f}" if flops else "")
        print("| " + " | ".join(map(str, (*cells, f"{seconds * 1e3:.1f}", ""))) + " |")
    print(f"| together | | | | {1e3 * sum(one[3] for one in sums.values()):.1f} | |")


def main():
    parser = argparse.ArgumentParser(description="What a step takes at least, from the manifest of its program.")
    parser.add_argument("manifest")
    parser.add_argument("--device", default="H100")
    options = parser.parse_args()
    sheet = device.data_sheet(options.device)
    if not sheet:
        parser.error(f"there is no data sheet of {options.device}")
    with open(options.manifest) as file:
        print_table(families(json.load(file), sheet))


if __name__ == "__main__":
    main()
