"""Programs with a limit of time, each in a session of its own, which ends with it."""

import ctypes
import dataclasses
import os
import queue
import re
import signal
import subprocess
import tempfile
import threading
import time

LEAST_BLOCKS = 3  # of which a median is taken
PATIENCE = 10  # seconds that a killed process may take to go; one that waits for a driver may take longer than we do
STEP = re.compile(r"step (\d+)\S*\s+\S+ ([\d.]+|nan|inf)")  # of our program and of the peers in bench/peers
LLMC_STEP = re.compile(r"step +(\d+)/\d+ \| loss ([\d.]+|nan|inf).*?\| ([\d.]+) ms")
DEVICE_BYTES = re.compile(r"device_bytes (\d+)")


@dataclasses.dataclass
class Ended:
    status: int  # None: it was ended at its limit
    output: str
    seconds: float

    def problem(self):
        """What went wrong, with the end of what was said; empty if nothing did."""
        if self.status == 0:
            return ""
        how = "ended at its limit of time" if self.status is None else f"ended with status {self.status}"
        return f"{how} after {self.seconds:.0f} s: {self.output.strip()[-1500:] or 'nothing was said'}"


@dataclasses.dataclass
class Turn:
    """Steps that were timed from outside of the program that takes them."""

    steps: list = dataclasses.field(default_factory=list)  # seconds of a step, one for each block that counts
    losses: dict = dataclasses.field(default_factory=dict)  # by step
    own_bytes: int = None  # what the program says that it holds on the device
    seconds: float = 0.0
    problem: str = ""


def end_session(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def wait(process):
    """The exit status; None if the process does not even go when killed."""
    try:
        return process.wait(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return None


def adopt_orphans():
    """From now on a process whose parent ends becomes a child of this one, so that `end_descendants` finds it."""
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def descendants():
    """Processes that this one has started, and those that they have started."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            children.setdefault(int(fields[1]), []).append(int(name))
    found = list(children.get(os.getpid(), []))
    for process in found:  # grows meanwhile
        found += children.get(process, [])
    return found


def end_descendants():
    """Ends all of them, also what a part has left behind that was ended itself. Not while a child is waited for."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        left = descendants()
        for process in left:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        if not left:
            return
        time.sleep(0.05)


def run(command, limit, folder, environment):
    started = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        try:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            return Ended(127, str(error), 0.0)
        try:
            status = process.wait(timeout=max(limit, 0.1))
        except subprocess.TimeoutExpired:
            status = None
        finally:
            end_session(process)
            wait(process)
        output.seek(0)
        return Ended(status, output.read(), time.monotonic() - started)


def lines_of(process, until):
    """(when it came, line) of what a process prints, until it ends or the time is over. A thread reads: it may hang."""
    lines = queue.Queue()

    def read():
        for line in process.stdout:
            lines.put((time.perf_counter(), line))
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            item = lines.get(timeout=max(until - time.monotonic(), 0.01))
        except queue.Empty:
            return
        if item is None:
            return
        yield item


def read_turn(process, turn, until, block, skip, blocks):
    """Fills the turn; returns the end of what was said."""
    last, readings, said = None, 0, ""
    for now, line in lines_of(process, until):
        said = (said + line)[-1500:]
        held = DEVICE_BYTES.match(line)
        if held:
            turn.own_bytes = int(held.group(1))
        own_clock = LLMC_STEP.match(line)
        found = own_clock or STEP.match(line)
        if not found or int(found.group(1)) % block != 0:
            continue
        turn.losses[int(found.group(1))] = float(found.group(2))
        readings += 1
        if readings > 1 + skip:
            turn.steps.append(float(own_clock.group(3)) / 1e3 if own_clock else (now - last) / block)
        last = now
        if len(turn.steps) == blocks:
            break
    return said


def take_turn(command, limit, folder, environment, block, skip, blocks, at_end=lambda: None):
    """Reads the clock at the line of every `block` steps; the first `1 + skip` readings do not count.

    Whoever takes more than `limit` is ended; what was read until then counts. `at_end` is called while the program
    still runs. llm.c says by itself how long a step takes: it has other things to do between them.
    """
    started, turn = time.monotonic(), Turn()
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        try:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                text=True, errors="replace", start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            turn.problem = str(error)
            return turn
        try:
            said = read_turn(process, turn, started + limit, block, skip, blocks)
            at_end()
        finally:
            end_session(process)
            status = wait(process)
        turn.seconds = time.monotonic() - started
        if len(turn.steps) < min(blocks, LEAST_BLOCKS):
            errors.seek(0)
            how = "ended at its limit of time" if turn.seconds >= limit else f"ended with status {status}"
            turn.problem = (
                f"{how} after {turn.seconds:.0f} s and {len(turn.steps)} blocks: {(said + errors.read())[-1500:]}"
            )
    return turn
