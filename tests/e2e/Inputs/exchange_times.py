#!/usr/bin/env python3
"""Checks the predicted time of each exchange of plans against the formulas of docs/cost.md.

usage: exchange_times.py cpu|gpu PLAN_JSON...

The plans are for a mesh data=2,tensor=4 on machines of equal size. On a CPU one cable serves a machine, on GPUs each
has an adapter. The formulas are those for groups that lie in one way: all on one machine, or equally many members on
each.
"""

import json
import math
import sys

SIZES, STRIDES = {"data": 2, "tensor": 4}, {"data": 4, "tensor": 1}
# As cabled.device of tests/e2e/plan-ranks.test has them, and the preset h100 with the defaults of the model.
FIGURES = {
    "cpu": {"start": 0, "inside": (8e9, 2e-6), "network": (80e6, 50e-6)},
    "gpu": {"start": 6.6e-6, "inside": (450e9, 0.6e-6), "network": (50e9, 2.7e-6)},
}


def loads_of(where, kind, ranks, near, groups, block):
    """Bytes and rounds, inside and between machines. `near`: members on a machine; `groups`: of those on a machine."""
    others = ranks - 1
    if where == "gpu":
        machines = ranks // near
        if kind == "all_to_all":
            crosses = near < ranks
            return (near - 1) * block, (ranks - near) * block, int(not crosses), int(crosses)
        between = others / near if near < ranks else 0
        return (others - between) * block, between * block, ranks - machines, machines - 1
    rounds = math.ceil(math.log2(ranks)) if ranks * block <= 32768 else others
    if near == ranks:
        return others * block, 0, rounds, 0
    if kind == "all_to_all":
        return (near - 1) * block, groups * near * (ranks - near) * block, 0, rounds
    return (others * block if near > 1 else 0), groups * others * block, 0, rounds


def seconds_of(where, exchange, devices):
    ranks, stride = SIZES[exchange["along"]], STRIDES[exchange["along"]]
    near = max(1, min(ranks, devices // stride))
    groups = devices // near
    inside, network, inside_rounds, network_rounds = loads_of(
        where, exchange["kind"], ranks, near, groups, exchange["bytes"]
    )
    figures = FIGURES[where]
    latency = inside_rounds * figures["inside"][1] + network_rounds * figures["network"][1]
    return figures["start"] + latency + max(inside / figures["inside"][0], network / figures["network"][0])


def main():
    where = sys.argv[1]
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            plan = json.load(file)
        machines = plan["ranks"]["machines"]
        exchanges = plan["manifest"]["exchanges"]
        for exchange in exchanges:
            expected = seconds_of(where, exchange, machines["devices"])
            assert abs(exchange["seconds"] / expected - 1) < 1e-4, (path, exchange, expected)
        kinds = {(exchange["kind"], exchange["along"]) for exchange in exchanges}
        assert len(kinds) == 4, kinds
        print(f"{machines['count']} x {machines['devices']}: {len(exchanges)} exchanges take what they should")


main()
