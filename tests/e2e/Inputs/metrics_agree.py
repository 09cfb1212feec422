#!/usr/bin/env python3
"""Compares the losses of two runs, step by step.

usage: metrics_agree.py METRICS METRICS TOLERANCE [FIRST]      JSON lines; relative; FIRST: the first step that counts
"""

import json
import sys


def losses(path, first):
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return {line["step"]: line["total"] for line in lines if line["split"] == "train" and line["step"] >= first}


tolerance, start = float(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 0
one, other = losses(sys.argv[1], start), losses(sys.argv[2], start)
if not one or one.keys() != other.keys():
    sys.exit(f"other steps: {sorted(one)} and {sorted(other)}")
for step, loss in one.items():
    if not abs(loss - other[step]) <= tolerance * abs(loss):
        sys.exit(f"step {step}: {loss} and {other[step]}")
