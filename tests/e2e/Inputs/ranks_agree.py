#!/usr/bin/env python3
"""Trains a model on one rank and on several meshes, and compares the losses of all steps; then resumes checkpoints on
other meshes.

usage: ranks_agree.py MODEL DATA STEPS [OPTION ...]   # options of tessera compile
"""

import json
import math
import subprocess
import sys

model, data, steps, everywhere = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
meshes = {
    "one rank": 1,
    "--mesh data=2": 2,
    "--mesh data=2,tensor=2 --shard ff=tensor": 4,
    "--mesh tensor=2 --shard seq=tensor": 2,
}
mpirun = ["timeout", "-k", "5", "60", "mpirun", "--allow-run-as-root", "--oversubscribe", "-n"]


def run(command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: status {result.returncode}\n{result.stdout}")


def program(mesh):
    return "./program-" + str(list(meshes).index(mesh))


def train(mesh, folder, until):
    """The losses of the steps that this run takes."""
    metrics = f"{folder}-{until}.jsonl"
    launch = [*mpirun, str(meshes[mesh])] if meshes[mesh] > 1 else []
    options = ["--data", data, "--steps", str(until), "--checkpoint-dir", folder, "--metrics", metrics, "--quiet"]
    run([*launch, program(mesh), "train", *options, "--set", "evaluate.batches=2", "--check-replicas", "5"])
    with open(metrics, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return [record["total"] for record in records if record["split"] == "train"]


def compare(what, losses, expected):
    equal = len(losses) == len(expected) and all(map(lambda a, b: math.isclose(a, b, rel_tol=1e-5), losses, expected))
    print(f"{what}: {len(losses)} losses agree" if equal else f"{what}: {losses} and {expected}", flush=True)


for mesh in meshes:
    options = [] if mesh == "one rank" else mesh.split()
    run(["tessera", "compile", model, *everywhere, *options, "-o", program(mesh)])
first, *others = meshes
whole = train(first, "whole", steps)
for mesh in others:
    compare(mesh, train(mesh, f"run-{list(meshes).index(mesh)}", steps), whole)
after = train(first, "whole", steps + 4)
compare(f"from {others[0]} to {others[1]}", train(others[1], "run-1", steps + 2), after[:2])
compare(f"from {others[1]} to {first}", train(first, "run-1", steps + 4), after[2:])
