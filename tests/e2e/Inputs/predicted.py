#!/usr/bin/env python3
"""Prints a manifest with predicted times, in place of those that it has.

usage: predicted.py MANIFEST SECONDS SOURCE     of a step; each call of a kernel or contraction takes SECONDS / 1000
"""

import json
import sys

path, seconds, source = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    manifest = json.load(file)
seconds = float(seconds)
step = {"seconds": seconds, "least": seconds, "most": seconds}
step["passes"] = {"forward": seconds / 4, "backward": seconds / 2, "optimizer": seconds / 4}
manifest["predicted"] = {"source": source, "entries": {"step": step}}
for call in manifest["kernels"] + manifest["gemms"]:
    call["seconds"] = seconds / 1000
    call.setdefault("calls", {"step": 2})
json.dump(manifest, sys.stdout)
