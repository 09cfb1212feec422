#!/usr/bin/env python3
"""Fills the folder that scripts/gpu-suite.sh makes: programs for GPUs, what they compute on a processor, data, scripts.

usage: make_folder.py FOLDER --binaries DIR [--smoke] [--minutes M]

FOLDER/folder.json says what is in it; `run.py` reads nothing else of the repository. Programs and libraries are packed,
since most of them are copies of one launcher. As many programs as there are processors are compiled or run at a time;
kernels are recorded last, as far as the time goes.
"""

import argparse
import concurrent.futures
import datetime
import glob
import json
import lzma
import os
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

import record_kernels
import settings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The machine with the GPU has its own of these: as old as here, or younger.
SYSTEM_LIBRARIES = re.compile(r"(linux-vdso|ld-linux\S*|libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s)\.so")


MINUTES = 6.0  # for all
PACKING = 30.0  # seconds of them, for what comes after the kernels


def say(text):
    print(f"gpu-suite: {text}", file=sys.stderr, flush=True)


class Failed(Exception):
    """Says why there is no folder."""


def said(command, **options):
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if ended.returncode != 0:
        raise Failed(f"`{' '.join(command)}` ended with status {ended.returncode}:\n{ended.stdout}")
    return ended.stdout.strip()


def compile_program(tessera, model, program, precision, options, sets):
    command = [tessera, "compile", os.path.join(ROOT, model), "-o", program]
    command += ["--precision", precision, "--no-cache", *options]
    for name, value in sets.items():
        command += ["--set", f"{name}={value}"]
    return said(command).splitlines()[-1]


def for_gpus(targets):
    return [f"--target=cuda:{','.join(targets)}", f"--march={settings.PORTABLE}"]


def data_options(values):
    """`name=file` and `file`, as the program is told them from the root of the folder."""
    for value in values:
        field, _, file = value.rpartition("=")
        yield from ("--data", f"{field}=data/{file}" if field else f"data/{file}")


def file_name(name):
    return re.sub(r"[^\w.-]+", "-", name)


def train_here(training, tessera, folder, scratch):
    """Records the losses of the same steps on this processor."""
    name = file_name(training.name)
    program = os.path.join(scratch, f"{name}-on-cpu")
    compile_program(tessera, training.model, program, training.precision, ["--target=cpu"], training.settings)
    record = f"recorded/{name}.jsonl"
    run = [program, "train", *data_options(training.data), "--steps", str(training.steps)]
    run += ["--metrics", record, "--quiet"]
    with tempfile.TemporaryDirectory(dir=scratch) as checkpoints:
        said([*run, "--checkpoint-dir", checkpoints], cwd=folder)
    os.remove(program)


def same_run(training):
    """What the losses depend on: programs for different GPUs share a record."""
    return training.model, training.precision, tuple(training.settings.items()), training.steps


def training_entry(training, recorded):
    return {
        "name": training.name, "program": f"programs/{file_name(training.name)}",
        "data": list(data_options(training.data)), "steps": training.steps,
        "recorded": f"recorded/{file_name(recorded.name)}.jsonl",
        "tolerances": settings.TOLERANCES[training.precision], "first_steps": settings.FIRST_STEPS,
        "afterwards": training.afterwards, "is_saved": training.is_saved, "ranks": training.ranks,
    }  # fmt: skip


def add_training(training, tessera, packed):
    program = os.path.join(packed, "programs", file_name(training.name))
    options = [*for_gpus(training.targets), *training.options]
    compile_program(tessera, training.model, program, training.precision, options, training.settings)


def add_timed(one, tessera, packed):
    """The program; returns the bytes of its arena, if it says them."""
    program = os.path.join(packed, "programs", file_name(one.name))
    options = [*for_gpus(settings.TIMED_GPU), *one.preset, *one.options]
    compile_program(tessera, one.workload.model, program, one.precision, options, one.workload.settings)
    arena = re.search(r"^  arena +(\d+)$", said([program, "info"]), re.M)
    return int(arena.group(1)) if arena else None


def timed_entry(one, compiled, arena):
    """`compiled`: the first with the same program; they differ in how it is run."""
    return {
        "name": one.name, "program": f"programs/{file_name(compiled.name)}",
        "data": "data/tokens.bin" if one.preset else "data/timed.bin", "precision": one.precision, "rows": one.rows,
        "length": one.length, "block": one.block, "skip": one.skip, "blocks": one.blocks,
        "peer": list(one.workload.options), "beside": one.beside, "arena_bytes": arena,
        "afterwards": [settings.GENERATE], "variant": one.variant, "is_equal": one.is_equal,
        "environment": dict(one.environment),
    }  # fmt: skip


class Pool:
    """As many jobs at a time as there are processors; each says when it is done."""

    def __init__(self):
        self.executor = concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)))

    def start(self, text, work, *arguments):
        def job():
            started = time.monotonic()
            result = work(*arguments)
            if text:
                say(f"{text} ({time.monotonic() - started:.0f} s)")
            return result

        return self.executor.submit(job)

    def results(self, futures):
        """In their order; the first that fails ends all that have not begun."""
        try:
            return [future.result() for future in futures]
        except Exception:
            self.executor.shutdown(wait=False, cancel_futures=True)
            raise


def same_program(one):
    return one.workload.model, str(one.workload.settings), one.precision, one.preset, one.options


def add_programs(pool, options, folder, packed, scratch):
    """Starts the jobs; returns what waits for the entries of the trainings, of those on several ranks, and of the timed
    programs."""
    timed = list(settings.smoke_timed() if options.smoke else settings.timed())
    compiled, arenas = {}, {}
    for one in timed:
        if compiled.setdefault(same_program(one), one) is one:
            arenas[same_program(one)] = pool.start(one.name, add_timed, one, options.tessera, packed)
    others, recorded = [], {}
    trainings = list(settings.smoke_trainings() if options.smoke else settings.trainings())
    of_ranks = list(settings.smoke_of_ranks() if options.smoke else settings.of_ranks())
    for one in [*trainings, *of_ranks]:
        others.append(pool.start(one.name, add_training, one, options.tessera, packed))
        if same_run(one) not in recorded:
            recorded[same_run(one)] = one
            others.append(pool.start(f"{one.name} here", train_here, one, options.tessera, folder, scratch))

    def entries():
        pool.results([*others, *arenas.values()])
        return (
            [training_entry(one, recorded[same_run(one)]) for one in trainings],
            [training_entry(one, recorded[same_run(one)]) for one in of_ranks],
            [timed_entry(one, compiled[same_program(one)], arenas[same_program(one)].result()) for one in timed],
        )

    return entries


def add_kernels(pool, options, folder, end):
    """Waits for the tests; says how many kernels there are."""
    jobs = record_kernels.jobs(folder, options.binaries, options.smoke, say)
    ended = pool.results([pool.start("", record_kernels.record, folder, job, end) for job in jobs])
    left_out = [test for (_, test), is_whole in zip(jobs, ended) if not is_whole]
    if left_out:
        names = ", ".join(left_out[:5]) + (", …" if len(left_out) > 5 else "")
        say(f"{len(left_out)} of {len(jobs)} tests were not run to their end (--minutes): {names}")
    say(f"{record_kernels.tidy(folder)} kernels were recorded")


def add_libraries(program, packed):
    """Copies the shared libraries that a machine with a GPU need not have; returns their names."""
    names = []
    for line in said(["ldd", program]).splitlines():
        found = re.match(r"\s*(\S+) => (/\S+)", line)
        if found and not SYSTEM_LIBRARIES.match(found.group(1)):
            shutil.copy(found.group(2), os.path.join(packed, "lib", found.group(1)))
            names.append(found.group(1))
    return sorted(names)


def add_scripts(folder):
    """The scripts lie as in the repository, so that they find each other in the same way."""
    for part in ("bench", "bench/gpu", "bench/peers"):
        os.makedirs(os.path.join(folder, part), exist_ok=True)
        for name in os.listdir(os.path.join(ROOT, part)):
            if name.endswith(".py"):
                shutil.copy(os.path.join(ROOT, part, name), os.path.join(folder, part, name))
    shutil.copy(os.path.join(ROOT, "bench", "gpu", "run.sh"), os.path.join(folder, "run.sh"))
    if os.path.isdir(os.path.join(folder, "cases")):  # what recorded kernels include
        shutil.copytree(os.path.join(ROOT, "codegen", "cuda", "device"), os.path.join(folder, "cases", "headers"))


def commit():
    is_checkout = os.path.exists(os.path.join(ROOT, ".git"))
    return said(["git", "-C", ROOT, "describe", "--always", "--dirty"]) if is_checkout else "not a checkout"


def pack(folder, packed):
    # Each program has a copy of one launcher: a window longer than some programs finds it again. Fast otherwise.
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 1 << 25}]
    with lzma.open(os.path.join(folder, "packed.tar.xz"), "w", filters=filters) as out:
        with tarfile.open(fileobj=out, mode="w") as archive:
            for part in ("programs", "lib"):
                archive.add(os.path.join(packed, part), arcname=part)


def strip(packed):
    """Symbols serve nobody there. What a program consists of lies behind what `strip` knows of: it stays as it is."""
    for path in glob.glob(os.path.join(packed, "lib", "*")):
        os.chmod(path, 0o755)
        said(["strip", "--strip-unneeded", path])


def make(options):
    folder, started = os.path.abspath(options.folder), time.monotonic()
    options.tessera = os.path.join(options.binaries, "tessera")
    os.makedirs(os.path.join(folder, "recorded"), exist_ok=True)
    data = [sys.executable, os.path.join(ROOT, "bench/gpu/make_data.py"), os.path.join(folder, "data")]
    subprocess.run(data, check=True)
    with tempfile.TemporaryDirectory() as scratch:
        packed, pool = os.path.join(scratch, "packed"), Pool()
        for part in ("programs", "lib"):
            os.makedirs(os.path.join(packed, part))
        entries = add_programs(pool, options, folder, packed, scratch)
        add_kernels(pool, options, folder, started + 60 * options.minutes - PACKING)
        trainings, of_ranks, timed = entries()
        contents = {
            "commit": commit(), "tessera": said([options.tessera, "--version"]),
            "made": f"{datetime.datetime.now():%Y-%m-%d %H:%M:%S}", "smoke": options.smoke,
            "trainings": trainings, "of_ranks": of_ranks, "timed": timed,
        }  # fmt: skip
        contents["libraries"] = add_libraries(os.path.join(packed, contents["timed"][0]["program"]), packed)
        strip(packed)
        pack(folder, packed)
    add_scripts(folder)
    with open(os.path.join(folder, "folder.json"), "w") as out:
        json.dump(contents, out, indent=1)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    say(f"made in {time.monotonic() - started:.0f} s, with {used.ru_utime + used.ru_stime:.0f} s of processors")


def main():
    parser = argparse.ArgumentParser(description="Fills the folder that goes to a machine with a GPU.")
    parser.add_argument("folder")
    parser.add_argument("--binaries", required=True, help="the folder of tessera and of the test programs")
    parser.add_argument("--smoke", action="store_true", help="two tiny trainings and a tiny timed run")
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"for all ({MINUTES:.0f})")
    try:
        make(parser.parse_args())
    except (Failed, RuntimeError) as problem:
        sys.exit(f"gpu-suite: {problem}")


if __name__ == "__main__":
    main()
