#!/usr/bin/env python3
"""Checks what of a byte GPT each rank has with ZeRO, to the byte.

usage: zero_bytes.py MODEL

MODEL: examples/03-byte-gpt.tsr with `accumulate`. What is expected follows from the plan for one rank, whose tensors
are whole, and from docs/sharding.md: `--shard` divides the axes that it names; ZeRO divides one more axis along `data`,
of moments from level 1 on, of gradients from 2 on, of weights from 3 on. A part has ceil(size / ranks) elements.
"""

import collections
import concurrent.futures
import functools
import itertools
import json
import math
import subprocess
import sys

model = sys.argv[1]
BYTES = {"f32": 4, "i32": 4, "i64": 8}
PARAMETERS = ("weight", "gain", "bias")


@functools.cache
def planned(options, mesh):
    command = ["tessera", "plan", model, *options, *mesh, "--json"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def plan(sizes, *mesh):
    return planned(tuple(word for name, size in sizes.items() for word in ("--set", f"{name}={size}")), mesh)


def part(state, level, ranks, shard):
    """The axes that a rank has of a whole state, and which axes are divided along what."""
    from_level = {"moment": 1, "gradient": 2}.get(state["kind"], 3 if state["kind"] in PARAMETERS else math.inf)
    along = {name: shard[name] for name, _ in state["axes"] if name in shard}
    count = ranks["data"]
    free = [
        (size % count == 0, size, -at)  # the first of the largest
        for at, (name, size) in enumerate(state["axes"])
        if name not in along and name != "layer" and size >= count
    ]
    if level >= from_level and free:
        along[state["axes"][-max(free)[2]][0]] = "data"
    pieces = {name: ranks[mesh_axis] for name, mesh_axis in along.items()}
    return [[name, math.ceil(size / pieces.get(name, 1))] for name, size in state["axes"]], along


def bytes_of(state, axes):
    return BYTES[state["type"]] * math.prod(size for _, size in axes)


def check_state(whole, divided, level, ranks, shard):
    """Counts the states that are whole, even parts, and parts with padding."""
    kinds = collections.Counter()
    assert [state["path"] for state in divided] == [state["path"] for state in whole]
    for one, own in zip(whole, divided):
        axes, along = part(one, level, ranks, shard)
        expected = {name: {"along": along[name], "whole": size} for name, size in one["axes"] if name in along}
        assert own["axes"] == axes and own.get("divided", {}) == expected, (own, axes, expected)
        assert own["bytes"] == bytes_of(one, axes), (own, axes)
        assert one["axes"] or own["bytes"] == one["bytes"], own  # scalars replicate
        parts = math.prod(ranks[name] for name in along.values())
        kinds["whole" if not along else "even" if own["bytes"] * parts == one["bytes"] else "padded"] += 1
    return kinds


def in_any_order(axes):
    return tuple(sorted((name, size) for name, size in axes))


def axes_of_type(text):
    axes = [axis.split(": ") for axis in text.split("]")[0].strip("[").split(", ")]
    return in_any_order((name, int(size)) for name, size in axes)


def check_gradients(whole, buffers, level, ranks, shard):
    """Each parameter that ZeRO divides has a gradient of a part's size, and no gradient has another size, but for that
    of positions before it gets its axis `place`: its sum over the ranks is whole. Returns their number."""
    divided, others = collections.Counter(), set()
    for state in whole:
        if state["kind"] in PARAMETERS:
            axes, along = part({**state, "kind": "gradient"}, level, ranks, shard)
            if "data" in along.values():
                divided[in_any_order(axes)] += 1
            else:
                others.add(in_any_order(axes))
    found = collections.Counter()
    for buffer in buffers:
        if buffer["entry"] == "step" and buffer["kind"] == "gradient":
            axes = axes_of_type(buffer["type"])
            assert axes in divided or axes in others or "seq" in dict(axes), buffer
            assert buffer["bytes"] == BYTES["f32"] * math.prod(size for _, size in axes), buffer
            found[axes] += 1
    assert all(found[axes] >= count for axes, count in divided.items()), (found, divided)
    return sum(divided.values())


SHARD = {"head": "tensor", "ff": "tensor"}
EVEN = {"depth": 2, "heads": 4, "head_size": 8, "context": 8}
PADDED = {**EVEN, "heads": 5, "head_size": 6}
MESHES = [(EVEN, {"data": 2}), (EVEN, {"data": 4}), (EVEN, {"data": 8}), (EVEN, {"data": 2, "tensor": 2})]
MESHES += [(PADDED, {"data": 8}), (PADDED, {"data": 2, "tensor": 2})]


def check(case):
    (sizes, mesh), level = case
    shard = SHARD if "tensor" in mesh else {}
    words = ["--mesh", ",".join(f"{axis}={size}" for axis, size in mesh.items()), "--zero", str(level)]
    if shard:
        words += ["--shard", ",".join(f"{axis}={along}" for axis, along in shard.items())]
    alone, own = plan(sizes)["manifest"]["state"], plan(sizes, *words)
    kinds = check_state(alone, own["manifest"]["state"], level, mesh, shard)
    text = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    if level >= 2:
        count = check_gradients(alone, own["buffers"], level, mesh, shard)
        text += f"; the gradients of {count} parameters in parts"
    return f"embed={sizes['heads'] * sizes['head_size']} {' '.join(words)}: of {len(alone)} states {text}"


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    for line in pool.map(check, itertools.product(MESHES, (1, 2, 3))):
        print(line, flush=True)
