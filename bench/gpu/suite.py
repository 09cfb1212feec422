"""What a part knows: the folder, the time that it has, how programs are started; and where its results go."""

import concurrent.futures
import json
import os
import re
import subprocess
import threading
import time
import traceback

import processes

NO_TIME = "no time left"
LEAST = 2.0  # seconds without which nothing is started


class Skipped(Exception):
    """A part, or some of it, that was not run; says why."""


def why_not(run):
    """Of a run without a result, for a line of the table."""
    return f"skipped: {run['skipped']}" if "skipped" in run else f"FAILED: {run['problem']}"


def write_whole(path, value):
    """The file is never seen half written."""
    with open(f"{path}.new", "w") as out:
        json.dump(value, out)
    os.replace(f"{path}.new", path)


def is_for_time(result):
    """Whether there was no time for it: a later call may have some."""
    return result.get("skipped", "").startswith(NO_TIME)


class Suite:
    def __init__(self, given, file):
        """`given`: what run.py says to the process of a part. `file`: where its results are written."""
        self.folder, self.out, self.root = given["folder"], given["out"], given["root"]
        self.scratch, self.python, self.device = given["scratch"], given["python"], given["device"]
        self.environment = {**os.environ, **given["environment"]}
        self.contents, self.earlier, self.file = given["contents"], given["earlier"], file
        self.part_end = time.monotonic() + given["seconds"]
        self.lock = threading.Lock()

    def chosen(self, kind):
        """The programs of a kind, `trainings` or `timed`."""
        if not self.contents[kind]:
            raise Skipped("no program of this part was chosen")
        return self.contents[kind]

    # time

    def left(self):
        """Seconds that this part still has."""
        return self.part_end - time.monotonic()

    def need(self, seconds=LEAST):
        if self.left() < seconds:
            raise Skipped(NO_TIME)

    def need_whole(self, ended, limit):
        """Skips what was ended before its own limit, for others need the time."""
        if ended.status is None and ended.seconds < limit - 1:
            raise Skipped(f"{NO_TIME}: ended after {ended.seconds:.0f} s")

    # results

    def keep(self, result):
        """Writes what there is so far: it stays, whatever becomes of this process."""
        write_whole(self.file, result)

    def each(self, entries, work, lines_of, head=(), at_once=1, alone=()):
        """The results of `work` for each entry, put together; kept behind each. `lines_of` says what is printed.

        An entry whose work fails, or for which there is no time, leaves the others. What an earlier call has done is
        not done again. `at_once` entries are worked on at a time; those named in `alone` come last, one by one.
        """
        done = {run["name"]: run for run in self.earlier.get("runs", []) if not is_for_time(run)}
        results = {name: run for name, run in done.items() if name in [entry["name"] for entry in entries]}

        def one(entry):
            result = {"name": entry["name"], **self.guarded(work, entry)}
            with self.lock:
                results[entry["name"]] = result
                self.keep(self.of_runs(entries, results, lines_of, head))

        waiting = [entry for entry in entries if entry["name"] not in results]
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            list(pool.map(one, [entry for entry in waiting if entry["name"] not in alone]))
        for entry in waiting:
            if entry["name"] in alone:
                one(entry)
        whole = self.of_runs(entries, results, lines_of, head)
        if whole["runs"] and all("skipped" in run for run in whole["runs"]):
            raise Skipped(whole["runs"][0]["skipped"])
        return whole

    def guarded(self, work, entry):
        try:
            self.need()
            return work(entry)
        except Skipped as reason:
            return {"skipped": str(reason)}
        except Exception:  # a mistake in one must not cost the others
            return {"ok": False, "problem": traceback.format_exc()[-2000:]}

    @staticmethod
    def of_runs(entries, results, lines_of, head):
        runs = [results[entry["name"]] for entry in entries if entry["name"] in results]
        return {
            "ok": all(run.get("ok", True) for run in runs), "left_out": sum(map(is_for_time, runs)), "runs": runs,
            "lines": [*head, *(line for run in runs for line in lines_of(run))],
        }  # fmt: skip

    # programs

    def run(self, command, limit=None, **variables):
        """Runs one of our programs, or one that loads our libraries, in the unpacked folder."""
        limit = min(self.left(), limit or self.left())
        return processes.run(command, limit, self.root, {**self.environment, **variables})

    def run_other(self, command, limit):
        """Runs a program that has libraries of its own, such as PyTorch."""
        return processes.run(command, min(limit, self.left()), self.scratch, dict(os.environ))

    def program(self, entry):
        return os.path.join(self.root, entry["program"])

    def memory_in_use(self):
        """Bytes of the first GPU that anybody has taken, as nvidia-smi says; None where it is not there."""
        command = ["nvidia-smi", "--id=0", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        try:
            said = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=5
            ).stdout
        except (OSError, subprocess.TimeoutExpired):
            return None
        return int(said.split()[0]) * 2**20 if re.match(r"\d+\s*$", said) else None
