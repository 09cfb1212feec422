#!/usr/bin/env python3
"""Draws memory against seconds a step, as SVG: what the part `memory` of the suite measured, or recomputation.py.

usage: plot_memory.py RESULTS.json OUT.svg

Needs matplotlib.
"""

import json
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "memory", "svg.fonttype": "none"})  # the same file from the same results
import matplotlib.pyplot as plt  # noqa: E402

# By the beginning of a run's name; the first that fits.
SERIES = (("PyTorch compiled", "s"), ("PyTorch eager", "^"), ("", "o"))


def runs_of(results):
    """(name, seconds, bytes) of each run."""
    if "contenders" in results:  # of recomputation.py
        return [(row["name"], row["median"], row["peak_bytes"]) for row in results["contenders"]]
    part = next(part for part in results["parts"] if part["part"] == "memory")
    return [(run["name"], run.get("seconds"), run.get("taken_bytes")) for run in part["runs"]]


def points(results):
    """By series: (milliseconds, GiB, label) of each run, the fastest first."""
    found = {}
    for name, seconds, taken in runs_of(results):
        if not seconds or not taken:
            continue
        series = next(prefix for prefix, _ in SERIES if name.startswith(prefix))
        found.setdefault(series, []).append((1e3 * seconds, taken / 2**30, name.partition(", ")[2]))
    return {series: sorted(rows) for series, rows in found.items()}


def main(path, out):
    with open(path) as file:
        results = json.load(file)
    figure, axes = plt.subplots(figsize=(8, 4.5))
    found = points(results)
    for name, marker in SERIES:
        rows = found.get(name, [])
        axes.plot([row[0] for row in rows], [row[1] for row in rows], marker, label=name or "Tessera")
        for milliseconds, memory, label in rows:
            axes.annotate(label, (milliseconds, memory), textcoords="offset points", xytext=(5, 4), fontsize=6)
    axes.set_xlabel("milliseconds a step")
    is_device = "device" in results
    axes.set_ylabel("memory of the device, GiB" if is_device else "resident memory, GiB")
    axes.set_ylim(bottom=0)
    what = "GPT-2 124M, 16 × 1024 tokens in bf16" if is_device else f"{results['workload']}, {results['precision']}"
    axes.set_title(f"{what}, {results['device']['name'] if is_device else results['processor']}", fontsize=9)
    axes.legend()
    figure.tight_layout()
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
