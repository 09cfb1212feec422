#!/usr/bin/env python3
"""Compares what `info` says of memory with what a run takes.

usage: measure_memory.py PROGRAM DATA...     as for --data

Anonymous resident memory must be at most the total, and one huge page, which a kernel may use for the heap unasked.
"""

import os
import re
import subprocess
import sys
import time

program = sys.argv[1]
data = [part for path in sys.argv[2:] for part in ("--data", path)]
info = subprocess.run([program, "info", *data], check=True, capture_output=True, text=True).stdout
numbers = {key.strip(): int(value) for key, value in re.findall(r"^  ([a-z][a-z ]*?) {2,}(\d+)", info, re.M)}
environment = {**os.environ, "TESSERA_COUNT_ALLOCATIONS": "1"}
command = [program, "train", *data, "--steps", "3", "--resume", "never", "--checkpoint-dir", "memory-run"]
run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
peak = 0
while run.poll() is None:
    try:
        with open(f"/proc/{run.pid}/status") as status:
            found = re.search(r"RssAnon:\s+(\d+) kB", status.read())
            peak = max(peak, int(found.group(1)) * 1024 if found else 0)
    except FileNotFoundError:
        pass
    time.sleep(0.005)
said = run.stdout.read()
if run.returncode != 0:
    sys.exit(f"the run ended with status {run.returncode}: {said}")

taken = int(re.search(r"arena (\d+) bytes", said).group(1))
print("arena equal" if taken == numbers["arena"] else f"arena: info says {numbers['arena']}, the run took {taken}")
bound = numbers["total"] + (2 << 20)
verdict = "within bound" if 0 < peak <= bound else "out of bound"
print(f"resident peak {verdict} ({peak} of {bound:.0f} bytes)")
counted = int(re.search(r"allocations inside steps: (\d+)", said).group(1))
print("no allocation inside a step" if counted == 0 else f"{counted} allocations inside steps")
