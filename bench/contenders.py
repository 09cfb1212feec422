"""Programs that train, and their runs in the rounds: how long their steps are, and their peak memory."""

import dataclasses
import os
import re
import signal
import statistics
import subprocess
import tempfile
import threading
import time

# "step 20/300  ce 4.71 …" of our program, "step 20 loss 4.71" of a peer.
STEP = re.compile(r"step (\d+)\S*\s+\S+ ([\d.]+|nan|inf)")
# llm.c evaluates and generates between its steps: only its own clock leaves that out.
LLMC_STEP = re.compile(r"step (\d+): train loss ([\d.]+|nan|inf) \(took ([\d.]+) ms\)")


@dataclasses.dataclass
class Turn:
    load: float  # average of the machine's last minute, before
    steps: list = dataclasses.field(default_factory=list)  # seconds of a step, one for each block
    losses: dict = dataclasses.field(default_factory=dict)  # by step
    peak: int = 0  # bytes
    start: float = 0.0  # seconds from the start of the process to the end of the first block

    def median(self):
        return statistics.median(self.steps)


class Contender:
    def __init__(self, name, command, environment=None, folder=None):
        """It runs in `folder`, or in an empty one."""
        self.name, self.command, self.environment, self.folder = name, command, environment or {}, folder
        self.own_clock = name == "llm.c"
        self.turns = []

    def turn(self, blocks, skip, block, threads, limit):
        """Runs until the clock was read `skip + blocks` times after the first block; `skip` of them are not counted."""
        with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryFile("w+") as errors:
            turn = Turn(os.getloadavg()[0])
            # A session of its own: the compilers that it starts end with it. Lines are not buffered.
            process = subprocess.Popen(
                ["stdbuf", "-oL", *self.command] if self.own_clock else self.command,
                cwd=self.folder or empty, env=dict(os.environ, OMP_NUM_THREADS=str(threads), **self.environment),
                stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True,
            )  # fmt: skip
            timer = threading.Timer(limit, end_group, [process.pid])
            timer.start()
            try:
                self.read(process, turn, skip + blocks, skip, block)
            finally:
                timer.cancel()
                end_group(process.pid)
                process.wait()
            if len(turn.steps) < blocks:
                errors.seek(0)
                said = errors.read()[-2000:]
                wanted = f"{skip + blocks + 1} blocks of {block} steps"
                raise RuntimeError(f"{self.name} ended, or was ended after {limit} s, before its {wanted}:\n{said}")
        self.turns.append(turn)

    def read(self, process, turn, readings, skip, block):
        last, count, started = None, 0, time.perf_counter()
        for line in process.stdout:
            now = time.perf_counter()
            found = (LLMC_STEP if self.own_clock else STEP).match(line)
            if not found or int(found.group(1)) % block != 0:
                continue
            turn.losses[int(found.group(1))] = float(found.group(2))
            turn.peak = max(turn.peak, peak_bytes(process.pid))
            if last is None:
                turn.start = round(now - started, 3)
            else:
                count += 1
                if count > skip:
                    seconds = float(found.group(3)) / 1e3 if self.own_clock else (now - last) / block
                    turn.steps.append(round(seconds, 9))
            last = now
            if count == readings:
                return

    def alternate(self):
        """Runs a step at a time, and yields its seconds; the process is stopped meanwhile, so that others run.

        The first step is not counted. The caller closes the generator, which ends the process.
        """
        with tempfile.TemporaryDirectory() as empty:
            turn = Turn(os.getloadavg()[0])
            self.turns.append(turn)
            process = subprocess.Popen(
                self.command, cwd=self.folder or empty, env=dict(os.environ, **self.environment),
                stdout=subprocess.PIPE, text=True, start_new_session=True,
            )  # fmt: skip
            try:
                began, is_first = time.perf_counter(), True
                for line in process.stdout:
                    found = STEP.match(line)
                    if not found:
                        continue
                    seconds = time.perf_counter() - began
                    os.killpg(process.pid, signal.SIGSTOP)
                    turn.losses[int(found.group(1))] = float(found.group(2))
                    turn.peak = max(turn.peak, peak_bytes(process.pid))
                    if is_first:
                        turn.start = round(seconds, 3)
                    else:
                        turn.steps.append(round(seconds, 9))
                    yield None if is_first else seconds
                    is_first, began = False, time.perf_counter()
                    os.killpg(process.pid, signal.SIGCONT)
                raise RuntimeError(f"{self.name} ended after {len(turn.steps)} steps")
            finally:
                end_group(process.pid)
                process.wait()

    def steps(self):
        return [seconds for turn in self.turns for seconds in turn.steps]

    def median(self):
        return statistics.median(self.steps())

    def peak(self):
        return max(turn.peak for turn in self.turns)


def end_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def peak_bytes(process):
    """Greatest resident memory of a running process; 0 if it is gone.

    Its own count begins when its program does. `ru_maxrss`, which wait4() tells, begins with the pages of the script
    that started it, and those are more than a small program needs.
    """
    try:
        with open(f"/proc/{process}/status") as status:
            return next((int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0
