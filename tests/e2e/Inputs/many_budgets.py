#!/usr/bin/env python3
"""Plans of a model, also with found shardings, within many budgets.

usage: many_budgets.py [--below] COUNT MODEL.tsr OPTION…
    --below: for each program that is found, also the budget that lacks a byte for it
    OPTION: of `tessera plan`

The budgets lie between the least memory that a refusal names and what the program takes without recomputation, and a
little above. Each program fits into its budget, and none is predicted to be slower than one with less memory.
"""

import json
import re
import subprocess
import sys


def plan(options, memory):
    command = ["tessera", "plan", *options, "--memory", memory, "--json"]
    return subprocess.run(command, capture_output=True, text=True)


def needed(planned):
    """Bytes of the device."""
    return (planned.get("gpu") or planned["host"])["total"]


def main():
    below = sys.argv[1] == "--below"
    count, options = int(sys.argv[1 + below]), sys.argv[2 + below :]
    refused = plan(options, "1MiB")
    assert refused.returncode != 0, refused.stdout
    least = int(re.search(r"the least that the program takes is .*, (\d+) bytes", refused.stderr).group(1))
    most = 1.1 * needed(json.loads(plan(options, "1TiB").stdout))
    found = {}

    def find(budget):
        done = plan(options, f"{budget}B")
        assert done.returncode == 0, (budget, done.stderr)
        found[budget] = json.loads(done.stdout)
        return needed(found[budget])

    for i in range(count):
        budget = round(least * (most / least) ** (i / (count - 1)))
        total = find(budget)
        if below and total > least:
            find(total - 1)
    before, plans = float("inf"), set()
    for budget, planned in sorted(found.items()):
        seconds, total = planned["time"]["seconds"], needed(planned)
        mesh = ",".join(f"{axis['name']}={axis['size']}" for axis in (planned.get("ranks") or {}).get("mesh", []))
        print(f"{budget >> 20} MiB: {total >> 20} MiB, {1e3 * seconds:.2f} ms{mesh and ', '}{mesh}")
        assert total <= budget, (budget, total)
        assert seconds <= before * (1 + 1e-3), (budget, seconds, before)
        before = min(before, seconds)
        plans.add((total, seconds))
    print(f"{len(found)} budgets, {len(plans)} plans")


if __name__ == "__main__":
    main()
