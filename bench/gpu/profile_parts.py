"""The parts that set each kernel of a step against what the device can do: by our own clock, and by Nsight Compute."""

import contextlib
import csv
import glob
import io
import json
import math
import os
import re
import shutil

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


def limits_of(device, rates, precision):
    """What step_table.py wants, from the data sheet, and as measured where it was."""
    sheet = device.get("data_sheet")
    copy, product = rates
    measured = {"fma_flops": product, "copy_bytes": copy}
    found = {}
    if sheet:
        found["data sheet"] = {"fma_flops": sheet["flops"][precision], "copy_bytes": sheet["memory_bytes"]}
    if measured["copy_bytes"]:  # without any rate of products bytes are the only limit
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


def rates_of(suite):
    """What the part `rates` measured: bytes a second, operations a second; None where it did not."""
    try:
        with open(os.path.join(suite.out, "parts", "rates.json")) as file:
            found = json.load(file)
    except (OSError, ValueError):
        return None, None
    products = [run["flops"] for run in found.get("products", []) if run["ok"] and run["type"] == "bf16"]
    return found.get("copies", {}).get("bytes_per_second"), max(products, default=None)


def profile(suite):
    """The first of the timed configurations, waiting behind every kernel."""
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
    limits = limits_of(suite.device, rates_of(suite), entry["precision"])
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


# Nsight Compute -------------------------------------------------------------------------------------------------------

NCU_PLACES = ("/usr/local/cuda/bin", "/opt/nvidia/nsight-compute/*", "/usr/local/cuda/nsight-compute*")
# Few, so that one or two launches of a kernel are enough: between them its memory is restored.
METRICS = {
    "gpu__time_duration.sum": "seconds",
    "dram__bytes_read.sum": "read",
    "dram__bytes_write.sum": "written",
    "launch__registers_per_thread": "registers",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupied",  # percent of the warps that fit
}
UNITS = {"ns": 1e-9, "nsecond": 1e-9, "us": 1e-6, "usecond": 1e-6, "ms": 1e-3, "msecond": 1e-3, "s": 1, "second": 1,
         "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}  # fmt: skip


def ncu_command(suite, entry, file):
    """Two steps, of which the second counts."""
    places = [place for pattern in NCU_PLACES for place in sorted(glob.glob(pattern), reverse=True)]
    tool = shutil.which("ncu", path=os.pathsep.join([os.environ.get("PATH", ""), *places]))
    if not tool:
        raise suites.Skipped("ncu, of Nsight Compute, is not here: `profile` has our own times")
    options = ["--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--log-file", file]
    program = [suite.program(entry), "train", "--data", entry["data"], "--steps", "2", "--quiet"]
    return [tool, *options, "--metrics", ",".join(METRICS), *program]


def number_of(text, unit):
    try:
        return float(text.replace(",", "")) * UNITS.get(unit, 1)
    except ValueError:  # n/a
        return None


def read_launches(text):
    """Launches in order, of what ncu says as CSV: lines of its own before, a header, a row of units, launches."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    rows = list(csv.DictReader(lines[start:]))
    if not rows:
        return []
    units, launches = rows[0], []
    for row in rows[1:]:
        values = {key: number_of(row.get(name) or "", units.get(name)) for name, key in METRICS.items()}
        launches.append({"name": row["Kernel Name"], **values})
    return launches


def last_step(launches):
    """The launches of the second of two steps: the longest sequence of names at the end that comes twice.

    All, where that is less than half of what two steps can be: then the steps differ.
    """
    names = [launch["name"] for launch in launches]
    for count in range(len(names) // 2, len(names) // 4, -1):
        if names[-count:] == names[-2 * count : -count]:
            return launches[-count:]
    return launches


def by_name(launches):
    """Sums over the launches of a kernel, longest first."""
    sums = {}
    for launch in launches:
        one = sums.setdefault(launch["name"], {"name": launch["name"], "calls": 0})
        one["calls"] += 1
        for key in ("seconds", "read", "written"):
            one[key] = one.get(key, 0.0) + (launch[key] or 0.0)
        for key in ("registers", "occupied"):
            one[key] = max(one.get(key) or 0.0, launch[key] or 0.0)
    return sorted(sums.values(), key=lambda one: -one["seconds"])


def ncu_lines(kernels, copy):
    whole = sum(one["seconds"] for one in kernels)
    yield f"{sum(one['calls'] for one in kernels)} launches, {whole * 1e3:.3f} ms of kernels a step"
    yield f"  {'':44} {'calls':>5} {'ms':>9} {'share':>6} {'GB/s':>6} {'of copies':>9} {'registers':>9} {'warps':>6}"
    for one in kernels:
        if one["seconds"] < 0.002 * whole:
            continue
        speed = (one["read"] + one["written"]) / one["seconds"] if one["seconds"] else 0.0
        share = f"{100 * speed / copy:.0f}%" if copy else "–"
        yield (
            f"  {one['name'][:44]:44} {one['calls']:>5} {one['seconds'] * 1e3:>9.3f} "
            f"{100 * one['seconds'] / whole:>5.1f}% {speed / 1e9:>6.0f} {share:>9} {one['registers']:>9.0f} "
            f"{one['occupied']:>5.0f}%"
        )


def ncu(suite):
    """Each kernel of a step as Nsight Compute times it."""
    entry, file = suite.chosen("timed")[0], os.path.join(suite.scratch, "ncu.csv")
    ended = suite.run(ncu_command(suite, entry, file), TESSERA_CUDA_EAGER="1")
    said = ""
    with contextlib.suppress(OSError), open(file, errors="replace") as written:
        said = written.read()
    launches = read_launches(said)
    if not launches:
        # Machines that lend a GPU often keep its counters from their guests: no failure of ours.
        ended.output += said[-500:]
        suite.need_whole(ended, math.inf)
        raise suites.Skipped(f"ncu counted nothing: {ended.problem() or 'it ended with status 0'}")
    kernels = by_name(last_step(launches))
    lines = list(ncu_lines(kernels, rates_of(suite)[0]))
    return {"ok": True, "name": entry["name"], "kernels": kernels, "lines": [entry["name"], *lines]}
