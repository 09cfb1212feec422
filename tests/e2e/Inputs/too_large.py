#!/usr/bin/env python3
"""Finds a batch with which a program needs more memory than this machine has left, and with recomputation less.

usage: too_large.py MODEL NAME OPTION...    prints the options: NAME is the `--set` of the batch
"""

import json
import subprocess
import sys

model, name, *options = sys.argv[1:]


def plan(batch):
    command = ["tessera", "plan", model, *options, f"--set={name}={batch}", "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


small, large = plan(64), plan(128)
a_row = (large["arena"] - small["arena"]) / 64
left = small["device"]["memory"]
batch = int(1.1 * left / a_row) // 16 * 16
planned = plan(batch)
rows = planned["memory"]["frontier"]
assert not planned["fits"] and planned["arena"] > 1.02 * left, planned["arena"]
assert rows[-1]["bytes"] < 0.9 * left, rows
print(f"--set={name}={batch}")
