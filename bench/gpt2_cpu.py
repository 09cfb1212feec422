#!/usr/bin/env python3
"""Step time of GPT-2 124M on the CPU: a compiled training program against its peers, side by side.

usage: gpt2_cpu.py --tokens TOKENS.bin [--program PROGRAM] [--llmc FOLDER] [--torch PYTHON] …      (see --help)

Whichever of the three is named takes part. The contenders take turns, round by round, so that a machine that slows down slows
all of them; the first steps of each turn (page faults, caches, compilation) are not counted. Printed are the median, the quartiles
and the fastest of all counted steps, and how much slower each peer's median is than ours. The same goes to bench/results/ as JSON.
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
import time

# glibc gives every large block back to the system and faults it in anew at the next step, unless told not to.
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000", "MALLOC_TOP_PAD_": "1000000000"}
HERE = os.path.dirname(os.path.abspath(__file__))


class Contender:
    """A command that prints a line a step; `seconds_of()` makes the function that finds a step's time in a line, or None."""

    def __init__(self, name, command, folder, seconds_of, environment=None):
        self.name, self.command, self.folder, self.seconds_of = name, command, folder, seconds_of
        self.environment = environment or {}
        self.steps, self.load = [], []

    def turn(self, steps, skip, threads):
        """Runs until `steps` of them are done; keeps all but the first `skip`."""
        self.load.append(os.getloadavg()[0])
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), **self.environment)
        seen, seconds_of = [], self.seconds_of()
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                # Line by line, though it writes into a pipe.
                ["stdbuf", "-oL", *self.command],
                cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip
            for line in process.stdout:
                seconds = seconds_of(line)
                if seconds is not None:
                    seen.append(seconds)
                if len(seen) == steps:
                    break
            process.kill()
            process.wait()
            if len(seen) < steps:
                errors.seek(0)
                sys.exit(f"{self.name} stopped after {len(seen)} of {steps} steps:\n{errors.read()[-2000:]}")
        self.steps += seen[skip:]


def between_lines():
    """Step times as seen from outside: from one metrics line of a step to the next."""
    last = None

    def seconds_of(line):
        nonlocal last
        if not line.startswith("{") or json.loads(line).get("split") != "train":
            return None
        before, last = last, time.perf_counter()
        return last - before if before else 0.0

    return seconds_of


def word_after(word, scale):
    """The number that follows `word` in a line, times `scale`."""

    def seconds_of(line):
        words = line.split()
        return float(words[words.index(word) + 1]) * scale if word in words else None

    return seconds_of


def contenders(options, scratch):
    tokens = os.path.abspath(options.tokens)
    if options.program:
        command = [os.path.abspath(options.program), "train", "--data", tokens, "--steps", str(options.steps + 1)]
        command += ["--metrics", "-", "--quiet", "--threads", str(options.threads)]
        yield Contender("tessera", command, scratch, between_lines)
    if options.llmc and options.precision == "f32":
        subprocess.run([sys.executable, os.path.join(HERE, "peers", "llmc_files.py"), scratch, tokens], check=True)
        yield Contender("llm.c", [os.path.abspath(os.path.join(options.llmc, "train_gpt2"))], scratch, lambda: word_after("(took", 1e-3))
    if options.torch:
        tuned = dict(KEEP_MEMORY, LD_PRELOAD=os.path.abspath(options.torch_preload)) if options.torch_preload else KEEP_MEMORY
        for mode, environment in itertools.product(("eager", "compiled"), ({}, tuned)):
            name = f"PyTorch {mode}, tuned" if environment else f"PyTorch {mode}"
            command = [options.torch, os.path.join(HERE, "peers", "torch_gpt2.py"), "--tokens", tokens, "--mode", mode]
            command += ["--precision", options.precision, "--steps", str(options.steps), "--threads", str(options.threads)]
            yield Contender(name, command, scratch, lambda: word_after("seconds", 1), environment)


def summary(contender):
    quartiles = statistics.quantiles(contender.steps, n=4)
    return {
        "name": contender.name,
        "median": statistics.median(contender.steps),
        "quartiles": [quartiles[0], quartiles[2]],
        "fastest": min(contender.steps),
        "steps": contender.steps,
        "load_before": contender.load,
    }


def processor():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown")


def main():
    parser = argparse.ArgumentParser(description="Step time of GPT-2 124M on the CPU, against its peers.")
    parser.add_argument("--tokens", required=True, help="a token file of 16-bit numbers below 50257")
    parser.add_argument("--program", help="our training program, compiled for the same precision")
    parser.add_argument("--llmc", help="folder of llm.c with train_gpt2 built (f32 only)")
    parser.add_argument("--torch", help="a Python that has PyTorch")
    parser.add_argument("--torch-preload", help="a library for the tuned PyTorch runs, see bench/README.md")
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=13, help="steps in a turn")
    parser.add_argument("--skip", type=int, default=3, help="steps of a turn that are not counted, at least 1")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if not 1 <= options.skip < options.steps - 1:
        parser.error("--skip must be at least 1 and leave two steps to count")

    with tempfile.TemporaryDirectory() as scratch:
        taking_part = list(contenders(options, scratch))
        if not taking_part:
            parser.error("name at least one of --program, --llmc, --torch")
        for number in range(options.rounds):
            for contender in taking_part:
                print(f"round {number + 1} of {options.rounds}: {contender.name}", file=sys.stderr)
                contender.turn(options.steps, options.skip, options.threads)

    rows = [summary(contender) for contender in taking_part]
    print(f"{'':24} {'median':>8} {'quartiles':>17} {'fastest':>8} {'ratio':>7}")
    for row in rows:
        low, high = row["quartiles"]
        ratio = row["median"] / rows[0]["median"]
        print(f"{row['name']:24} {row['median']:7.3f}s {low:7.3f}s–{high:7.3f}s {row['fastest']:7.3f}s {ratio:7.2f}")

    now = datetime.datetime.now()
    path = os.path.join(HERE, "results", f"gpt2_cpu-{options.precision}-{now:%Y%m%d-%H%M%S}.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        record = {name: getattr(options, name) for name in ("precision", "threads", "rounds", "steps", "skip")}
        json.dump({"processor": processor(), **record, "batch": 4, "seq": 64, "contenders": rows}, out, indent=1)
        out.write("\n")
    print("written to " + os.path.relpath(path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
