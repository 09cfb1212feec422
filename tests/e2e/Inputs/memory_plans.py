#!/usr/bin/env python3
"""Checks the plans that `tessera plan --json` lists: a program keeps each amount of memory, with that plan.

usage: memory_plans.py MODEL OPTION...    prints how many plans there are, and of some what they recompute
"""

import json
import subprocess
import sys

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
model, *options = sys.argv[1:]


def plan(*more):
    command = ["tessera", "plan", model, *options, "--json", *more]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def total(planned):
    return planned["gpu" if "gpu" in planned else "host"]["total"]


def chosen(planned):
    (only,) = [row for row in planned["memory"]["frontier"] if row["chosen"]]
    return only


def bytes_of(amount):
    return float(amount[:-3]) * UNITS[amount[-3:]]


before = plan()
rows = before["memory"]["frontier"]
assert before["memory"]["budget"] is None
assert chosen(before) is rows[0] and rows[0]["what"] == "nothing" and rows[0]["longer"] == 0
assert rows[0]["arena"] == before["arena"] and rows[0]["bytes"] == total(before)
for fast, small in zip(rows, rows[1:]):
    assert fast["longer"] <= small["longer"] and fast["arena"] > small["arena"], (fast, small)
print(len(rows), "plans")
for row in (rows[0], rows[len(rows) // 2], rows[-1]):
    after = plan("--memory", row["memory"])
    taken = chosen(after)
    assert total(after) <= bytes_of(row["memory"]), row
    assert after["memory"]["budget"] == int(bytes_of(row["memory"]))
    # The plan, or a faster one that the rounded amount has room for.
    assert taken["longer"] <= row["longer"] + 0.01, (taken, row)
    print("recomputes", taken["what"])
