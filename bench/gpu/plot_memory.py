#!/usr/bin/env python3
"""Draws what the part `memory` of the suite measured: memory against seconds a step, as SVG. Needs matplotlib.

usage: plot_memory.py RESULTS.json OUT.svg
"""

import json
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "memory", "svg.fonttype": "none"})  # the same file from the same results
import matplotlib.pyplot as plt  # noqa: E402

# By the beginning of a run's name; the first that fits.
SERIES = (("PyTorch compiled", "s"), ("PyTorch eager", "^"), ("", "o"))


def points(results):
    """By series: (milliseconds, GiB, label) of each run, the fastest first."""
    part = next(part for part in results["parts"] if part["part"] == "memory")
    found = {}
    for run in part["runs"]:
        if not run.get("seconds") or not run.get("taken_bytes"):
            continue
        series = next(name for name, _ in SERIES if run["name"].startswith(name))
        label = run["name"].partition(", ")[2]
        found.setdefault(series, []).append((1e3 * run["seconds"], run["taken_bytes"] / 2**30, label))
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
    axes.set_ylabel("memory of the device, GiB")
    axes.set_ylim(bottom=0)
    axes.set_title(f"GPT-2 124M, 16 × 1024 tokens in bf16, {results['device']['name']}", fontsize=9)
    axes.legend()
    figure.tight_layout()
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
