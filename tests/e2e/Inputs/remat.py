"""Checks that programs which recompute values train as the one that saves them all, bit for bit, in the memory that
was planned.

usage: remat.py MODEL DATA BUDGETS OPTIONS...

Compared are `--remat=layer`, `--remat=sqrt` and, for a number of BUDGETS, amounts of memory from the least that
suffices to what the program takes without recomputation: half of them those at which `plan` says that the program
changes, the others at equal distances. OPTIONS are for `tessera`. Prints the arenas, and the number of programs.
"""

import json
import re
import subprocess
import sys

model, data, budgets, *options = sys.argv[1:]


def tessera(command, *more):
    return subprocess.run(["tessera", command, model, *options, *more], capture_output=True, text=True, check=False)


def plan(*more):
    run = tessera("plan", "--json", *more)
    assert run.returncode == 0, f"plan {more}: {run.stderr}"
    return json.loads(run.stdout)


def trained(name, *more):
    """The files of a checkpoint after some steps, and the bytes of the arena."""
    run = tessera("compile", "--no-cache", "-o", name, "--dump-dir", f"{name}-dumps", *more)
    assert run.returncode == 0, f"compile {more}: {run.stderr}"
    command = [f"./{name}", "train", "--data", data, "--steps=4", f"--checkpoint-dir={name}-run", "--quiet"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"train {more}: {run.stderr}"
    files = []
    for file in ("model.safetensors", "optimizer.safetensors"):
        with open(f"{name}-run/step-00000004/{file}", "rb") as checkpoint:
            files.append(checkpoint.read())
    with open(f"{name}-dumps/manifest.json", encoding="utf-8") as manifest:
        return files, json.load(manifest)["arena"]["bytes"]


def needed(planned):
    return (planned.get("gpu") or planned["host"])["total"]


def check(*more):
    """Plans and runs a program; returns the plan."""
    planned = plan(*more)
    tensors, arena = trained("".join(more).lstrip("-"), *more)
    assert tensors == expected, f"{more}: other parameters"
    assert arena == planned["arena"], f"{more}: the arena has {arena} bytes, planned {planned['arena']}"
    print(f"{' '.join(more)}: arena {arena}, step {planned['time']['seconds']:.3g} s")
    return planned


def least():
    """The memory that the program takes at least, as the message about too small a budget says it."""
    refused = tessera("plan", "--memory=1B")
    found = re.search(r"the least that the program takes is [^,]*, (\d+) bytes", refused.stderr)
    assert refused.returncode == 1 and found, refused.stderr
    return int(found[1])


def evenly(items, count):
    return [items[i * (len(items) - 1) // max(1, count - 1)] for i in range(count)]


expected, arena = trained("none", "--remat=none")
without = plan("--remat=none")
assert arena == without["arena"], f"the arena has {arena} bytes, planned {without['arena']}"
for mode in ("layer", "sqrt"):
    assert check(f"--remat={mode}")["arena"] < arena, f"{mode} needs more memory"

low, high, count = least(), needed(without), int(budgets)
changes = [point["bytes"] for point in plan()["memory"]["frontier"] if low < point["bytes"] < high]
changes = evenly(changes, min(len(changes), count // 2 - 1))
equal = count - len(changes)
previous, programs = None, 0
for budget in sorted([*changes, *(low + (high - low) * i // (equal - 1) for i in range(equal))]):
    planned = check(f"--memory={budget}B")
    assert needed(planned) <= budget, f"{needed(planned)} bytes of {budget}"
    if previous:
        assert planned["arena"] >= previous["arena"], "a larger budget, a smaller arena"
        # By estimates that `predict` corrects a little afterwards.
        assert planned["time"]["seconds"] <= 1.005 * previous["time"]["seconds"], "a larger budget, a slower step"
    programs += not previous or planned["arena"] != previous["arena"]
    previous = planned
assert previous["arena"] == arena, "what fits without recomputation recomputes"
print(f"{count} budgets, {programs} programs")
