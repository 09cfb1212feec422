#!/usr/bin/env python3
"""Checks the answers of `tessera plan --suggest`: the model fits with each of them, and takes what they say.

usage: suggestions.py MODEL OPTION...    prints the answers
"""

import json
import subprocess
import sys

model, *options = sys.argv[1:]


def plan(*more):
    command = ["tessera", "plan", model, *options, "--json", *more]
    ended = subprocess.run(command, capture_output=True, text=True)
    return ended.returncode, json.loads(ended.stdout)


status, before = plan("--suggest")
assert status == 1 and not before["fits"] and not before["suggestions"]["fits"]
for change in before["suggestions"]["changes"]:
    status, after = plan(*change["options"].split())
    assert status == 0 and after["fits"], change
    assert after["needed"] == change["needed"] < before["needed"], change
    print(change["options"], "#", change["meaning"])
