#!/usr/bin/env python3
"""Plans of a model with found shardings within many budgets.

usage: many_budgets.py COUNT MODEL.tsr OPTION…
    OPTION: of `tessera plan`, with --devices and a GPU

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


def main():
    count, options = int(sys.argv[1]), sys.argv[2:]
    refused = plan(options, "1MiB")
    assert refused.returncode != 0, refused.stdout
    least = int(re.search(r"the least that the program takes is .*, (\d+) bytes", refused.stderr).group(1))
    most = 1.1 * json.loads(plan(options, "1TiB").stdout)["gpu"]["total"]
    before, plans = float("inf"), set()
    for i in range(count):
        budget = round(least * (most / least) ** (i / (count - 1)))
        done = plan(options, f"{budget}B")
        assert done.returncode == 0, (budget, done.stderr)
        found = json.loads(done.stdout)
        seconds, total = found["time"]["seconds"], found["gpu"]["total"]
        mesh = ",".join(f"{axis['name']}={axis['size']}" for axis in found["ranks"]["mesh"])
        print(f"{budget >> 20} MiB: {total >> 20} MiB, {1e3 * seconds:.2f} ms, {mesh}")
        assert total <= budget, (budget, total)
        assert seconds <= before * (1 + 1e-3), (budget, seconds, before)
        before = min(before, seconds)
        plans.add((total, seconds))
    print(f"{count} budgets, {len(plans)} plans")


if __name__ == "__main__":
    main()
