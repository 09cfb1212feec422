#!/usr/bin/env python3
"""Training on the CPU: a compiled training program against its peers, side by side.

usage: training.py WORKLOAD … --tessera TESSERA [--llmc FOLDER] [--torch PYTHON] [--jax PYTHON] [--profile] …

Each of the four that is named takes part, with the workload's model, batch, optimizer and data, in f32 or with
--precision bf16 (ours and PyTorch's autocast; ours in f32 takes part beside them). Rounds are interleaved: in each of
them every contender runs once, so that a machine that slows down slows all of them. This script reads the clock
whenever a contender prints its line for a block of steps; the first blocks of a run (page faults, caches, compilation)
are not counted. Printed are median, quartiles and the fastest of all counted steps, how much slower each peer's median
is than ours with the range over the rounds, and the greatest resident memory. The same and more goes to bench/results/
as JSON. The file is rewritten after every run of a contender: what was measured stays if a later one fails (`finished`:
false).
"""

import argparse
import datetime
import itertools
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile

import step_table
from contenders import Contender
from workloads import WORKLOADS

# By default glibc returns every large block to the system, and faults it in again at the next step.
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000", "MALLOC_TOP_PAD_": "1000000000"}
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PROFILED_SECONDS = 20


def output_of(*command, **settings):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **settings).stdout.strip()


# contenders -----------------------------------------------------------------------------------------------------------


def compile_ours(workload, options, scratch, precision):
    """(our program, what compiling it said)"""
    program = os.path.join(scratch, f"{workload.name}-{precision}")
    command = [options.tessera, "compile", os.path.join(ROOT, workload.model), "-o", program]
    command += ["--threads", str(options.threads)]
    if precision != "f32":
        command += ["--precision", precision]
    if options.on:
        command += ["--on", options.on]
    for name, value in workload.settings.items():
        command += ["--set", f"{name}={value}"]
    said = output_of(*command).replace(program, os.path.basename(program))
    return program, {"command": plain(command), "output": said}


def ours(name, program, workload, options, steps):
    command = [program, "train", "--data", data_of(workload, options), "--threads", str(options.threads)]
    # More steps than are needed, so that it is still running when its memory is read.
    return Contender(name, [*command, "--log-every", str(block_of(workload, options)), "--steps", str(2 * steps)])


def llmc(workload, options, scratch):
    folder = os.path.join(scratch, "llm.c")
    files = os.path.join(HERE, "peers", "llmc_files.py")
    subprocess.run([sys.executable, files, folder, data_of(workload, options)], check=True)
    return Contender("llm.c", [os.path.join(options.llmc, "train_gpt2")], folder=folder)


def python_peers(workload, options, scratch, blocks):
    """PyTorch and JAX in each of their modes, as installed and tuned."""
    preload = {"LD_PRELOAD": options.torch_preload} if options.torch_preload else {}
    # Compilation is cold in the first round, and leaves nothing behind.
    caches = {"TORCHINDUCTOR_CACHE_DIR": os.path.join(scratch, "inductor")}
    torch_modes = {"eager": " eager", "compiled": " compiled"}
    jax_modes = {mode: "" if mode == "jit" else " " + mode for mode in workload.jax_modes}
    families = (
        ("PyTorch", options.torch, "torch", torch_modes, {**KEEP_MEMORY, **preload}, caches),
        ("JAX", options.jax, "jax", jax_modes, KEEP_MEMORY, {}),
    )
    for family, python, prefix, modes, tuning, environment in families:
        for mode, is_tuned in itertools.product(modes, (False, True)) if python else ():
            peer = os.path.join(HERE, "peers", f"{prefix}_{workload.peer}.py")
            command = [python, peer, "--data", data_of(workload, options)]
            command += ["--mode", mode, "--threads", str(options.threads), "--block", str(block_of(workload, options))]
            command += ["--blocks", str(blocks + 2), "--precision", options.precision, *workload.options]
            name = family + modes[mode] + (", tuned" if is_tuned else "")
            yield Contender(name, command, {**environment, **(tuning if is_tuned else {})})


def contenders(workload, programs, options, scratch):
    blocks = options.skip + options.blocks + 1
    for precision, program in programs.items():
        name = "tessera" if precision == options.precision else f"tessera, {precision}"
        yield ours(name, program, workload, options, blocks * block_of(workload, options))
    if options.precision == "f32" and options.llmc and workload.has_llmc:
        yield llmc(workload, options, scratch)
    for peer in python_peers(workload, options, scratch, blocks):
        if options.precision == "f32" or peer.name.startswith("PyTorch"):
            yield peer


def block_of(workload, options):
    return options.block or workload.block


def data_of(workload, options):
    return getattr(options, workload.data)


# our profile ----------------------------------------------------------------------------------------------------------


def machine_limits(options, scratch):
    program = os.path.join(scratch, "machine_limits")
    if not os.path.exists(program):
        flags = ["-O3", "-march=native", "-fopenmp"]
        subprocess.run([options.cxx, *flags, os.path.join(HERE, "machine_limits.cpp"), "-o", program], check=True)
    return json.loads(output_of(program, env=dict(os.environ, OMP_NUM_THREADS=str(options.threads))))


def profiled(program, workload, options, scratch, seconds):
    """One more run of ours with its profile, for steps of about `seconds`, between two measurements of the limits."""
    steps = max(5, min(round(PROFILED_SECONDS / seconds), 30 * block_of(workload, options)))
    file = os.path.join(scratch, "profile.json")
    before = machine_limits(options, scratch)
    with tempfile.TemporaryDirectory() as empty:
        command = [program, "train", "--data", data_of(workload, options), "--steps", str(steps)]
        command += ["--profile", file, "--quiet", "--threads", str(options.threads)]
        subprocess.run(command, cwd=empty, check=True, stdout=subprocess.DEVNULL)
    after = machine_limits(options, scratch)
    with open(file) as written:
        profile = json.load(written)
    # The limits are the better of both.
    limits = {name: max(before[name], after[name]) for name in before}
    return {"profile": profile, "limits": limits, "limits_before": before, "limits_after": after}


# what is written ------------------------------------------------------------------------------------------------------


def plain(command):
    """A command as one line that names no folder outside of the repository."""

    def shorten(found):
        before, path = found.groups()
        is_ours = path.startswith(ROOT + os.sep)
        return before + (os.path.relpath(path, ROOT) if is_ours else "…/" + os.path.basename(path))

    return " ".join(re.sub(r"(^|[=:])(/\S+)", shorten, word) for word in command)


def processor():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown")


def commit_of(folder):
    is_checkout = os.path.exists(os.path.join(folder, ".git"))
    return output_of("git", "-C", folder, "describe", "--always", "--dirty") if is_checkout else "not a checkout"


def versions(options):
    found = {"repository": commit_of(ROOT), "glibc": platform.libc_ver()[1], "python": platform.python_version()}
    if options.tessera:
        found["tessera"] = output_of(options.tessera, "--version")
    if options.llmc:
        found["llm.c"] = commit_of(options.llmc)
    for python, modules in ((options.torch, ("torch",)), (options.jax, ("jax", "jaxlib"))):
        for module in modules if python else ():
            found[module] = output_of(python, "-c", f"import {module}; print({module}.__version__)")
    return found


def ratios(contender, first):
    """Median over all rounds, and each round's: how much slower than the first contender."""
    each = [turn.median() / base.median() for turn, base in zip(contender.turns, first.turns)]
    return contender.median() / first.median(), each


def summary(contender, first):
    ratio, each = ratios(contender, first)
    low, _, high = statistics.quantiles(contender.steps(), n=4, method="inclusive")
    return {
        "name": contender.name,
        "command": plain(contender.command),
        "environment": {name: plain([value]) for name, value in contender.environment.items()},
        "median": round(contender.median(), 9),
        "quartiles": [round(low, 9), round(high, 9)],
        "fastest": min(contender.steps()),
        "ratio": round(ratio, 4),
        "ratio_of_rounds": [round(one, 4) for one in each],
        "peak_bytes": contender.peak(),
        "peak_ratio": round(contender.peak() / first.peak(), 4) if first.peak() else None,
        "rounds": [vars(turn) for turn in contender.turns],
    }


def milliseconds(seconds):
    return f"{seconds * 1e3:.4g}"


def print_summaries(workload, rows):
    line = "{:24} {:>9} {:>15} {:>8} {:>6} {:>13} {:>8} {:>6}  {}"
    head = ("ms a step", "quartiles", "fastest", "ratio", "of rounds", "peak MiB", "ratio", "loss, first and last")
    print("\n" + line.format(workload.name, *head))
    for row in rows:
        low, high = map(milliseconds, row["quartiles"])
        each = f"{min(row['ratio_of_rounds']):.2f}–{max(row['ratio_of_rounds']):.2f}"
        losses = row["rounds"][0]["losses"]
        print(
            line.format(
                row["name"], milliseconds(row["median"]), f"{low}–{high}", milliseconds(row["fastest"]),
                f"{row['ratio']:.2f}", each, f"{row['peak_bytes'] / 2**20:.1f}", f"{row['peak_ratio'] or 0:.2f}",
                f"{losses[min(losses)]:.4f} at {min(losses)}, {losses[max(losses)]:.4f} at {max(losses)}",
            )
        )  # fmt: skip


def path_of_results(workload, options):
    name = workload.name if options.precision == "f32" else f"{workload.name}-{options.precision}"
    return os.path.join(options.results, f"{name}-{datetime.datetime.now():%Y%m%d-%H%M%S}.json")


def write_results(path, record):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    text = json.dumps(record, indent=1, ensure_ascii=False)
    # A list of numbers is one line.
    text = re.sub(r"\[\s+([^\[\]{}\"]+?)\s+\]", lambda found: "[" + re.sub(r"\s+", " ", found.group(1)) + "]", text)
    with open(path + ".new", "w") as out:
        out.write(text + "\n")
    os.replace(path + ".new", path)


# a run ----------------------------------------------------------------------------------------------------------------


def measure(workload, options, scratch):
    precisions = dict.fromkeys((options.precision, "f32")) if options.tessera else ()
    made = {precision: compile_ours(workload, options, scratch, precision) for precision in precisions}
    programs = {precision: program for precision, (program, _) in made.items()}
    program, compiled = made[options.precision] if made else (None, None)
    taking_part = list(contenders(workload, programs, options, scratch))
    taking_part = [one for one in taking_part if not options.only or one.name in options.only]
    if not taking_part:
        sys.exit(f"{workload.name}: no contender; name at least one of --tessera, --llmc, --torch, --jax")
    command = plain(["bench/training.py", *sys.argv[1:]])
    record = {
        "workload": workload.name, "precision": options.precision, "command": command, "finished": False,
        "processor": processor(), "versions": versions(options), "compiled": compiled, "threads": options.threads,
        "block": block_of(workload, options), "blocks": options.blocks, "skip": options.skip, "contenders": [],
    }  # fmt: skip
    path = path_of_results(workload, options)
    try:
        run_contenders(workload, options, taking_part, record, path)
        if options.profile and program:
            record.update(profiled(program, workload, options, scratch, record["contenders"][0]["median"]))
        record["finished"] = True
        write_results(path, record)  # before anything is printed: the reader of the output may go away
    finally:
        if record["contenders"]:
            print_record(workload, record, path)


def run_contenders(workload, options, taking_part, record, path):
    """All rounds. `record` and the file hold what was measured so far, after every run of a contender."""
    for number, contender in itertools.product(range(options.rounds), taking_part):
        print(f"{workload.name}, round {number + 1} of {options.rounds}: {contender.name}", file=sys.stderr)
        contender.turn(options.blocks, options.skip, block_of(workload, options), options.threads, options.limit)
        record["contenders"] = [summary(one, taking_part[0]) for one in taking_part if one.turns]
        write_results(path, record)


def is_predicted(profile):
    """Whether the program was compiled for a device whose speed is known."""
    return any("predicted" in row for row in profile["rows"])


def print_record(workload, record, path):
    print_summaries(workload, record["contenders"])
    if "profile" in record:
        step_table.print_table(record["profile"], record["limits"])
        if is_predicted(record["profile"]):
            step_table.print_table(record["profile"], None)
    print("written to " + os.path.relpath(path), flush=True)


def parse():
    parser = argparse.ArgumentParser(description="Training on the CPU, against its peers.")
    parser.add_argument("workloads", nargs="+", choices=list(WORKLOADS), metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument("--tessera", help="our compiler; it compiles the workload into a temporary folder")
    parser.add_argument("--llmc", help="folder of llm.c with train_gpt2 built")
    parser.add_argument("--torch", help="a Python that has PyTorch")
    parser.add_argument("--torch-preload", help="a library for the tuned PyTorch runs, see bench/README.md")
    parser.add_argument("--jax", help="a Python that has JAX")
    parser.add_argument("--tokens", help="for gpt2-…: a token file of 16-bit numbers below 50257")
    parser.add_argument("--text", help="for byte-gpt-…: any text")
    parser.add_argument("--digits", help="for digits: what examples/data/make-digits.py writes")
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="the contenders that take part, as the table calls them"
    )
    parser.add_argument(
        "--profile", action="store_true", help="one more run of ours, its kernels against the machine's limits"
    )
    parser.add_argument("--on", help="a calibrated description of this machine: the profile has predicted times, too")
    parser.add_argument("--cxx", default="g++", help="compiler for machine_limits.cpp, with OpenMP")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--blocks", type=int, default=12, help="blocks of a run that are counted, at least 2")
    parser.add_argument("--skip", type=int, default=2, help="blocks after the first that are not counted either")
    parser.add_argument("--block", type=int, help="steps in a block; each workload has its own number")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=float, default=1800, help="seconds that a run may take")
    parser.add_argument("--results", default=os.path.join(HERE, "results"), help="folder for the JSON files")
    options = parser.parse_args()
    if options.blocks < 2 or options.skip < 0:
        parser.error("--blocks must be at least 2, --skip at least 0")
    return parser, options


def main():
    parser, options = parse()
    for name in (
        "tokens",
        "text",
        "digits",
        "llmc",
        "torch_preload",
        "results",
    ):  # contenders run in folders of their own
        if getattr(options, name):
            setattr(options, name, os.path.abspath(getattr(options, name)))
    for name in ("tessera", "torch", "jax"):  # not resolved: a virtual environment's Python is a link
        if os.sep in (getattr(options, name) or ""):
            setattr(options, name, os.path.abspath(getattr(options, name)))
    for name in options.workloads:
        if not data_of(WORKLOADS[name], options):
            parser.error(f"{name} needs --{WORKLOADS[name].data}")
    failed = False
    for name in options.workloads:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                measure(WORKLOADS[name], options, scratch)
            except BrokenPipeError:
                # Otherwise Python complains once more at its end.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                return 1
            except (RuntimeError, OSError, subprocess.CalledProcessError) as problem:
                print(f"{name}: {problem}", file=sys.stderr)
                failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
