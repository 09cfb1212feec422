#!/usr/bin/env python3
"""Compares the profile of a step with the times that the program's manifest predicts, or with the machine's limits.

usage: step_table.py PROFILE.json [--limits LIMITS.json] [--least 0.002] [--markdown]

PROFILE.json is what `PROGRAM train --profile` wrote. Its rows have predicted times if the program was compiled with
`--on` for a calibrated device. With `--limits` they are compared with the least possible times instead: LIMITS.json is
what machine_limits printed on the same machine. PROFILE.json may also be a results file of `training.py --profile`,
which holds both. The limit of a row is the larger
of its operations at the rate of fused multiply-adds and its bytes at the rate of copying memory. Operations of kernels
that are no contractions count only bytes: what they compute (exp, tanh) is no multiply-add. Small tensors stay in
caches: their kernels may go below the limit of memory. `--least`: rows below this share of the step are added up in
one.
"""

import argparse
import json
import signal

PREDICTED_HEAD = ("kernel", "calls", "ms", "share", "predicted", "by", "ratio", "GFLOP/s", "GB/s")
HEAD = ("kernel", "calls", "ms", "share", "limit ms", "by", "ratio", "GFLOP/s", "GB/s")
LINE = "{:<44} {:>5} {:>8} {:>6} {:>8} {:<6} {:>5} {:>7} {:>6}"
MARKDOWN_LINE = "| " + LINE.replace("} {", "} | {") + " |"


def limit_of(row, limits):
    """Seconds that one call of a row needs at least, and which of the two it is; without limits those predicted."""
    if limits is None:
        return row.get("predicted", 0.0) / row["calls"], "model"
    memory = (row["read"] + row["written"]) / limits["copy_bytes"]
    contracts = row["kind"] == "contraction" or row.get("contracts", False)
    compute = row["flops"] / limits["fma_flops"] if contracts else 0.0
    return (compute, "fma") if compute > memory else (memory, "memory")


def cells(row, step, limits):
    """The columns under HEAD for a row of a step that takes `step` seconds."""
    seconds, calls = row["seconds"], row["calls"]
    one, by = limit_of(row, limits)
    shape = f" {row['a']}·{row['b']}" if "a" in row else ""
    return (
        (row["name"].removeprefix("tsr_kernel_") + shape)[:44], calls,
        f"{seconds * 1e3:.4g}", f"{100 * seconds / step:.1f}%",
        f"{one * calls * 1e3:.4g}", by, f"{seconds / (one * calls):.2f}" if one else "–",
        f"{row['flops'] * calls / seconds / 1e9:.0f}", f"{(row['read'] + row['written']) * calls / seconds / 1e9:.0f}",
    )  # fmt: skip


def print_table(profile, limits, least=0.002, markdown=False):
    step = profile["seconds"]
    rows = sorted((row for row in profile["rows"] if row["seconds"] > 0), key=lambda row: -row["seconds"])
    shown = [row for row in rows if row["seconds"] >= least * step]
    rest = sum(row["seconds"] for row in rows) - sum(row["seconds"] for row in shown)
    against = "predicted times of the program's manifest"
    if limits:
        against = f"limits {limits['fma_flops'] / 1e9:.0f} GFLOP/s, {limits['copy_bytes'] / 1e9:.1f} GB/s"
    print(f"{profile['model']}: {step * 1e3:.4g} ms a step; {against}")
    line = MARKDOWN_LINE if markdown else LINE
    print(line.format(*(HEAD if limits else PREDICTED_HEAD)))
    if markdown:
        print("|" + " --- |" * len(HEAD))
    for row in shown:
        print(line.format(*cells(row, step, limits)))
    limit = sum(limit_of(row, limits)[0] * row["calls"] for row in rows)
    smaller = f"{len(rows) - len(shown)} smaller ones: {rest * 1e3:.4g} ms, {100 * rest / step:.1f}%"
    if limits is None:
        print(f"{smaller}; predicted for the step {limit * 1e3:.4g} ms, ratio {step / limit:.2f}")
        return
    contractions = [row for row in rows if limit_of(row, limits)[1] == "fma"]
    multiplying = sum(row["flops"] * row["calls"] for row in contractions) / limits["fma_flops"]
    print(
        f"{smaller}; all limits together {limit * 1e3:.4g} ms, ratio {step / limit:.2f}; "
        f"multiply-adds alone {multiplying * 1e3:.4g} ms, {100 * multiplying / step:.1f}% of the step"
    )


def main():
    parser = argparse.ArgumentParser(description="Sets a step's profile against the limits of the machine.")
    parser.add_argument(
        "profile", help="what `PROGRAM train --profile` wrote, or a results file of training.py with a profile"
    )
    parser.add_argument("--limits", help="what machine_limits printed; a results file has its own")
    parser.add_argument("--least", type=float, default=0.002)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    with open(options.profile) as file:
        profile = json.load(file)
    limits = profile.get("limits")
    profile = profile.get("profile", profile)
    if options.limits:
        with open(options.limits) as file:
            limits = json.load(file)
    if "rows" not in profile:
        parser.error("expected a profile, or a results file that has one")
    if not limits and not any("predicted" in row for row in profile["rows"]):
        parser.error("the profile has no predictions: compile with --on for a calibrated device, or give --limits")
    print_table(profile, limits, options.least, options.markdown)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ends quietly when piped into head
    main()
