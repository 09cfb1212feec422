"""Lets a program in a suite's folder crash, hang, or find no algorithms for its contractions.

usage: break_program.py FOLDER PROGRAM crash|hang|no-algorithms
"""

import json
import os
import sys
import tarfile
import tempfile

HOW = {
    "crash": "kill -SEGV $$",
    "hang": "sleep 1000",
    "no-algorithms": 'exec env FAKE_CUDA_NO_ALGORITHM=1 "$0.whole" "$@"',
}


def main(folder, program, how):
    path = os.path.join(folder, "packed.tar.xz")
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(path) as archive:
            archive.extractall(scratch)
        whole = os.path.join(scratch, "programs", program)
        os.rename(whole, f"{whole}.whole")
        with open(whole, "w") as out:
            out.write(f"#!/bin/sh\n{HOW[how]}\n")
        os.chmod(whole, 0o755)
        with tarfile.open(path, "w:xz", preset=0) as archive:
            for name in ("programs", "lib"):
                archive.add(os.path.join(scratch, name), arcname=name)
    # Not the folder any more that results are from.
    with open(os.path.join(folder, "folder.json")) as file:
        contents = json.load(file)
    contents["made"] += f", {program}: {how}"
    with open(os.path.join(folder, "folder.json"), "w") as out:
        json.dump(contents, out)


main(*sys.argv[1:])
