#!/usr/bin/env python3
"""Trains a byte GPT on several ranks, and compares the bytes that their communicators counted with formulas.

usage: sent_bytes.py MODEL DATA TORCHRUN

MODEL: examples/03-byte-gpt.tsr with a batch of BATCH x SEQ tokens. TORCHRUN: what starts ranks over TCP.

What a rank sends in a step, in all-to-alls and all-gathers along an axis of N ranks; f32, so 4 bytes an element:

- An all-reduce of S bytes is an all-to-all and an all-gather of S/N each: 2 (N - 1) S/N. A value of fewer than 1024
  elements is gathered whole instead: (N - 1) S. Of an axis that N does not divide, parts have ceil(size / N) elements.
- Data parallelism all-reduces the gradient of each parameter, those of a stack in each layer, and the loss.
- ZeRO-3 gathers a parameter of a layer before its forward and its backward, and reduce-scatters its gradient:
  3 (N - 1) S/N, which is 1.5 times as much. See `zero3` for what differs outside of layers.
- Megatron's split has four all-reduces in each layer, of the activations [batch, seq, embed]: two in the forward, two
  in the backward. Weights are not exchanged.
"""

import collections
import json
import math
import shutil
import subprocess
import sys

from mpirun import launch, run

BATCH, SEQ, LEAST_DIVIDED, ELEMENT = 8, 32, 1024, 4
model, data, torchrun = sys.argv[1:]
Bytes = collections.Counter  # by kind of exchange


def options(sizes):
    return [word for name, size in sizes.items() for word in ("--set", f"{name}={size}")]


def gathered(bytes_of_part, ranks):
    return Bytes(all_gather=(ranks - 1) * bytes_of_part)


def scattered(bytes_of_part, ranks):
    return Bytes(all_to_all=(ranks - 1) * bytes_of_part)


def part(axes, divided, ranks):
    """The bytes of a rank's part of a value, of which one axis is divided."""
    return ELEMENT * math.prod(math.ceil(size / ranks) if name == divided else size for name, size in axes)


def all_reduce(axes, ranks):
    whole = part(axes, None, ranks)
    if whole < LEAST_DIVIDED * ELEMENT:
        return gathered(whole, ranks)
    long_enough = [name for name, size in axes if size >= ranks]
    of_rank = part(axes, long_enough[0], ranks)
    return scattered(of_rank, ranks) + gathered(of_rank, ranks)


def zero3(path, axes, ranks):
    """Of a parameter that is divided along the longest axis, if possible one that the ranks divide evenly."""
    divided = max((size % ranks == 0, size, -at) for at, (_, size) in enumerate(axes) if size >= ranks)
    of_rank = part(axes, axes[-divided[2]][0], ranks)
    gather, scatter = gathered(of_rank, ranks), scattered(of_rank, ranks)
    if path == "wte":  # what is gathered for the embedding serves the classifier; each has a gradient
        return gather + scatter + scatter
    if not path.startswith("h.") or path == "h.mlp.b_down":  # the backward reads what the forward saved, or nothing
        return gather + scatter
    return gather + gather + scatter


def manifest(sizes, mesh):
    plan = ["tessera", "plan", model, *options(sizes), *mesh, "--json"]
    return json.loads(subprocess.run(plan, stdout=subprocess.PIPE, check=True).stdout)["manifest"]


def parameters(sizes):
    """The axes of each parameter, the layers of stacks apart: those of the plan for one rank."""
    return {
        state["path"]: [axis for axis in state["axes"] if axis[0] != "layer"]
        for state in manifest(sizes, [])["state"]
        if state["kind"] in ("weight", "bias", "gain")
    }


def counted(sizes, mesh, over):
    """What each rank sent in the last step, by axis and kind: equally much, and what the plan says."""
    ranks = math.prod(int(axis.split("=")[1]) for axis in mesh[1].split(","))
    run(["tessera", "compile", model, *options(sizes), *mesh, "-o", "program"])
    starter = launch(ranks, limit=60) if over == "mpi" else [torchrun, str(ranks)]
    shutil.rmtree("run", ignore_errors=True)
    files = ["--data", data, "--checkpoint-dir", "run", "--profile", "profile.json"]
    run([*starter, "./program", "train", "--steps", "2", "--quiet", *files])
    with open("profile.json", encoding="utf-8") as file:
        profile = json.load(file)
    first, *others = [rank["sent"] for rank in profile["ranks"]]
    assert len(others) == ranks - 1 and all(other == first for other in others), profile["ranks"]
    program = manifest(sizes, mesh)
    sizes_of_axes = {axis["name"]: axis["size"] for axis in program["mesh"]}
    planned = {axis: Bytes() for axis in sizes_of_axes}
    for exchange in program["exchanges"]:
        along, calls = exchange["along"], exchange["calls"].get("step", 0)
        planned[along][exchange["kind"]] += calls * (sizes_of_axes[along] - 1) * exchange["bytes"]
    sent = {axis: Bytes(kinds) for axis, kinds in first.items()}
    assert sent == planned, (sent, planned)
    return sent


def require(what, sent, formula):
    if sent != formula:
        sys.exit(f"{what}: sent {dict(sent)}, the formula says {dict(formula)}")


def scalars(count, ranks):
    return gathered(count * ELEMENT, ranks)


def compare_zero(sizes, ranks, over):
    depth, axes = sizes["depth"], parameters(sizes)
    of_layer = {path: of for path, of in axes.items() if path.startswith("h.")}
    is_matrix = {path: math.prod(size for _, size in of) >= LEAST_DIVIDED for path, of in of_layer.items()}
    matrices = [path for path in of_layer if is_matrix[path]]

    def times(path):
        return depth if path in of_layer else 1

    def total(formula, paths):
        return sum((Bytes({k: times(p) * n for k, n in formula(p).items()}) for p in paths), Bytes())

    rest = [path for path in axes if path not in matrices]
    plain = counted(sizes, ["--mesh", f"data={ranks}"], over)["data"]
    rest_of_plain = total(lambda p: all_reduce(axes[p], ranks), rest) + scalars(1, ranks)  # the loss
    require("data parallelism", plain, total(lambda p: all_reduce(axes[p], ranks), matrices) + rest_of_plain)
    zero = counted(sizes, ["--mesh", f"data={ranks}", "--zero", "3"], over)["data"]
    rest_of_zero = total(lambda p: zero3(p, axes[p], ranks), rest) + scalars(2, ranks)  # and the gradients' norm
    require("ZeRO-3", zero, total(lambda p: zero3(p, axes[p], ranks), matrices) + rest_of_zero)
    layers = [(all_ - of).total() for all_, of in ((plain, rest_of_plain), (zero, rest_of_zero))]
    print(f"data={ranks} over {over}: {plain.total()} bytes, with ZeRO-3 {zero.total()}: matrices of layers", *layers)
    return layers


def compare_tensor(sizes, data_ranks, ranks, over):
    mesh = ["--mesh", f"data={data_ranks},tensor={ranks}" if data_ranks > 1 else f"tensor={ranks}"]
    sent = counted(sizes, [*mesh, "--shard", "head=tensor,ff=tensor"], over)["tensor"]
    embed = sizes["heads"] * sizes["head_size"]
    activations = ELEMENT * BATCH // data_ranks * SEQ * embed
    of_rank = 4 * sizes["depth"] * activations // ranks
    # The squares of the gradients that the ranks have parts of, for the norm.
    formula = scattered(of_rank, ranks) + gathered(of_rank, ranks) + scalars(1, ranks)
    require("Megatron's split", sent, formula)
    layers = f"4 all-reduces of each of {sizes['depth']} layers"
    print(f"{mesh[1]} over {over}: {sent.total()} bytes along tensor, in {layers}")


even = {"depth": 2, "heads": 4, "head_size": 8, "context": SEQ}
for ranks in 2, 8:
    plain, zero = compare_zero(even, ranks, "mpi")
    assert 2 * zero == 3 * plain > 0, (plain, zero)
print("ZeRO-3 sends 1.5 times the bytes of data parallelism for matrices of layers")
compare_zero({"depth": 2, "heads": 5, "head_size": 6, "context": SEQ}, 4, "tcp")  # parts with padding
compare_tensor({**even, "depth": 3}, 1, 4, "tcp")
compare_tensor(even, 2, 2, "mpi")
