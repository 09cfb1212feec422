#!/usr/bin/env python3
"""Checks what `tessera plan --json` says of values of layers: the arena of a program that recomputes one changes by as
many bytes as its alternative says, but for 1 % of it: GEMMs that are fused later have an order of their own.

usage: value_pins.py MODEL OPTION...    prints the values that were tried
"""

import json
import subprocess
import sys

model, *options = sys.argv[1:]


def plan(*more):
    command = ["tessera", "plan", model, *options, "--json", *more]
    planned = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return planned["memory"]["values"], planned["arena"]


before, arena = plan()
assert all(value["saved"] == value["layers"] and value["recomputed"] == 0 for value in before)
tried = set()
for value in reversed(before):
    if value["path"] is None or value["path"] in tried:
        continue
    tried.add(value["path"])
    after, other_arena = plan("--recompute", value["path"])
    now = next(other for other in after if other["name"] == value["name"])
    assert now["saved"] == 0 and now["recomputed"] == value["layers"], now
    assert abs(other_arena - arena - value["alternative"]["bytes"]) < 0.01 * arena, (value, arena, other_arena)
    assert value["alternative"]["seconds"] > 0
    print(value["path"], "as predicted")
