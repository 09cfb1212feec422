#!/usr/bin/env python3
"""Trains on several ranks, and compares the arena of each with the plan: as the rank counted it, and as the system did.

usage: rank_arenas.py MODEL DATA

The system's count is that of /proc/PID/smaps: the one mapping of a rank that asks for huge pages (VmFlags: hg), all of
whose pages are in memory.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from mpirun import launch, run

model, data = sys.argv[1:]
PAGE = 4096
sizes = ["--set", "depth=2", "--set", "heads=4", "--set", "head_size=8", "--set", "context=8"]
tensor = ["--shard", "head=tensor,ff=tensor"]


def mappings(process):
    """Size and resident bytes of the mappings that ask for huge pages."""
    found, entry = [], {}
    with open(f"/proc/{process}/smaps", encoding="utf-8") as file:
        for line in file:
            if match := re.match(r"(\w+): +(\d+) kB", line):
                entry[match[1]] = 1024 * int(match[2])
            elif line.startswith("VmFlags:") and "hg" in line.split():
                found.append((entry["Size"], entry["Rss"]))
    return found


def ranks_of(program):
    """The processes that run a program, by rank."""
    found = {}
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.path.realpath(f"/proc/{process}/exe") == program:
                with open(f"/proc/{process}/environ", encoding="utf-8") as file:
                    found[int(re.search(r"\bOMPI_COMM_WORLD_RANK=(\d+)", file.read())[1])] = int(process)
        except OSError:  # it has ended
            pass
    return found


def has_steps(metrics):
    try:
        with open(metrics, encoding="utf-8") as file:
            return '"split":"train"' in file.read()
    except FileNotFoundError:
        return False


def check(count, *options):
    run(["tessera", "compile", model, *sizes, *options, "-o", "program"])
    plan = ["tessera", "plan", model, *sizes, *options, "--json"]
    arena = json.loads(subprocess.run(plan, stdout=subprocess.PIPE, check=True).stdout)["arena"]
    shutil.rmtree("run", ignore_errors=True)
    for path in "metrics.jsonl", "profile.json":
        if os.path.exists(path):
            os.remove(path)
    files = ["--data", data, "--checkpoint-dir", "run", "--metrics", "metrics.jsonl", "--profile", "profile.json"]
    command = [*launch(count, limit=60), "./program", "train", "--quiet", "--steps", "1000000", *files]
    with open("log", "w", encoding="utf-8") as log, subprocess.Popen(command, stdout=log, stderr=log) as job:
        while job.poll() is None and not has_steps("metrics.jsonl"):
            time.sleep(0.02)
        ranks = ranks_of(os.path.realpath("program"))
        mapped = {rank: mappings(process) for rank, process in ranks.items()}
        if 0 in ranks:
            os.kill(ranks[0], signal.SIGTERM)
    assert sorted(mapped) == list(range(count)), (mapped, open("log", encoding="utf-8").read())
    pages = -(-arena // PAGE) * PAGE
    assert all(own == [(pages, pages)] for own in mapped.values()), (mapped, pages)
    with open("profile.json", encoding="utf-8") as file:
        counted = [rank["arena"] for rank in json.load(file)["ranks"]]
    assert counted == count * [arena], (counted, arena)
    print(f"{' '.join(options)}: {count} ranks with {arena} bytes, {pages // PAGE} pages", flush=True)


check(2, "--mesh", "data=2", "--zero", "1")
check(8, "--mesh", "data=8", "--zero", "2")
check(4, "--mesh", "data=4", "--zero", "3")
check(4, "--mesh", "data=2,tensor=2", "--zero", "3", *tensor)
