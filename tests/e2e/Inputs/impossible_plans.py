#!/usr/bin/env python3
"""Edits a plan so that it says what cannot be, and seeded random changes: each is refused, or gives a program.

usage: impossible_plans.py PLAN COUNT MODEL.tsr OPTION…    COUNT: of the random ones; the model has a stack of layers
"""

import copy
import json
import random
import subprocess
import sys

EDITED = "edited.plan"
path, count, *options = sys.argv[1:]
with open(path) as file:
    plan = json.load(file)
mesh = list(plan["mesh"])


def compiled(edited):
    """What is said of an edited plan, if it is refused; else nothing."""
    with open(EDITED, "w") as file:
        json.dump(edited, file)
    command = ["tessera", "plan", *options, "--plan", EDITED]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 1), (done.returncode, done.stderr)
    if done.returncode == 0:
        return ""
    assert f"the plan {EDITED} does not suit: " in done.stderr, done.stderr
    return done.stderr


def divided(axes, number, along):
    """Axes as a plan has them, the one with this number divided along another mesh axis; none: whole."""
    parts = [part.split(" = ")[0] for part in axes.split(", ")]
    if along:
        parts[number] += f" = {along}"
    return ", ".join(parts)


def edit(where, name, element, change):
    edited = copy.deepcopy(plan)
    if element is None:
        edited[where][name] = change(edited[where][name])
    else:
        edited[where][name][element] = change(edited[where][name][element])
    return edited


repeat = next(name for name, axes in plan["ops"].items() if isinstance(axes, list))
stack = next(i for i, axes in enumerate(plan["ops"][repeat]) if axes.startswith("layer: "))
stacked = next(name for name, axes in plan["states"].items() if axes.startswith("layer: "))
along_layers = lambda axes: divided(axes, 0, mesh[0])
assert "divided along its own axis" in compiled(edit("ops", repeat, stack, along_layers))
assert "cannot be divided along `layer`" in compiled(edit("states", stacked, None, along_layers))
assert compiled({**plan, "mesh": {mesh[0]: 4}}), "a mesh whose axis the model lacks the elements for"

random.seed(1)
refused = 0
for _ in range(int(count)):
    where = random.choice(["states", "inputs", "ops", "ops"])
    name = random.choice([name for name, axes in plan[where].items() if axes])
    element = random.randrange(len(plan[where][name])) if isinstance(plan[where][name], list) else None
    axes = plan[where][name] if element is None else plan[where][name][element]
    number, along = random.randrange(axes.count(", ") + 1), random.choice([*mesh, None])
    refused += bool(compiled(edit(where, name, element, lambda axes: divided(axes, number, along) if axes else axes)))
print(f"{count} random changes: {refused} are refused")
