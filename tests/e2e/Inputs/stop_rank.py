#!/usr/bin/env python3
"""Runs a command under mpirun, stops one rank of it with SIGTERM once the run steps, and prints the exit status.

usage: stop_rank.py RANKS RANK SIGNAL LOG PROGRAM ARGUMENT...
"""

import os
import re
import signal
import subprocess
import sys
import time

ranks, rank, name, log, *command = sys.argv[1:]
note = f'[ "$OMPI_COMM_WORLD_RANK" = {rank} ] && echo $$ > rank.pid; exec "$@"'
mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ranks]
if os.path.exists("rank.pid"):
    os.remove("rank.pid")
with open(log, "w", encoding="utf-8") as out:
    job = subprocess.Popen([*mpirun, "bash", "-c", note, "rank", *command], stdout=out, stderr=subprocess.STDOUT)
while job.poll() is None:
    with open(log, encoding="utf-8") as text:
        if re.search(r"^step [1-9]\d*/", text.read(), re.MULTILINE):
            break
    time.sleep(0.01)
with open("rank.pid", encoding="utf-8") as file:
    os.kill(int(file.read()), signal.Signals[name])
print("status", job.wait(timeout=60))
with open(log, encoding="utf-8") as text:
    print(text.read())
