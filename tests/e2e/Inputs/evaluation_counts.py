"""Compiles evaluation.tsr for some batch sizes and compares what its evaluations say with the rows themselves.

usage: evaluation_counts.py MODEL DATA
"""

import json
import math
import subprocess
import sys

model, data = sys.argv[1:]
rows = [tuple(map(float, line.split(","))) for line in open(data) if line[0] in "-0123456789"]
held = rows[len(rows) - math.floor(len(rows) * 0.2) :]
masked = [x * x for x, y in held if y > -3]
mean = sum(masked) / len(masked)


def run(batch, *options):
    subprocess.run(
        ["tessera", "compile", model, "-o", "program", "--set", f"d.batch={batch}"], check=True, capture_output=True
    )
    command = ["./program", "train", "--data", data, "--quiet", "--metrics", "-", *options]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    records = list(map(json.loads, lines))
    return [{**r["losses"], **r["metrics"]} for r in records if r["split"] == "val"], [
        {**r["losses"], **r["metrics"]} for r in records if r["split"] == "train"
    ]


def near(name, value, expected):
    assert abs(value - expected) <= 1e-5 * max(1, abs(expected)), f"{name}: {value}, expected {expected}"


lowest = {}
for batch in (1, 3, 7, len(held), len(held) + 12):
    (first, second), (step,) = run(batch)
    near("masked", first["masked"], mean)
    near("doubled", first["doubled"], 2 * mean)
    near("half", first["half"], 1 - mean / 2)
    if batch >= len(held):
        near("rows", first["rows"], len(held))
        near("largest", first["largest"], max(x for x, _ in held))
    near("pairs", first["pairs"], 0)
    lowest[batch] = first["lowest"], step["lowest"], second["lowest"]

# Draws: others in each batch, in training, and at another step.
assert len(set(lowest[1])) == 3, lowest[1]
near_half = lowest[1][0]
assert abs(near_half - 0.5) < 4 * math.sqrt(1 / 12 / len(held)), near_half
one, _ = run(1, "--set", "evaluate.batches=1")
assert one[0]["lowest"] != near_half
print("evaluations agree")
