#!/usr/bin/env python3
"""Fills the folder that scripts/gpu-suite.sh makes: programs for GPUs, what they compute on a processor, data, scripts.

usage: make_folder.py FOLDER --tessera TESSERA [--smoke]

FOLDER/folder.json says what is in it; `run.py` reads nothing else of the repository. Programs and libraries are packed,
since most of them are copies of one launcher.
"""

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import settings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The machine with the GPU has its own of these: as old as here, or younger.
SYSTEM_LIBRARIES = re.compile(r"(linux-vdso|ld-linux\S*|libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s)\.so")


def said(command, **options):
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if ended.returncode != 0:
        sys.exit(f"gpu-suite: `{' '.join(command)}` ended with status {ended.returncode}:\n{ended.stdout}")
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


def train_here(training, tessera, folder, scratch):
    """Records the losses of the same steps on this processor."""
    program = os.path.join(scratch, "on-cpu")
    compile_program(tessera, training.model, program, training.precision, ["--target=cpu"], training.settings)
    record = f"recorded/{training.name.replace(' ', '-')}.jsonl"
    run = [program, "train", *data_options(training.data), "--steps", str(training.steps)]
    run += ["--metrics", record, "--quiet"]
    with tempfile.TemporaryDirectory(dir=scratch) as checkpoints:
        said([*run, "--checkpoint-dir", checkpoints], cwd=folder)
    return record


def add_trainings(trainings, tessera, folder, packed, scratch):
    entries, recorded = [], {}
    for training in trainings:
        print(f"gpu-suite: {training.name}", file=sys.stderr)
        file = f"programs/{training.name.replace(' ', '-')}"
        options = for_gpus(training.targets)
        compile_program(
            tessera, training.model, os.path.join(packed, file), training.precision, options, training.settings
        )
        key = (training.model, training.precision)
        if key not in recorded:
            recorded[key] = train_here(training, tessera, folder, scratch)
        entries.append({
            "name": training.name, "program": file, "data": list(data_options(training.data)), "steps": training.steps,
            "recorded": recorded[key], "tolerances": settings.TOLERANCES[training.precision],
            "first_steps": settings.FIRST_STEPS,
        })  # fmt: skip
    return entries


def add_timed(timed, tessera, packed):
    entries = []
    for one in timed:
        print(f"gpu-suite: {one.name}", file=sys.stderr)
        file = f"programs/{one.name.replace(',', '').replace(' ', '-')}"
        program = os.path.join(packed, file)
        options = [*for_gpus(settings.TIMED_GPU), *one.preset, *one.options]
        compile_program(tessera, one.workload.model, program, one.precision, options, one.workload.settings)
        arena = re.search(r"^  arena +(\d+)$", said([program, "info"]), re.M)
        entries.append({
            "name": one.name, "program": file, "data": "data/tokens.bin" if one.preset else "data/timed.bin",
            "precision": one.precision, "rows": one.rows, "length": one.length, "block": one.block, "skip": one.skip,
            "blocks": one.blocks, "peer": list(one.workload.options),
            "arena_bytes": int(arena.group(1)) if arena else None,
            "variant": one.variant, "environment": dict(one.environment),
        })  # fmt: skip
    return entries


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


def main():
    parser = argparse.ArgumentParser(description="Fills the folder that goes to a machine with a GPU.")
    parser.add_argument("folder")
    parser.add_argument("--tessera", required=True)
    parser.add_argument("--smoke", action="store_true", help="two tiny trainings and one tiny timed run")
    options = parser.parse_args()
    folder, tessera = os.path.abspath(options.folder), os.path.abspath(options.tessera)
    os.makedirs(os.path.join(folder, "recorded"), exist_ok=True)
    subprocess.run(
        [sys.executable, os.path.join(ROOT, "bench/gpu/make_data.py"), os.path.join(folder, "data")], check=True
    )
    with tempfile.TemporaryDirectory() as scratch:
        packed = os.path.join(scratch, "packed")
        for part in ("programs", "lib"):
            os.makedirs(os.path.join(packed, part))
        trainings = settings.smoke_trainings() if options.smoke else settings.trainings()
        timed = settings.smoke_timed() if options.smoke else settings.timed()
        contents = {
            "commit": commit(), "tessera": said([tessera, "--version"]),
            "made": f"{datetime.date.today():%Y-%m-%d}", "smoke": options.smoke,
            "trainings": add_trainings(trainings, tessera, folder, packed, scratch),
            "timed": add_timed(timed, tessera, packed),
        }  # fmt: skip
        contents["libraries"] = add_libraries(os.path.join(packed, contents["timed"][0]["program"]), packed)
        # Fast rather than small: it is one of many copies that makes the difference.
        with tarfile.open(os.path.join(folder, "packed.tar.xz"), "w:xz", preset=1) as archive:
            for part in ("programs", "lib"):
                archive.add(os.path.join(packed, part), arcname=part)
    add_scripts(folder)
    with open(os.path.join(folder, "folder.json"), "w") as out:
        json.dump(contents, out, indent=1)


if __name__ == "__main__":
    main()
