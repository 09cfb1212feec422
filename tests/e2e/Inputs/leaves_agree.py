#!/usr/bin/env python3
"""Trains a model with leaves on one rank and on several; compares the bits of all losses and of the last checkpoint.

usage: leaves_agree.py MODEL DATA LEAVES STEPS MESH [OPTIONS...]      MESH: options of `compile`, or "one rank"; several
are separated by ";". OPTIONS: of all compilations
"""

import json
import math
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from mpirun import launch, run
from safetensors_file import read_tensors


def ranks_of(mesh):
    words = mesh.split()
    sizes = words[words.index("--mesh") + 1] if "--mesh" in words else ""
    return math.prod(int(part.split("=")[1]) for part in sizes.split(",") if part)


def train(number, mesh, options):
    """The records of the steps, without times, and the tensors of the checkpoint."""
    model, data, leaves, steps, *_ = sys.argv[1:]
    program, folder, metrics = f"./program-{number}", f"run-{number}", f"run-{number}.jsonl"
    words = [] if mesh == "one rank" else mesh.split()
    run(["tessera", "compile", model, "--leaves", leaves, "--threads", "1", *words, *options, "-o", program])
    options = ["--data", data, "--steps", steps, "--checkpoint-dir", folder, "--metrics", metrics]
    shutil.rmtree(folder, ignore_errors=True)
    run([*launch(ranks_of(mesh), limit=100), program, "train", *options, "--threads", "1", "--quiet"])
    keys = ["step", "losses", "metrics", "total"]
    if "--zero" not in sys.argv[5]:  # with ZeRO it is a sum over other parts
        keys.append("grad_norm")
    with open(metrics, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    losses = [[record[key] for key in keys] for record in records if record["split"] == "train"]
    files = [f"{folder}/step-{int(steps):08}/{kind}.safetensors" for kind in ("model", "optimizer")]
    return losses, [read_tensors(file) for file in files]


def main():
    meshes, options = sys.argv[5].split(";"), sys.argv[6:]
    losses, tensors = train(0, meshes[0], options)
    for number, mesh in enumerate(meshes[1:], start=1):
        own_losses, own_tensors = train(number, mesh, options)
        differs = [step for step, (a, b) in enumerate(zip(losses, own_losses), start=1) if a != b]
        names = [name for ours, theirs in zip(tensors, own_tensors) for name in ours if ours[name] != theirs.get(name)]
        if differs or names or len(own_losses) != len(losses):
            print(f"{mesh}: differs from {meshes[0]} in {len(differs)} steps, first {differs[:1]}, and in {names}")
        else:
            count = sum(map(len, tensors))
            print(f"{mesh}: {len(losses)} losses and {count} tensors have the bits of {meshes[0]}", flush=True)


main()
