#!/usr/bin/env python3
"""Checks an answer of `tessera plan --largest`: that size fits, and neither the next one nor double the size.

usage: largest.py batch|seq MODEL OPTION...    prints the answer
"""

import json
import subprocess
import sys

axis, model, *options = sys.argv[1:]


def plan(*more):
    command = ["tessera", "plan", model, *options, "--json", *more]
    ended = subprocess.run(command, capture_output=True, text=True)
    return ended.returncode, json.loads(ended.stdout) if ended.stdout else None


status, answer = plan("--largest", axis)
assert status == 0, answer
size, unit = answer["size"], answer["unit"]
names = [word.split("=")[0] for word in answer["options"].split() if word != "--set"]


def plan_of(rows):
    return plan(*(word for name in names for word in ("--set", f"{name}={rows}")))


status, largest = plan_of(size)
assert status == 0 and largest["fits"] and largest["needed"] == answer["needed"] <= largest["device"]["memory"], largest
for beyond in (size + unit, 2 * size):
    status, larger = plan_of(beyond)
    assert status != 0, beyond
    assert larger is None or not larger["fits"], beyond
    if beyond == size + unit:
        assert answer["beyond"]["needed"] == (larger and larger["needed"]), (answer, larger)
print(axis, size, "of", unit, answer["options"])
