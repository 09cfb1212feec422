#!/usr/bin/env python3
"""Prints the rows of a batch of `predict`, and whether it needs at most the memory of a step.

usage: planned_batch.py MANIFEST
"""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    manifest = json.load(file)


def end(entry):
    return max(b["offset"] + b["bytes"] for b in manifest["plan"]["buffers"] if b["entry"] == entry)


def rows(entry):
    return next(v for v in manifest["entries"][entry]["inputs"] if v["role"] == "data")["axes"][0][1]


step, predict = end("step"), end("predict")
row = (predict - end("*")) / rows("predict")
print(f"rows {rows('predict')} of {rows('step')}")
print("fits" if predict <= step else "too large", "and one more would not" if predict + row > step else "")
