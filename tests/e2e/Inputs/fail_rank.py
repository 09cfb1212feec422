#!/usr/bin/env python3
"""Runs a command on ranks, one of which has other circumstances; prints how the job ended, and its errors and warnings.

usage: fail_rank.py mpirun|torchrun RANKS RANK SETUP COMMAND...
SETUP: what the shell of that rank runs before, such as `cd elsewhere`
"""

import os
import pathlib
import shutil
import subprocess
import sys
import time

launcher, ranks, rank, setup, *command = sys.argv[1:]
variable = {"mpirun": "OMPI_COMM_WORLD_RANK", "torchrun": "RANK"}[launcher]
torchrun = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "runtime", "ranks", "torchrun.sh")
start = {
    "mpirun": ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ranks],
    "torchrun": [torchrun, ranks],
}[launcher]
note = os.path.abspath("processes")
script = f'echo $$ > {note}/${variable}; if [ ${variable} = {rank} ]; then {setup}\nfi; exec "$@"'


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def left(seconds):
    """How many ranks are left after so many seconds; all may be gone before."""
    processes = [int(pathlib.Path(entry.path).read_text(encoding="utf-8")) for entry in os.scandir(note)]
    until = time.monotonic() + seconds
    while any(map(is_alive, processes)) and time.monotonic() < until:
        time.sleep(0.05)
    return sum(map(is_alive, processes))


shutil.rmtree(note, ignore_errors=True)
os.mkdir(note)
job = ["timeout", "-k", "5", "40", *start, "bash", "-c", script, "rank", *command]
result = subprocess.run(job, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
lines = result.stdout.splitlines()
errors = [line for line in lines if "error: " in line]
print(f"status {result.returncode}, errors {len(errors)}, processes left {left(seconds=2)}")
print("\n".join(line for line in lines if line.startswith(("error: ", "warning: ", "saved "))))
