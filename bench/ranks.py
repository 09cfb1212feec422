#!/usr/bin/env python3
"""Training on several ranks of one machine against one rank with as many threads, and against PyTorch's DDP over gloo.

usage: ranks.py WORKLOAD --tessera TESSERA [--ranks N] [--torch PYTHON] [--tokens FILE] [--text FILE] …

All have the same batch: a rank has its rows. Each process has one thread, but the program for one rank, which has N.
PyTorch takes part eager and compiled, as installed and tuned, started by its torchrun. Rounds are interleaved as in
training.py, which has the rules. Printed are, for each contender, the median of a step, and how the time of one rank
compares with it in each round: median and quartiles of these ratios. The same goes to bench/results/ as JSON.
"""

import argparse
import itertools
import os
import statistics
import sys
import tempfile

import training
from contenders import Contender
from workloads import WORKLOADS


def compile_ours(workload, options, program, arguments):
    command = [options.tessera, "compile", os.path.join(training.ROOT, workload.model), "-o", program, *arguments]
    for name, value in workload.settings.items():
        command += ["--set", f"{name}={value}"]
    print(training.output_of(*command).replace(program, os.path.basename(program)), file=sys.stderr)


def ours(workload, options, scratch):
    """One rank first: the others are compared with it."""
    steps = str(2 * (options.skip + options.blocks + 1) * options.block)
    train = ["train", "--data", training.data_of(workload, options), "--steps", steps]
    train += ["--log-every", str(options.block)]
    alone, ranks = os.path.join(scratch, "alone"), os.path.join(scratch, "ranks")
    compile_ours(workload, options, alone, ["--threads", str(options.ranks)])
    yield Contender(f"1 rank, {options.ranks} threads", [alone, *train, "--threads", str(options.ranks)])
    compile_ours(workload, options, ranks, ["--threads", "1", "--mesh", f"data={options.ranks}"])
    start = ["mpirun", *(["--allow-run-as-root"] if os.geteuid() == 0 else []), "-n", str(options.ranks)]
    yield Contender(f"{options.ranks} ranks, 1 thread", [*start, ranks, *train, "--threads", "1"])


def peers(workload, options, scratch):
    tuning = {**training.KEEP_MEMORY, **({"LD_PRELOAD": options.torch_preload} if options.torch_preload else {})}
    for mode, is_tuned in itertools.product(("eager", "compiled"), (False, True)):
        peer = os.path.join(training.HERE, "peers", f"torch_{workload.peer}.py")
        command = [options.torch, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(options.ranks)]
        command += [peer, "--data", training.data_of(workload, options), "--mode", mode, "--threads", "1"]
        command += ["--block", str(options.block), "--blocks", str(options.skip + options.blocks + 3)]
        environment = {"TORCHINDUCTOR_CACHE_DIR": os.path.join(scratch, "inductor"), **(tuning if is_tuned else {})}
        name = f"PyTorch DDP {mode}{', tuned' if is_tuned else ''}"
        yield Contender(name, [*command, *workload.options], environment)


def row_of(contender, first):
    """`ratios`: the time of one rank by this contender's, so that above 1 it is faster."""
    ratios = [base.median() / turn.median() for turn, base in zip(contender.turns, first.turns)]
    quartiles = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else 3 * ratios
    return {
        "name": contender.name,
        "command": training.plain(contender.command),
        "environment": {name: training.plain([value]) for name, value in contender.environment.items()},
        "median": round(contender.median(), 9),
        "ratios": [round(one, 4) for one in ratios],
        "quartiles_of_ratios": [round(one, 4) for one in quartiles],
        "rounds": [vars(turn) for turn in contender.turns],
    }


def measure(workload, options, scratch):
    taking_part = list(ours(workload, options, scratch))
    if options.torch:
        taking_part += peers(workload, options, scratch)
    record = {
        "workload": workload.name, "command": training.plain(["bench/ranks.py", *sys.argv[1:]]), "finished": False,
        "processor": training.processor(), "versions": training.versions(options), "ranks": options.ranks,
        "block": options.block, "blocks": options.blocks, "skip": options.skip, "contenders": [],
    }  # fmt: skip
    path = training.path_of_results(workload, options)
    path = os.path.join(os.path.dirname(path), "ranks-" + os.path.basename(path))
    for number, contender in itertools.product(range(options.rounds), taking_part):
        print(f"round {number + 1} of {options.rounds}: {contender.name}", file=sys.stderr)
        threads = options.ranks if contender is taking_part[0] else 1
        contender.turn(options.blocks, options.skip, options.block, threads, options.limit)
        record["contenders"] = [row_of(one, taking_part[0]) for one in taking_part if one.turns]
        record["finished"] = number + 1 == options.rounds and contender is taking_part[-1]
        training.write_results(path, record)
    for row in record["contenders"]:
        low, middle, high = row["quartiles_of_ratios"]
        print(f"{row['name']:28} {row['median'] * 1e3:8.1f} ms a step   {middle:.3f} ({low:.3f}–{high:.3f})")
    print("written to " + os.path.relpath(path))


def main():
    parser = argparse.ArgumentParser(description="Several ranks against one, and against PyTorch's.")
    parser.add_argument("workload", choices=[name for name, one in WORKLOADS.items() if one.peer == "gpt"])
    parser.add_argument("--tessera", required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--torch", help="a Python that has PyTorch")
    parser.add_argument("--torch-preload", help="a library for the tuned PyTorch runs, see bench/README.md")
    parser.add_argument("--tokens")
    parser.add_argument("--text")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--blocks", type=int, default=6, help="blocks of a run that are counted, at least 2")
    parser.add_argument("--skip", type=int, default=2)
    parser.add_argument("--block", type=int, default=1, help="steps in a block")
    parser.add_argument("--limit", type=float, default=600, help="seconds that a run may take")
    parser.add_argument("--results", default=os.path.join(training.HERE, "results"))
    options = parser.parse_args()
    options.precision, options.llmc, options.jax = "f32", None, None
    for name in ("tessera", "torch", "tokens", "text", "results"):
        if os.sep in (getattr(options, name) or ""):
            setattr(options, name, os.path.abspath(getattr(options, name)))
    with tempfile.TemporaryDirectory() as scratch:
        measure(WORKLOADS[options.workload], options, scratch)


if __name__ == "__main__":
    main()
