#!/usr/bin/env python3
"""Checks the GEMMs of manifests: in reduced precision strides are multiples of 8 elements, or the entry says why not.

usage: aligned_rows.py MANIFEST...    prints the reasons, each with the number of GEMMs that give it
"""

import json
import sys
from collections import Counter

MULTIPLE = 8
REASONS = {"input", "output", "state", "short rows", "view", "shape"}


def unaligned(gemm):
    """The strides that are no multiples, of dimensions with more than one position."""
    found = []
    for matrix in "abc":
        for size, stride in zip(gemm[f"dims_{matrix}"], gemm[f"strides_{matrix}"]):
            if size > 1 and stride > 1 and stride % MULTIPLE:
                found.append((matrix, size, stride))
    return found


reasons, checked = Counter(), 0
for path in sys.argv[1:]:
    with open(path) as file:
        gemms = json.load(file)["gemms"]
    for gemm in gemms:
        if gemm["type"] == "f32":
            continue
        checked += 1
        reason = gemm.get("unaligned")
        if unaligned(gemm) and reason not in REASONS:
            sys.exit(f"{path}: {gemm['name']}: strides {unaligned(gemm)}, reason {reason}")
        if reason:
            reasons[reason] += 1
if not checked:
    sys.exit("no GEMM in reduced precision")
counts = ", ".join(f"{reason}: {count}" for reason, count in sorted(reasons.items()))
print(f"{checked} GEMMs; {counts or 'all aligned'}")
