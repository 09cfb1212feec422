#!/usr/bin/env python3
"""Checks what `tessera plan --json` says of values of layers: a program that recomputes one saves as many bytes fewer.

usage: value_pins.py MODEL OPTION...    prints the values that were tried
"""

import json
import subprocess
import sys

model, *options = sys.argv[1:]


def values(*more):
    command = ["tessera", "plan", model, *options, "--json", *more]
    planned = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return planned["memory"]["values"]


def saved_bytes(listed):
    return sum(value["bytes"] // value["layers"] * value["saved"] for value in listed)


before = values()
assert all(value["saved"] == value["layers"] and value["recomputed"] == 0 for value in before)
tried = set()
for value in reversed(before):
    if value["path"] is None or value["path"] in tried:
        continue
    tried.add(value["path"])
    after = values("--recompute", value["path"])
    now = next(other for other in after if other["name"] == value["name"])
    assert now["saved"] == 0 and now["recomputed"] == value["layers"], now
    assert saved_bytes(after) - saved_bytes(before) == value["alternative"]["bytes"], (value, after)
    assert value["alternative"]["seconds"] > 0
    print(value["path"], "as predicted")
