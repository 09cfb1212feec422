#!/usr/bin/env python3
"""Training speed beside other processes: one that spins on each core.

usage: busy.py PROGRAM [--data FILE] [--before PROGRAM] [--seconds 10] [--rounds 7] [--quiet-machine]

PROGRAM is a training program. In each round these run in turn, each for some seconds: PROGRAM; PROGRAM --threads 1;
and, with --before, that program, once as it is and once with OMP_WAIT_POLICY=passive, which libgomp obeys. Prints the
median of each in steps a second, and how much faster the first is.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time


def spinning_processes():
    """A process on each core that this one may use."""
    started = []
    for core in sorted(os.sched_getaffinity(0)):
        started.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
        os.sched_setaffinity(started[-1].pid, {core})
    return started


def steps_per_second(command, environment, seconds):
    """Of a run that is ended after the time; its first quarter of steps is left out."""
    with tempfile.TemporaryDirectory() as folder:
        metrics = os.path.join(folder, "metrics.jsonl")
        with subprocess.Popen(
            [*command, "--metrics", metrics, "--log-every", "1", "--resume", "never", "--quiet"],
            cwd=folder,
            env=dict(os.environ, **environment),
            stdout=subprocess.DEVNULL,
        ) as process:
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL)
        with open(metrics) as lines:
            records = [json.loads(line) for line in lines if line.endswith("\n")]
    times = [record["seconds"] for record in records if record.get("split") == "train"]
    times = times[len(times) // 4 :]
    return (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else 0.0


def contenders(options):
    data = ["--data", os.path.abspath(options.data)] if options.data else []
    train = [os.path.abspath(options.program), "train", *data, "--steps", str(10**9)]
    yield "all threads", train, {}
    yield "--threads 1", [*train, "--threads", "1"], {}
    if options.before:
        before = [os.path.abspath(options.before), *train[1:]]
        yield "before", before, {}
        yield "before, passive", before, {"OMP_WAIT_POLICY": "passive"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--data")
    parser.add_argument("--before")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quiet-machine", action="store_true", help="without the spinning processes")
    options = parser.parse_args()
    found = {}
    spinning = [] if options.quiet_machine else spinning_processes()
    try:
        for _ in range(options.rounds):
            for name, command, environment in contenders(options):
                speed = steps_per_second(command, environment, options.seconds)
                found.setdefault(name, []).append(speed)
    finally:
        for process in spinning:
            process.kill()
    first = statistics.median(found["all threads"])
    for name, speeds in found.items():
        median = statistics.median(speeds)
        print(f"{name:16} {median:10.1f} steps/s  {first / max(median, 1e-9):6.2f} times as fast")


if __name__ == "__main__":
    main()
