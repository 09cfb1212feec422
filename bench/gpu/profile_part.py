"""The part that sets each kernel of a step against what the device can do."""

import contextlib
import io
import json
import math
import os
import re

import speed_parts
import suite as suites
import step_table

STEPS = 12
# By the name of a kernel of GPT-2, which is that of the first value that it makes; the first that fits.
FAMILIES = (
    ("attention", r"attention|attn_grad"),
    ("classifier", r"cross_entropy|ce(_|$)"),
    ("norms", r"ln_"),
    (
        "optimizer",
        r"(select|sum|rsqrt|add|cast|constant)(_\d+)?(_and_\d+)?(_\d+)?$",
    ),  # with clipping, and casts of weights
    ("elementwise", r""),  # with the biases' gradients
)
BYTES = {"f32": 4, "tf32": 4, "bf16": 2, "fp16": 2}


def family_of(row):
    if row["kind"] == "contraction":
        return "contractions"
    if row["kind"] != "kernel":
        return "copies"
    name = row["name"].removeprefix("tsr_")
    return next(family for family, pattern in FAMILIES if re.search(pattern, name))


def with_bytes_of(profile, precision):
    """The profile with the bytes of a library's contractions in the type that they compute in."""
    width = BYTES[precision]
    for row in profile["rows"]:
        if row["kind"] == "contraction":
            *batch, rows, _ = row["a"]
            columns = row["b"][-1]
            row["read"] = width * (math.prod(row["a"]) + math.prod(row["b"]))
            row["written"] = width * math.prod(batch) * rows * columns
    return profile


def limits_of(device, product, precision):
    """What step_table.py wants, from the data sheet, and as measured where it was."""
    sheet = device.get("data_sheet")
    measured = {"fma_flops": product, "copy_bytes": device.get("copy_bytes_per_second")}
    found = {}
    if sheet:
        found["data sheet"] = {"fma_flops": sheet["flops"][precision], "copy_bytes": sheet["memory_bytes"]}
    if measured["copy_bytes"]:  # without PyTorch and a data sheet bytes are the only limit
        measured["fma_flops"] = product or (found["data sheet"]["fma_flops"] if sheet else math.inf)
        found["measured"] = measured
    return found


def families(profile, limits):
    """Sums of seconds and of limits, longest first."""
    sums = {}
    for row in profile["rows"]:
        one = sums.setdefault(family_of(row), {"calls": 0, "seconds": 0.0, "limit": 0.0})
        one["calls"] += row["calls"]
        one["seconds"] += row["seconds"]
        one["limit"] += step_table.limit_of(row, limits)[0] * row["calls"]
    rows = []
    for family, one in sorted(sums.items(), key=lambda item: -item[1]["seconds"]):
        share = round(one["limit"] / one["seconds"], 4) if one["seconds"] else None
        rows.append(
            {"family": family, **one, "of_step": round(one["seconds"] / profile["seconds"], 4), "of_limit": share}
        )
    return rows


def family_lines(name, rows):
    yield f"by family, limits: {name}"
    yield f"  {'':14} {'calls':>6} {'ms':>9} {'of step':>8} {'limit ms':>9} {'of limit':>9}"
    for row in rows:
        share = f"{100 * row['of_limit']:.1f}%" if row["of_limit"] is not None else "–"
        yield (
            f"  {row['family']:14} {row['calls']:>6} {row['seconds'] * 1e3:>9.3f} {100 * row['of_step']:>7.1f}% "
            f"{row['limit'] * 1e3:>9.3f} {share:>9}"
        )


def kernel_lines(profile, limits):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        step_table.print_table(profile, limits)
    return text.getvalue().splitlines()


def profile(suite):
    """The first of the timed configurations."""
    entry = suite.chosen("timed")[0]
    file = os.path.join(suite.scratch, "profile.json")
    command = [suite.program(entry), "train", "--data", entry["data"], "--steps", str(STEPS)]
    command += ["--profile", file, "--quiet"]
    ended = suite.run(command)
    suite.need_whole(ended, math.inf)
    if ended.status != 0:
        return {"ok": False, "problem": ended.problem(), "lines": [ended.problem()]}
    with open(file) as written:
        found = with_bytes_of(json.load(written), entry["precision"])
    product = speed_parts.torch_product(suite) if suite.left() > suites.LEAST else None
    limits = limits_of(suite.device, product, entry["precision"])
    result = {"ok": True, "name": entry["name"], "limits": limits, "families": {}, "profile": found}
    lines = [f"{entry['name']}, {found['seconds'] * 1e3:.3f} ms a step without graphs and with clocks"]
    for name, one in limits.items():
        result["families"][name] = families(found, one)
        lines += family_lines(name, result["families"][name])
    if limits:
        lines += kernel_lines(found, next(iter(limits.values())))
    else:
        lines.append(f"no limits are known of {suite.device.get('name')}, and none could be measured")
    return {**result, "lines": lines}
