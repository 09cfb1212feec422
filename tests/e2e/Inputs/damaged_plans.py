#!/usr/bin/env python3
"""Compiles a model with damaged copies of a plan; each must be refused, and stay as it is.

usage: damaged_plans.py PLAN MODEL.tsr OPTION…
"""

import json
import subprocess
import sys

DAMAGED = "damaged.plan"


def refuse(text, expected, options):
    """`expected`: what the message must contain."""
    with open(DAMAGED, "w") as file:
        file.write(text)
    command = ["tessera", "compile", *options, "--plan", DAMAGED, "--compile-to", "shard", "-o", "damaged.mlir"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1, (done.returncode, done.stderr, text[:200])
    assert done.stderr.startswith("error: ") and expected in done.stderr, (expected, done.stderr)
    with open(DAMAGED) as file:
        assert file.read() == text


def changed(plan, key, value, inner=None):
    """The plan with another value of a key, or without it."""
    plan = json.loads(plan)
    place = plan[inner] if inner else plan
    if value is None:
        del place[key]
    else:
        place[key] = value
    return json.dumps(plan)


def main():
    path, *options = sys.argv[1:]
    with open(path) as file:
        plan = file.read()
    damaged = [("", "damaged.plan: byte 0: not valid JSON"), ("[]", "is no plan"), ("{}", "is no plan")]
    damaged += [(plan[:length], "damaged.plan: byte ") for length in range(1, len(plan) - 2, len(plan) // 12)]
    damaged.append((plan.replace("\n", "\n\x00", 1), "damaged.plan"))
    damaged.append((changed(plan, "tessera_plan", 2), "is a plan of version 2, and this compiler reads version 1"))
    for key in ("device", "precision", "machines", "options", "search", "mesh", "states", "inputs", "ops"):
        damaged.append((changed(plan, key, None), f"missing key '{key}'"))
        damaged.append((changed(plan, key, 7), "damaged.plan"))
    content = json.loads(plan)
    op = next(iter(content["ops"]))
    state = next(iter(content["states"]))
    axes = content["ops"][op]
    mesh = next(iter(content["mesh"]))
    damaged.append((changed(plan, op, axes + ",", "ops"), f"'{op}': expected axes such as"))
    damaged.append((changed(plan, op, None, "ops"), "does not suit: a step has 1 op more"))
    damaged.append((changed(plan, state, None, "states"), f"does not suit: the state `{state}` is new"))
    damaged.append((changed(plan, mesh, 3, "mesh"), "'mesh': has "))
    damaged.append((changed(plan, mesh, 0, "mesh"), "'mesh': expected a number from 1 to"))
    first = axes.split(",")[0].split("=")[0].strip()
    rest = ", ".join(part.split("=")[0].strip() for part in axes.split(",")[1:])
    damaged.append((changed(plan, op, f"{first} = nowhere, {rest}", "ops"), "nowhere"))
    damaged.append((plan.replace('"seconds": ', '"seconds": -'), "'search'"))
    damaged.append((changed(plan, "bytes", 1e19, "search"), "'search': expected a number below 2^62"))
    damaged.append((changed(plan, "second", 1.0, "search"), "'search': unknown key 'second'"))
    damaged.append((changed(plan, "op", {}), "unknown key 'op'"))
    damaged.append((changed(plan, "two words", 1, "mesh"), "'mesh': "))
    for text, expected in damaged:
        refuse(text, expected, options)
    print(f"{len(damaged)} damaged plans are refused")


if __name__ == "__main__":
    main()
