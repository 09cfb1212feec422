#!/usr/bin/env python3
"""Compares what a plan says of alternatives to a sharding with searches that are told to take them.

usage: priced_alternatives.py MODEL.tsr OPTION…
    OPTION: of `tessera plan`, with --devices and a mesh whose axes are not called `data`

Of each moment, every rejected axis is divided along its mesh axis, as --shard says it for the moment alone. A step then
never takes less than the plan says, and within 2 % as much where that is exact.
"""

import json
import subprocess
import sys


def search(options):
    text = subprocess.run(["tessera", "plan", *options, "--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(text)["manifest"]["target"]["search"]


def main():
    options = sys.argv[1:]
    found = search(options)
    tried = exact = 0
    for decision in found["decisions"]:
        if not decision["state"].endswith(".m"):
            continue
        for rejected in decision["rejected"]:
            if not rejected["axis"]:
                continue
            rule = f"{decision['state']}:{rejected['axis']}={decision['along']}"
            seconds = search([*options, "--shard", rule])["seconds"]
            assert seconds >= (1 - 1e-9) * rejected["seconds"], (rule, seconds, rejected)
            assert not rejected["exact"] or seconds <= 1.02 * rejected["seconds"], (rule, seconds, rejected)
            tried, exact = tried + 1, exact + rejected["exact"]
    print(f"{tried} alternatives, {exact} with exact prices")


if __name__ == "__main__":
    main()
