#!/usr/bin/env python3
"""Prints what a step of a program for a GPU moves, by kernels and contractions, from its manifest; most bytes first.

usage: step_bytes.py MANIFEST.json [--before OLD.json] [--top COUNT]

MANIFEST.json is what `tessera compile --dump-dir` writes. A call moves each operand and each result once, of a table
only the rows that are gathered. With --before a table by families compares it with another manifest of the same model.
"""

import argparse
import dataclasses
import json
import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import profile_parts  # noqa: E402

BYTES = {"f32": 4, "bf16": 2, "f16": 2, "e4m3": 1, "e5m2": 1}


@dataclasses.dataclass(frozen=True)
class Part:
    """A kernel or a contraction of a step; bytes and operations are those of one call."""

    name: str
    family: str
    calls: int
    read: int
    written: int
    flops: int  # of matrix products

    @property
    def bytes(self):
        return self.calls * (self.read + self.written)


def contraction(gemm):
    """What the library reads and writes in one call, and its operations."""
    of_operands, of_result = BYTES[gemm["type"]], BYTES[gemm.get("result_type", "f32")]
    result = of_result * math.prod(gemm["dims_c"])
    bias = 0
    if gemm["bias"] is not None:
        columns = math.prod(size for size, stride in zip(gemm["dims_c"], gemm["bias"]) if stride)
        bias = BYTES[gemm.get("bias_type", "f32")] * columns
    is_gradient = gemm.get("epilogue") == "gelu_grad"  # it reads `aux`, and its bias is a result
    aux = result if gemm.get("aux") else 0
    read = of_operands * math.prod(gemm["dims_a"]) + BYTES[gemm.get("type_b", gemm["type"])] * math.prod(gemm["dims_b"])
    read += (result if gemm["accumulate"] else 0) + (aux if is_gradient else bias)
    written = result + (bias if is_gradient else aux)
    return read, written, 2 * math.prod(gemm["dims_c"]) * gemm["dims_a"][-1]


def parts_of(manifest):
    """The parts of a step, most bytes first."""
    parts = []
    for kernel in manifest["kernels"]:
        family = profile_parts.family_of({"kind": "kernel", "name": kernel["name"]})
        flops = kernel["flops"] if kernel["contracts"] else 0
        calls = kernel["calls"].get("step", 0)
        parts.append(Part(kernel["name"], family, calls, kernel["read"], kernel["written"], flops))
    for gemm in manifest["gemms"]:
        sizes = "×".join(map(str, [*gemm["dims_c"], gemm["dims_a"][-1]]))
        name = f"{gemm['name']} {sizes}".lstrip()
        parts.append(Part(name, "contractions", gemm["calls"].get("step", 0), *contraction(gemm)))
    return sorted((part for part in parts if part.calls), key=lambda part: -part.bytes)


def bytes_by_family(parts):
    sums = {}
    for part in parts:
        sums[part.family] = sums.get(part.family, 0) + part.bytes
    return sums


def print_parts(parts, top):
    print(f"{'GB':>7} {'calls':>6} {'MB read':>9} {'MB written':>11}  kernel or contraction")
    for part in parts[:top]:
        read, written = part.read / 1e6, part.written / 1e6
        print(f"{part.bytes / 1e9:>7.2f} {part.calls:>6} {read:>9.1f} {written:>11.1f}  {part.name}")
    calls, count = sum(part.calls for part in parts), sum(part.bytes for part in parts)
    print(f"{count / 1e9:>7.2f} {calls:>6} {'':>9} {'':>11}  together")


def print_comparison(before, now):
    print("| part of a step | GB before | GB now |\n| --- | --- | --- |")
    for family in sorted({*before, *now}, key=lambda one: -before.get(one, 0)):
        print(f"| {family} | {before.get(family, 0) / 1e9:.1f} | {now.get(family, 0) / 1e9:.1f} |")
    print(f"| together | {sum(before.values()) / 1e9:.1f} | {sum(now.values()) / 1e9:.1f} |")


def read_manifest(path):
    """The manifest of a program for a GPU; ends this script if it does not say how often a step calls its parts."""
    with open(path) as file:
        manifest = json.load(file)
    if all("calls" in part for part in manifest["kernels"] + manifest["gemms"]):
        return manifest
    sys.exit(f"{path}: the calls of a step are missing: expected the manifest of a program for a GPU, by this compiler")


def parts_from(path):
    return parts_of(read_manifest(path))


def main():
    parser = argparse.ArgumentParser(description="What a step moves, from the manifest of its program.")
    parser.add_argument("manifest")
    parser.add_argument("--before", help="another manifest, for comparison")
    parser.add_argument("--top", type=int, help="print only so many kernels and contractions")
    options = parser.parse_args()
    parts, before = parts_from(options.manifest), parts_from(options.before) if options.before else None
    print_parts(parts, options.top)
    if before:
        print()
        print_comparison(bytes_by_family(before), bytes_by_family(parts))


if __name__ == "__main__":
    main()
