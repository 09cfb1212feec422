#!/usr/bin/env python3
"""Checks what a plan says of ranks against the manifest inside of it.

usage: planned_ranks.py PLAN_JSON TOKENS

TOKENS: of a step on all ranks together.
"""

import json
import math
import sys


def product(numbers):
    return math.prod(numbers)


def main():
    plan = json.load(open(sys.argv[1], encoding="utf-8"))
    tokens = int(sys.argv[2])
    manifest, ranks, time = plan["manifest"], plan["ranks"], plan["time"]
    sizes = {axis["name"]: axis["size"] for axis in manifest["mesh"]}
    assert ranks["count"] == product(sizes.values()), ranks["count"]

    # Each of n ranks receives from n - 1 others.
    exchanges = [e for e in manifest["exchanges"] if e["calls"].get("step")]
    received = {name: 0 for name in sizes}
    counts = {name: {"all_to_all": 0, "all_gather": 0} for name in sizes}
    for exchange in exchanges:
        calls = exchange["calls"]["step"]
        received[exchange["along"]] += calls * (sizes[exchange["along"]] - 1) * exchange["bytes"]
        counts[exchange["along"]][exchange["kind"]] += calls
    for axis in ranks["mesh"]:
        assert axis["received"] == received[axis["name"]] > 0, axis
        assert {kind: axis[kind] for kind in ("all_to_all", "all_gather")} == counts[axis["name"]], axis
    rows = ranks["exchanges"]
    assert sum(row["received"] for row in rows) == sum(received.values())
    assert sum(row["calls"] for row in rows) == sum(exchange["calls"]["step"] for exchange in exchanges)
    assert rows == sorted(rows, key=lambda row: -row["received"])
    assert len({(row["of"], row["at"], row["kind"], row["along"]) for row in rows}) == len(rows)

    # The whole of a state is what all have together, without copies and padding.
    element = {"f32": 4, "bf16": 2, "i32": 4, "i64": 8}
    for kind in ranks["state"]:
        states = [state for state in manifest["state"] if state["kind"] == kind["kind"]]
        whole = 0
        for state in states:
            divided = state.get("divided", {})
            axes = [divided.get(name, {"whole": size})["whole"] for name, size in state["axes"]]
            whole += product(axes) * element[state["type"]]
        assert kind["count"] == len(states)
        assert kind["rank"] == sum(state["bytes"] for state in states) and kind["all"] == ranks["count"] * kind["rank"]
        assert kind["whole"] == whole <= kind["all"], kind
        for name, count in kind["divided"].items():
            along = [s for s in states if name in [part["along"] for part in s.get("divided", {}).values()]]
            assert len(along) == count, (kind, name)
    assert plan["disk"]["checkpoint"] == sum(kind["whole"] for kind in ranks["state"])

    assert time["unit"] == "tokens" and abs(time["per_second"] * time["seconds"] / tokens - 1) < 1e-6, time
    seconds = sum(exchange["seconds"] * exchange["calls"]["step"] for exchange in exchanges)
    assert abs(ranks["seconds"] / seconds - 1) < 1e-4 and 0 < seconds < time["seconds"]
    print("exchanges take a part of the step")


main()
