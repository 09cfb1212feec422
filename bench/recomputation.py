#!/usr/bin/env python3
"""Memory against time on the CPU: our programs within budgets beside PyTorch's ways to recompute.

usage: recomputation.py WORKLOAD --tessera TESSERA --memory SIZE … [--torch PYTHON] [--tokens FILE] [--text FILE] …

The workload is compiled without a budget and with each `--memory`; PyTorch runs eager and compiled, with each value of
its `--recompute` (peers/torch_gpt.py). Rounds are interleaved as in training.py, which has the rules. Printed are, for
each program, the median of a step and the greatest resident memory, then which points of PyTorch's have both less
memory and less time than one of ours. The same goes to bench/results/ as JSON, from which gpu/plot_memory.py draws.
With --before, a further compiler takes part without a budget: `before`.

With --alternate all of our programs are in memory at once and alternate at each step; those that wait are stopped.
--rounds is the number of steps, and the ratios are those of steps of one round.
"""

import argparse
import datetime
import itertools
import os
import statistics
import sys
import tempfile

import training
from contenders import Contender
from workloads import WORKLOADS

# By PyTorch's mode: values of torch_gpt.py's `--recompute`.
PEERS = {
    "eager": ("none", "layer", "selective"),
    "compiled": ("none", "layer", "selective", "0.75", "0.5", "0.25", "0"),
}


def compile_ours(tessera, workload, options, program, memory):
    command = [tessera, "compile", os.path.join(training.ROOT, workload.model), "-o", program]
    command += ["--threads", str(options.threads), "--precision", options.precision]
    command += [f"--memory={memory}"] if memory else []
    for name, value in workload.settings.items():
        command += ["--set", f"{name}={value}"]
    return training.output_of(*command).replace(program, os.path.basename(program))


def ours(workload, options, scratch):
    """Without a budget first: the others are compared with it."""
    compilers = [("Tessera", options.tessera, None)]
    compilers += [("before", options.before, None)] if options.before else []
    compilers += [(f"Tessera, {memory}", options.tessera, memory) for memory in options.memory]
    for name, tessera, memory in compilers:
        program = os.path.join(scratch, name.replace(", ", "-"))
        print(f"{name}: {compile_ours(tessera, workload, options, program, memory)}", file=sys.stderr)
        steps = str(2 * (options.rounds if options.alternate else options.skip + options.blocks + 1))
        command = [program, "train", "--data", training.data_of(workload, options), "--log-every", "1"]
        yield Contender(name, [*command, "--threads", str(options.threads), "--steps", steps])


def peers(workload, options, scratch):
    environment = {"TORCHINDUCTOR_CACHE_DIR": os.path.join(scratch, "inductor")}
    if not options.as_installed:
        environment.update(training.KEEP_MEMORY)
        environment.update({"LD_PRELOAD": options.torch_preload} if options.torch_preload else {})
    blocks = str(options.skip + options.blocks + 3)
    for mode, recompute in ((mode, value) for mode, values in PEERS.items() for value in values):
        peer = os.path.join(training.HERE, "peers", f"torch_{workload.peer}.py")
        command = [options.torch, peer, "--data", training.data_of(workload, options), "--mode", mode]
        command += ["--threads", str(options.threads), "--blocks", blocks, "--precision", options.precision]
        command += [*workload.options, "--recompute", recompute]
        yield Contender(f"PyTorch {mode}, {recompute}", command, environment)


def beaten(rows):
    """Which points of PyTorch's have both less memory and less time than which of ours."""
    own = [row for row in rows if not row["name"].startswith("PyTorch")]
    return [
        f"{peer['name']} beats {one['name']}"
        for peer in rows if peer not in own
        for one in own
        if peer["peak_bytes"] <= one["peak_bytes"] and peer["median"] <= one["median"]
    ]  # fmt: skip


def record_of(workload, options):
    record = {
        "workload": workload.name, "precision": options.precision, "finished": False,
        "command": training.plain(["bench/recomputation.py", *sys.argv[1:]]), "processor": training.processor(),
        "versions": training.versions(options), "threads": options.threads, "contenders": [],
    }  # fmt: skip
    stamp = f"{datetime.datetime.now():%Y%m%d-%H%M%S}"
    path = os.path.join(options.results, f"recomputation-{workload.name}-{stamp}.json")
    return record, path


def measure(workload, options, scratch):
    taking_part = list(ours(workload, options, scratch))
    if options.torch:
        taking_part += peers(workload, options, scratch)
    record, path = record_of(workload, options)
    failed = {}
    for number, one in itertools.product(range(options.rounds), taking_part):
        if one.name in failed:
            continue
        print(f"round {number + 1} of {options.rounds}: {one.name}", file=sys.stderr)
        try:
            one.turn(options.blocks, options.skip, 1, options.threads, options.limit)
        except RuntimeError as problem:
            failed[one.name] = str(problem)
            print(problem, file=sys.stderr)
        record["contenders"] = [training.summary(other, taking_part[0]) for other in taking_part if other.turns]
        record["failed"] = failed
        training.write_results(path, record)
    finish(record, path, workload)


def alternate(workload, options, scratch):
    """A step of each at a time: what disturbs the machine for longer than a step disturbs all."""
    taking_part = list(ours(workload, options, scratch))
    record, path = record_of(workload, options)
    runs = [one.alternate() for one in taking_part]
    try:
        for number, (one, run) in itertools.product(range(options.rounds + 1), zip(taking_part, runs)):
            seconds = next(run)
            print(f"round {number} of {options.rounds}: {one.name}: {seconds} s", file=sys.stderr)
            if number > 1 and one is taking_part[-1]:
                record["contenders"] = [training.summary(other, taking_part[0]) for other in taking_part if other.turns]
                for row, other in zip(record["contenders"], taking_part):
                    pairs = zip(other.turns[0].steps, taking_part[0].turns[0].steps)
                    row["median_of_pairs"] = round(statistics.median(own / first for own, first in pairs), 4)
                training.write_results(path, record)
    finally:
        for run in runs:
            run.close()
    for row in record["contenders"]:
        print(f"{row['name']}: {row['median_of_pairs']} of the first, median over {options.rounds} pairs")
    finish(record, path, workload)


def finish(record, path, workload):
    record["finished"] = True
    record["answer"] = beaten(record["contenders"])
    training.write_results(path, record)
    training.print_summaries(workload, record["contenders"])
    print("\n".join(record["answer"]) or "no point of PyTorch's has both less memory and less time than one of ours")
    print("written to " + os.path.relpath(path))


def main():
    parser = argparse.ArgumentParser(description="Memory against time on the CPU, beside PyTorch.")
    parser.add_argument("workload", choices=list(WORKLOADS), metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument("--tessera", required=True, help="our compiler")
    parser.add_argument("--before", help="another version of our compiler")
    parser.add_argument("--memory", nargs="*", default=[], metavar="SIZE", help="budgets, as the compiler takes them")
    parser.add_argument("--torch", help="a Python that has PyTorch")
    parser.add_argument("--torch-preload", help="a library for tuned PyTorch runs, see bench/README.md")
    parser.add_argument("--as-installed", action="store_true", help="PyTorch returns what it frees to the system")
    parser.add_argument("--tokens", help="for gpt2-…: a token file of 16-bit numbers below 50257")
    parser.add_argument("--text", help="for byte-gpt-…: any text")
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--blocks", type=int, default=3, help="steps of a run that are counted")
    parser.add_argument("--skip", type=int, default=1, help="steps after the first that are not counted either")
    parser.add_argument("--alternate", action="store_true", help="our programs alone, a step of each at a time")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=float, default=1800, help="seconds that a run may take")
    parser.add_argument("--results", default=os.path.join(training.HERE, "results"), help="folder for the JSON files")
    options = parser.parse_args()
    options.llmc = options.jax = None  # not of this comparison
    for name in ("tokens", "text", "torch_preload", "results", "tessera", "before"):
        if getattr(options, name):
            setattr(options, name, os.path.abspath(getattr(options, name)))
    workload = WORKLOADS[options.workload]
    if not getattr(options, workload.data, None):
        parser.error(f"{workload.name} needs --{workload.data}")
    with tempfile.TemporaryDirectory() as scratch:
        (alternate if options.alternate else measure)(workload, options, scratch)


if __name__ == "__main__":
    main()
