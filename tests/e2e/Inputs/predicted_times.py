#!/usr/bin/env python3
"""Checks that a plan, a manifest and a profile of one program have the same predicted times.

usage: predicted_times.py PLAN_JSON PLAN_TEXT MANIFEST PROFILE PRICE
"""

import json
import re
import sys


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def close(a, b, tolerance=1e-4):
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


def seconds_of(text):
    value, unit = text.split()
    return float(value) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]


def check(condition, what):
    if not condition:
        sys.exit(what)


plan, manifest, profile = load(sys.argv[1]), load(sys.argv[3]), load(sys.argv[4])
with open(sys.argv[2], encoding="utf-8") as file:
    text = file.read()
price = float(sys.argv[5])
time, predicted = plan["time"], manifest["predicted"]
step = predicted["entries"]["step"]

check(time["source"] == predicted["source"] == "calibrated", "source")
for key in ("seconds", "least", "most"):
    check(time[key] == step[key] > 0, key)
check(time["least"] < time["seconds"] < time["most"], "the range does not contain the time")
check(time["passes"] == step["passes"], "passes")
check(set(time["passes"]) == {"forward", "backward", "optimizer"}, "passes are lacking")
check(close(sum(time["passes"].values()), time["seconds"]), "the passes together are not the step")
check([r["seconds"] for r in time["repeats"]] == [r["seconds"] for r in step["repeats"]], "repeats")
check([r["axis"] for r in time["repeats"]] == ["layer", "layer"], "the repeats are not those of the layers")
check(sum(r["seconds"] for r in time["repeats"]) < time["seconds"], "repeats take longer than the step")
check(close(time["mfu"], step["flops"] / step["seconds"] / step["peak"]) and 0 < time["mfu"] < 1, "MFU")
check(time["unit"] == "tokens" and close(time["per_second"], 2 * 128 / time["seconds"]), "tokens/s")
for part in ("data", "run"):
    check(close(time[part]["seconds"], time[part]["steps"] * time["seconds"]), part)
    check(close(time[part]["price"], time[part]["seconds"] / 3600 * price), "price")
check(time["run"]["steps"] == manifest["settings"]["stop"]["after"], "steps of the run")

# The text has the same, rounded.
number = r"([\d.]+ [mun]?s)"
found = re.search(rf"^time +{number} a step, {number} to {number} are likely \(the device is calibrated\)$", text, re.M)
check(found, "no time in the text")
for key, written in zip(("seconds", "least", "most"), found.groups()):
    check(close(seconds_of(written), time[key], 0.006), f"{key} in the text")
found = re.search(r"^ +([\d.]+)(k|M|) tokens/s, MFU ([\d.]+) %: of ([\d.]+) (G|T)FLOP/s in f32$", text, re.M)
check(found, "no speed in the text")
scale = {"": 1, "k": 1e3, "M": 1e6}[found[2]]
check(close(float(found[1]) * scale, time["per_second"], 0.01), "tokens/s in the text")
check(abs(float(found[3]) - 100 * time["mfu"]) < 0.051, "MFU in the text")
check(close(float(found[4]), step["peak"] / {"G": 1e9, "T": 1e12}[found[5]], 1e-3), "peak in the text")
for name, seconds in time["passes"].items():
    found = re.search(rf"^  {name} +{number}  [\d.]+ %$", text, re.M)
    check(found and close(seconds_of(found[1]), seconds, 0.006), f"{name} in the text")
for repeat in time["repeats"]:
    name = f"layer x {repeat['iterations']}, in all"
    found = re.search(rf"^  {repeat['pass'] or 'forward'} .*\n    {name} +{number}  [\d.]+ %$", text, re.M)
    check(found and close(seconds_of(found[1]), repeat["seconds"], 0.006), f"{name} in the text")
steps = time["run"]["steps"]
check(re.search(rf"^  the run .* {steps:.0f} steps, {time['run']['price']:.2f} USD$", text, re.M), "no run in the text")
check(re.search(r"^  one pass over the data .* steps, [\d.]+ USD$", text, re.M), "no pass over the data in the text")

# Every call of the step has a time, and they make up the step but for copies.
calls = manifest["kernels"] + manifest["gemms"]
called = [call for call in calls if call.get("calls", {}).get("step")]
check(called and all(call["seconds"] > 0 and call["work"]["kind"] for call in called), "a call without a time")
together = sum(call["seconds"] * call["calls"]["step"] for call in called)
check(0.9 * step["seconds"] < together < 1.001 * step["seconds"], f"calls take {together}, a step {step['seconds']}")

# Rows of a profile have it for all their calls.
rows = [row for row in profile["rows"] if row["kind"] in ("kernel", "contraction")]
check(rows and all(row["predicted"] > 0 and row["work"] for row in rows), "a row without a prediction")
check(close(sum(row["predicted"] for row in rows), together, 1e-3), "the profile predicts another time")
print("equal")
