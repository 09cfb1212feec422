#!/usr/bin/env python3
"""Compares what a plan says of alternatives to a sharding with searches that are told to take them.

usage: priced_alternatives.py MODEL.tsr OPTION…
    OPTION: of `tessera plan`, with --devices, and perhaps a mesh whose axes are not called `data`

Of each moment, every rejected axis is divided along its mesh axis, as --shard says it for the moment alone; and without
a mesh among the options each of those that were rejected is taken. A step then never takes less than the plan says, and
within 2 % as much where that is exact.
"""

import json
import subprocess
import sys


def search(options):
    text = subprocess.run(["tessera", "plan", *options, "--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(text)["manifest"]["target"]["search"]


def pins_of_moments(decisions):
    """For each rejected axis of a moment the option that takes it, and its price."""
    for decision in decisions:
        if not decision.get("state", "").endswith(".m"):
            continue
        for rejected in decision["rejected"]:
            if rejected["axis"]:
                yield ["--shard", f"{decision['state']}:{rejected['axis']}={decision['along']}"], rejected


def pins_of_meshes(meshes):
    for mesh in meshes:
        axes = [f"{name}={ranks}" for name, ranks in zip("pqrs", mesh["mesh"])]
        yield ["--mesh", ",".join(axes)], mesh


def count(options, pins):
    """Compares, and describes how many prices there were."""
    tried = exact = 0
    for pin, price in pins:
        seconds = search([*options, *pin])["seconds"]
        assert seconds >= (1 - 1e-9) * price["seconds"], (pin, seconds, price)
        assert not price["exact"] or seconds <= 1.02 * price["seconds"], (pin, seconds, price)
        tried, exact = tried + 1, exact + price["exact"]
    return f"{tried} alternatives, {exact} with exact prices"


def main():
    options = sys.argv[1:]
    found = search(options)
    if "--mesh" in options:
        print("moments:", count(options, pins_of_moments(found["decisions"])))
    else:
        print("meshes:", count(options, pins_of_meshes(found["meshes"])))


if __name__ == "__main__":
    main()
