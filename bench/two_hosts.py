#!/usr/bin/env python3
"""Plans for two hosts: which is measured fastest, which the search finds, and how near its predictions are.

usage: two_hosts.py --tessera TESSERA --text FILE [--rounds N] [--only PAIR …]

Two network namespaces are the hosts (tests/runtime/ranks/two-hosts.sh), two ranks on each, which share a core. For each
pair of a model and a link the links are measured (`tessera calibrate`), three plans are compiled that a user may write,
pure data parallelism, pure tensor parallelism and a mixed one, and one that is found. All four run in turns. Printed
are medians of a step beside the predictions; the same goes to bench/results/ as JSON.
"""

import argparse
import datetime
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile

import training
from contenders import Contender

HOSTS = os.path.join(training.ROOT, "tests", "runtime", "ranks", "two-hosts.sh")
MODEL = os.path.join(training.ROOT, "examples", "03-byte-gpt.tsr")
DIVIDED = ["--shard", "head=tensor,ff=tensor"]
PLANS = {
    "data": ["--mesh", "data=4"],
    "mixed": ["--mesh", "data=2,tensor=2", *DIVIDED],
    "tensor": ["--mesh", "tensor=4", *DIVIDED],
    "found": ["--devices", "4"],
}
# The rate of the cable, and what is set of the model.
PAIRS = {
    "small-weights": ("10gbit", {"d.batch": 64, "d.seq": 128, "head_size": 16}),
    "medium": ("400mbit", {"d.batch": 32, "d.seq": 128, "head_size": 48}),
    "large-weights": ("200mbit", {"d.batch": 4, "d.seq": 32, "head_size": 192, "depth": 3}),
}


def settings_of(pair):
    return [word for name, value in PAIRS[pair][1].items() for word in ("--set", f"{name}={value}")]


def planned(options, pair, plan, device):
    """What `plan --json` says of a plan."""
    command = [options.tessera, "plan", MODEL, *settings_of(pair), "--on", f"2x2x{device}", *PLANS[plan], "--json"]
    return json.loads(training.output_of(*command, "--threads", "1"))


def compiled(options, pair, plan, device, scratch):
    program = os.path.join(scratch, f"{pair}-{plan}")
    command = [options.tessera, "compile", MODEL, *settings_of(pair), "--on", f"2x2x{device}", *PLANS[plan]]
    training.output_of(*command, "--threads", "1", "-o", program)
    return program


def on_hosts(rate, *command):
    return ["bash", HOSTS, "--one-core", rate, "2", *command]


def mesh_of(plan):
    return {axis["name"]: axis["size"] for axis in plan["ranks"]["mesh"]}


def measure_pair(options, pair, scratch):
    rate, settings = PAIRS[pair]
    device = os.path.join(scratch, f"{pair}.device")
    print(f"{pair}: measuring the links at {rate}", file=sys.stderr)
    subprocess.run(on_hosts(rate, options.tessera, "calibrate", "-o", device), check=True, stdout=subprocess.DEVNULL)
    contenders, plans = [], {}
    steps = str(2 * (options.skip + options.blocks + 1))
    for plan in PLANS:
        plans[plan] = planned(options, pair, plan, device)
        program = compiled(options, pair, plan, device, scratch)
        command = [program, "train", "--data", options.text, "--steps", steps, "--log-every", "1", "--threads", "1"]
        contenders.append(Contender(plan, on_hosts(rate, *command), folder=scratch))
    for number, contender in itertools.product(range(options.rounds), contenders):
        print(f"{pair}, round {number + 1} of {options.rounds}: {contender.name}", file=sys.stderr)
        contender.turn(options.blocks, options.skip, 1, 1, options.limit)
    rows = []
    for contender in contenders:
        measured = statistics.median(turn.median() for turn in contender.turns)
        predicted = plans[contender.name]["time"]["seconds"]
        rows.append({
            "plan": contender.name, "mesh": mesh_of(plans[contender.name]), "measured": round(measured, 6),
            "predicted": round(predicted, 6), "rounds": [vars(turn) for turn in contender.turns],
        })  # fmt: skip
        print(f"{pair:14} {contender.name:7} {json.dumps(rows[-1]['mesh']):28} {measured * 1e3:8.1f} ms measured "
              f"{predicted * 1e3:8.1f} predicted ({100 * (predicted / measured - 1):+.1f} %)")  # fmt: skip
    return {"pair": pair, "rate": rate, "settings": settings, "plans": rows}


def main():
    parser = argparse.ArgumentParser(description="Plans for two hosts, measured and found.")
    parser.add_argument("--tessera", required=True)
    parser.add_argument("--text", required=True)
    parser.add_argument("--only", nargs="+", choices=PAIRS, default=list(PAIRS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--blocks", type=int, default=5, help="steps of a run that are counted")
    parser.add_argument("--skip", type=int, default=2)
    parser.add_argument("--limit", type=float, default=300, help="seconds that a run may take")
    parser.add_argument("--results", default=os.path.join(training.HERE, "results"))
    options = parser.parse_args()
    options.tessera, options.text = os.path.abspath(options.tessera), os.path.abspath(options.text)
    options.precision = "f32"
    record = {
        "command": training.plain(["bench/two_hosts.py", *sys.argv[1:]]), "processor": training.processor(),
        "pairs": [],
    }  # fmt: skip
    path = os.path.join(options.results, f"two-hosts-{datetime.datetime.now():%Y%m%d-%H%M%S}.json")
    with tempfile.TemporaryDirectory() as scratch:
        for pair in options.only:
            record["pairs"].append(measure_pair(options, pair, scratch))
            training.write_results(path, record)
    print("written to " + os.path.relpath(path))


if __name__ == "__main__":
    main()
