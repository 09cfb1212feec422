#!/usr/bin/env python3
"""Saves a run on 1, 2, 4 and 8 ranks and resumes each checkpoint on each of them. What a mesh loaded and saved again
must have the bits that were saved, and the next batches and draws must be those of a run that was not interrupted.

usage: saves_agree.py MODEL DATA SAVED STEPS       SAVED: the step of the checkpoints; STEPS: the last one
"""

import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from mpirun import launch, run
from safetensors_file import read_tensors

model, data, saved, steps = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
meshes = {
    1: [],
    2: ["--mesh", "data=2", "--zero", "1"],
    4: ["--mesh", "data=2,tensor=2", "--shard", "ff=tensor,seq=tensor"],
    8: ["--mesh", "data=8", "--zero", "3"],
}


def train(ranks, folder, until, *options):
    """Trains to step `until`; returns the records of the steps that this run took."""
    metrics = f"{folder}-{until}.jsonl"
    options = ["--data", data, "--steps", str(until), "--checkpoint-dir", folder, "--metrics", metrics, *options]
    run([*launch(ranks, limit=60), f"./program-{ranks}", "train", *options, "--threads", "1", "--quiet"])
    with open(metrics, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return [record for record in records if record["split"] == "train"]


def tensors(folder, step):
    """All weights and all state of the optimizer."""
    found = {}
    for kind in ("model", "optimizer"):
        for name, tensor in read_tensors(f"{folder}/step-{step:08}/{kind}.safetensors").items():
            found[f"{name} of {kind}"] = tensor
    return found


def differences(what, ours, theirs):
    names = [name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)]
    return [f"{what} differ in {sorted(names)}"] if names else []


def different_batches(records, expected):
    """Samples and draws to the bit, losses within what sums in another order may change."""
    wrong = []
    for record, other in zip(records, expected):
        is_same = record["metrics"] == other["metrics"] and record["step"] == other["step"]
        if not is_same or not math.isclose(record["total"], other["total"], rel_tol=1e-5):
            wrong.append(f"{record} is not {other}")
    return wrong[:1] if len(records) == len(expected) else [f"{len(records)} steps instead of {len(expected)}"]


def resume(source, ranks, whole):
    """Loads the checkpoint of a run on `source` ranks; says what is not as it was saved."""
    folder = f"from-{source}-on-{ranks}"
    train(ranks, folder, saved, "--resume", f"whole-{source}/step-{saved:08}")
    before = tensors(f"whole-{source}", saved)
    wrong = differences("the tensors", tensors(folder, saved), before)
    wrong += different_batches(train(ranks, folder, steps), whole)
    if source == ranks:
        wrong += differences("the last tensors", tensors(folder, steps), tensors(f"whole-{source}", steps))
    equal = f"{len(before)} tensors to the bit, the same {steps - saved} batches"
    print(f"saved on {source}, loaded on {ranks}: {'; '.join(wrong) if wrong else equal}", flush=True)


for count, mesh in meshes.items():
    run(["tessera", "compile", model, *mesh, "-o", f"program-{count}"])
runs = {count: train(count, f"whole-{count}", steps) for count in meshes}
for count in meshes:
    for wrong_batch in different_batches(runs[count], runs[1]):
        print(f"on {count} ranks: {wrong_batch}")
for origin in meshes:
    for count in meshes:
        resume(origin, count, runs[1][saved:])
