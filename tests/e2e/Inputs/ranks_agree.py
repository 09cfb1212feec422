#!/usr/bin/env python3
"""Trains a model on one rank and on several meshes, and compares the losses of all steps; then resumes checkpoints on
other meshes.

usage: ranks_agree.py MODEL DATA STEPS [OPTION ...]   # options of tessera compile; --on-ranks=OPTION: for meshes only;
                                                      # --found=OPTIONS: of four ranks whose sharding is found
"""

import json
import math
import sys

from mpirun import launch, run

model, data, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
for_ranks = "--on-ranks="
found = "--found="
everywhere = [option for option in sys.argv[4:] if not option.startswith((for_ranks, found))]
on_ranks = [option.removeprefix(for_ranks) for option in sys.argv[4:] if option.startswith(for_ranks)]
meshes = {
    "one rank": 1,
    "--mesh data=2": 2,
    "--mesh data=2,tensor=2 --shard ff=tensor": 4,
    "--mesh tensor=2 --shard seq=tensor": 2,
}
meshes |= {option.removeprefix(found): 4 for option in sys.argv[4:] if option.startswith(found)}


def program(mesh):
    return "./program-" + str(list(meshes).index(mesh))


def train(mesh, folder, until):
    """The losses of the steps that this run takes."""
    metrics = f"{folder}-{until}.jsonl"
    options = ["--data", data, "--steps", str(until), "--checkpoint-dir", folder, "--metrics", metrics, "--quiet"]
    options += ["--set", "evaluate.batches=2", "--check-replicas", "5"]
    run([*launch(meshes[mesh], limit=60), program(mesh), "train", *options])
    with open(metrics, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return [record["total"] for record in records if record["split"] == "train"]


def compare(what, losses, expected):
    equal = len(losses) == len(expected) and all(map(lambda a, b: math.isclose(a, b, rel_tol=1e-5), losses, expected))
    print(f"{what}: {len(losses)} losses agree" if equal else f"{what}: {losses} and {expected}", flush=True)


for mesh in meshes:
    options = [] if mesh == "one rank" else [*mesh.split(), *on_ranks]
    run(["tessera", "compile", model, *everywhere, *options, "-o", program(mesh)])
first, *others = meshes
whole = train(first, "whole", steps)
for mesh in others:
    compare(mesh, train(mesh, f"run-{list(meshes).index(mesh)}", steps), whole)
after = train(first, "whole", steps + 4)
compare(f"from {others[0]} to {others[1]}", train(others[1], "run-1", steps + 2), after[:2])
compare(f"from {others[1]} to {first}", train(first, "run-1", steps + 4), after[2:])
