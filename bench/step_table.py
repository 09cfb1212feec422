#!/usr/bin/env python3
"""Sets a step's profile against the limits of the machine.

usage: step_table.py PROFILE.json --limits LIMITS.json [--least 0.002] [--markdown]

PROFILE.json is what `PROGRAM train --profile` wrote, LIMITS.json what machine_limits printed on the same machine. The limit
of a row is the larger of its operations at the rate of fused multiply-adds and its bytes at the rate of copying memory.
Operations of kernels that are no contractions count only bytes: what they compute (exp, tanh) is no multiply-add. `--least`: rows
below this share of the step are added up in one.
"""

import argparse
import json


def limit_of(row, limits):
    """Seconds that one call of a row needs at least, and which of the two it is."""
    memory = (row["read"] + row["written"]) / limits["copy_bytes"]
    contracts = row["kind"] == "contraction" or row.get("contracts", False)
    compute = row["flops"] / limits["fma_flops"] if contracts else 0.0
    return (compute, "fma") if compute > memory else (memory, "memory")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("profile")
    parser.add_argument("--limits", required=True)
    parser.add_argument("--least", type=float, default=0.002)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    with open(options.profile) as file:
        profile = json.load(file)
    with open(options.limits) as file:
        limits = json.load(file)

    step = profile["seconds"]
    rows = sorted(profile["rows"], key=lambda row: -row["seconds"])
    shown = [row for row in rows if row["seconds"] >= options.least * step]
    rest = sum(row["seconds"] for row in rows) - sum(row["seconds"] for row in shown)
    print(f"{profile['model']}: {step * 1e3:.1f} ms a step; limits {limits['fma_flops'] / 1e9:.0f} GFLOP/s, {limits['copy_bytes'] / 1e9:.1f} GB/s")
    head = ("kernel", "calls", "ms", "share", "limit ms", "by", "ratio", "GFLOP/s", "GB/s")
    line = "| {:<44} | {:>5} | {:>8} | {:>6} | {:>8} | {:<6} | {:>5} | {:>7} | {:>6} |" if options.markdown else "{:<44} {:>5} {:>8} {:>6} {:>8} {:<6} {:>5} {:>7} {:>6}"
    print(line.format(*head))
    if options.markdown:
        print("|" + " --- |" * len(head))
    for row in shown:
        seconds, calls = row["seconds"], row["calls"]
        one, by = limit_of(row, limits)
        shape = f" {row['a']}·{row['b']}" if "a" in row else ""
        print(
            line.format(
                (row["name"].removeprefix("tsr_kernel_") + shape)[:44], calls, f"{seconds * 1e3:.2f}", f"{100 * seconds / step:.1f}%",
                f"{one * calls * 1e3:.2f}", by, f"{seconds / (one * calls):.2f}" if one else "–",
                f"{row['flops'] * calls / seconds / 1e9:.0f}", f"{(row['read'] + row['written']) * calls / seconds / 1e9:.0f}",
            )
        )  # fmt: skip
    limit = sum(limit_of(row, limits)[0] * row["calls"] for row in rows)
    print(f"{len(rows) - len(shown)} smaller ones: {rest * 1e3:.2f} ms, {100 * rest / step:.1f}%; all limits together {limit * 1e3:.1f} ms, ratio {step / limit:.2f}")


if __name__ == "__main__":
    main()
