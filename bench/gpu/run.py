#!/usr/bin/env python3
"""Checks and times on a GPU what scripts/gpu-suite.sh put into a folder; run.sh starts it.

usage: run.sh [first|second|third] [--minutes M] [--out DIR] [--copy DIR] [--only PART,…] [--match TEXT]
              [--python PYTHON] [--unpack DIR]

Parts, the most important first:

  rates        first   what the device copies and multiplies in a second
  kernels      first   single kernels against stored results; compiled there, by NVRTC
  modes        first   GPT-2 124M in bf16 as a graph, in order and eager: equal to the bit
  checkpoints  first   saved, resumed, equal to the bit; then evaluated, or used to generate
  speed        first   tokens a second of GPT-2 124M, beside PyTorch
  profile      second  each kernel of a step against the limits of the device, by our program's own clock
  ncu          second  the same as Nsight Compute times it, with what each kernel moves and occupies
  train        second  the examples against what they computed on a processor; twice, equal to the bit
  ranks        second  some of them on 2 and 4 ranks that share the GPU, over NCCL: likewise
  bench        second  seconds a step of more batches, types and variants
  memory       third   memory against time: our plans within budgets beside what PyTorch recomputes
  peers        third   some of these beside PyTorch and, where $LLMC names a folder with train_gpt2cu, llm.c
  sanitizer    third   compute-sanitizer over single kernels

Each runs in a process of its own and has a share of the time; what one leaves the next ones get. The results of each
are written at once. A later call with the same --out runs what has no result yet, then what there was no time for:
`first`, `second` and `third` one behind the other (each also runs what an earlier one left), or the same command with
--minutes 9 again and again. --only runs parts again. --out may hold the JSON file of earlier calls alone.

DIR/gpu-DEVICE-COMMIT.json holds everything, and the same with .txt what is printed. Exit status 1 if a check failed.
"""

import argparse
import contextlib
import datetime
import glob
import json
import os
import shutil
import sys
import tarfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import parts as suite_parts  # noqa: E402
import processes  # noqa: E402
import report  # noqa: E402
import suite as suites  # noqa: E402

PARTS = suite_parts.PARTS
LOOKING = 60.0  # seconds that the driver may take to tell of the device
FEWEST = 0.8  # of its share that must be left for a part to begin
GRACE = 8.0  # seconds that a part has to end by itself
EMULATED = 10  # times as long as a part may take of a folder for an emulated GPU
ANSWERED = "device_afterwards"


def parse():
    parser = argparse.ArgumentParser(
        prog="run.sh", description=__doc__.partition("\n\n")[2], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "call", nargs="?", choices=list(suite_parts.MINUTES), help="its parts, and what earlier ones left; else all"
    )
    parser.add_argument("--minutes", type=float, help="for this call (first 9, second 10, third 12; all 31)")
    parser.add_argument("--out", default="gpu-suite-results", help="folder of results and work (gpu-suite-results)")
    parser.add_argument("--copy", metavar="DIR", help="where both result files are written too")
    parser.add_argument("--only", help="parts, with commas between; they run again")
    parser.add_argument("--match", metavar="TEXT", help="programs whose names hold this, such as 'bf16 16x1024'")
    parser.add_argument("--python", default="python3", help="a Python that has PyTorch (python3)")
    parser.add_argument(
        "--unpack", metavar="DIR", help="unpacks programs and libraries for use by hand, and does no more"
    )
    options = parser.parse_args()
    options.parts = options.only.split(",") if options.only else list(PARTS)
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]}; choose of {', '.join(PARTS)}")
    calls = list(suite_parts.MINUTES)
    until = calls.index(options.call or calls[-1])
    # In their order, whatever that of the option is.
    options.parts = [name for name in PARTS if name in options.parts and calls.index(PARTS[name].call) <= until]
    if not options.parts:
        parser.error(f"the {options.call} call has none of these parts")
    if options.minutes is None:
        options.minutes = suite_parts.MINUTES.get(options.call, sum(suite_parts.MINUTES.values()))
    if options.minutes <= 0:
        parser.error("--minutes must be above 0")
    return options


def choose_programs(contents, text):
    """Leaves those whose names hold the text."""
    names = [entry["name"] for entry in contents["trainings"] + contents["of_ranks"] + contents["timed"]]
    if not any(text in name for name in names):
        sys.exit(f"gpu-suite: no program's name holds '{text}'; there are {', '.join(names)}")
    for kind in ("trainings", "of_ranks", "timed"):
        contents[kind] = [entry for entry in contents[kind] if text in entry["name"]]


def unpack(folder, where):
    """Programs, libraries and a link to the data: programs run there and name files as they were told here."""
    os.makedirs(where, exist_ok=True)
    with tarfile.open(os.path.join(folder, "packed.tar.xz")) as archive:
        archive.extractall(where, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    if not os.path.lexists(os.path.join(where, "data")):
        os.symlink(os.path.join(folder, "data"), os.path.join(where, "data"))


class Runner:
    """The process that starts the parts, one behind the other, and puts their results together."""

    def __init__(self, folder, options, contents):
        self.folder, self.options, self.contents = folder, options, contents
        self.out, self.started = os.path.abspath(options.out), time.monotonic()
        self.end = self.started + 60 * options.minutes
        self.work, self.results = os.path.join(self.out, "work"), os.path.join(self.out, "parts")
        self.date, self.device = datetime.date.today().isoformat(), {}
        self.environment = {"TESSERA_CACHE_DIR": os.path.join(self.work, "cache")}  # of algorithms
        self.calls = []

    def identity(self):
        """Of the folder: results of another one are not mixed with these."""
        return f"{self.contents['commit']} {self.contents['made']}"

    def unpack(self):
        """Once for all calls: beside the programs lie the algorithms that they have found on this device."""
        stamp, where = os.path.join(self.work, "unpacked"), os.path.join(self.work, "run")
        with contextlib.suppress(OSError), open(stamp) as file:
            if file.read() == self.identity():
                return
        shutil.rmtree(where, ignore_errors=True)
        unpack(self.folder, where)
        with open(stamp, "w") as out:
            out.write(self.identity())

    def left(self):
        return self.end - time.monotonic()

    def elapsed(self):
        return time.monotonic() - self.started

    # results

    def file_of(self, name):
        return os.path.join(self.results, f"{name}.json")

    def recall(self):
        """What earlier calls left: files of parts or, where only the whole was brought back here, that."""
        os.makedirs(self.results, exist_ok=True)
        about = os.path.join(self.results, "about.json")
        if not os.path.exists(about):
            for path in glob.glob(os.path.join(self.out, "gpu-*.json")):
                with open(path) as file:
                    whole = json.load(file)
                suites.write_whole(about, {"made": whole["made"], "calls": whole["calls"]})
                for part in (part for part in whole["parts"] if part["state"] != "not run"):
                    suites.write_whole(self.file_of(part["part"]), part)
        if os.path.exists(about):
            with open(about) as file:
                earlier = json.load(file)
            if earlier["made"] != self.identity():
                sys.exit(f"gpu-suite: {self.options.out} has results of another folder; name another one with --out")
            self.calls = earlier["calls"]

    def result_of(self, name):
        """None where a part has none yet."""
        try:
            with open(self.file_of(name)) as file:
                return json.load(file)
        except (OSError, ValueError):
            return None

    def waiting(self):
        """The parts to run: those without a result, then those that had too little time."""
        if self.options.only:
            return list(self.options.parts)
        found = {name: self.result_of(name) for name in self.options.parts}
        late = [name for name, result in found.items() if result and result.get("left_out")]
        return [name for name, result in found.items() if not result] + late

    # the device

    def look_at_device(self):
        """Asks the driver, in a process of its own; says to our programs where libraries lie that no loader finds."""
        # Whatever the time: without it nothing could be said of the parts.
        command = [sys.executable, "-B", os.path.join(HERE, "device.py")]
        ended = processes.run(command, LOOKING, self.work, dict(os.environ))
        if ended.status != 0:
            self.device = {"name": None, "problem": ended.problem()}
            return
        self.device = json.loads(ended.output.splitlines()[-1])
        self.environment.update(self.device.pop("folders"))

    def ask_again(self):
        """Whether a device answers behind a part that failed."""
        command = [sys.executable, "-B", os.path.join(HERE, "device.py")]
        ended = processes.run(command, LOOKING / 2, self.work, dict(os.environ))
        problem = json.loads(ended.output.splitlines()[-1])["problem"] if ended.status == 0 else ended.problem()
        return problem or "answers"

    # parts

    def run_part(self, name, seconds):
        """Its result, whatever becomes of its process; that and all it has started are gone then."""
        earlier = self.result_of(name) or {}
        scratch = os.path.join(self.work, "scratch")
        shutil.rmtree(scratch, ignore_errors=True)
        os.makedirs(scratch)
        libraries = [os.path.join(self.work, "run", "lib"), os.environ.get("LD_LIBRARY_PATH")]
        given, file = os.path.join(self.work, "given.json"), os.path.join(self.work, "result.json")
        suites.write_whole(given, {
            "folder": self.folder, "out": self.out, "root": os.path.join(self.work, "run"), "scratch": scratch,
            "python": self.options.python, "device": self.device, "contents": self.contents, "seconds": seconds,
            "earlier": earlier if earlier.get("left_out") and not self.options.only else {},
            "environment": {**self.environment, "LD_LIBRARY_PATH": os.pathsep.join(filter(None, libraries))},
        })  # fmt: skip
        with contextlib.suppress(FileNotFoundError):
            os.remove(file)
        command = [sys.executable, "-B", os.path.join(HERE, "parts.py"), name, given, file]
        ended = processes.run(command, seconds + GRACE, self.work, dict(os.environ))
        processes.end_descendants()
        shutil.rmtree(scratch, ignore_errors=True)
        result = self.whole_result(name, file, ended)
        if result["state"] == "failed":
            result[ANSWERED] = self.ask_again()
        suites.write_whole(self.file_of(name), report.plain(self.private(), result))
        return result

    def whole_result(self, name, file, ended):
        """What the part wrote; if it did not come to its end, what it had so far."""
        found = {"ok": True, "lines": []}
        with contextlib.suppress(OSError, ValueError), open(file) as written:
            found = json.load(written)
        if ended.status == 0 and "state" in found:
            return found
        found.pop("ok", None)
        problem = f"the part {ended.problem() or 'left no result'}"
        lines = [*found.pop("lines", []), problem]
        about = {"part": name, "seconds": round(ended.seconds, 1), "state": "failed", "problem": problem}
        return {**about, **{key: value for key, value in found.items() if key not in about}, "lines": lines}

    def private(self):
        """Folders of this machine, and what stands for them in results that others read."""
        return {os.path.join(self.work, "scratch"): "SCRATCH", self.work: "WORK", self.out: "OUT",
                self.folder: "FOLDER"}  # fmt: skip

    def run_parts(self):
        """Those that are waiting, as far as the time goes. Returns their results."""
        saved, results = 0.0, []
        for name in self.waiting():
            share = PARTS[name].seconds * (EMULATED if self.contents["smoke"] else 1)
            is_asked = self.options.only or not results
            if self.left() < (0 if is_asked else FEWEST * share + GRACE):
                break
            begun = time.monotonic()
            results.append(self.run_part(name, max(min(share + saved, self.left() - GRACE), 0.1)))
            # One that had to be ended takes no time of those behind it.
            saved = max(saved + share - (time.monotonic() - begun), 0.0)
            self.write()
            state = f"{name} {results[-1]['state']}, {self.elapsed():.0f} of {60 * self.options.minutes:.0f} s"
            print(f"gpu-suite: {state}", file=sys.stderr, flush=True)
        return results

    def write(self):
        """The whole, in both forms; returns the text."""
        names = " ".join(filter(None, [
            self.options.call, f"--minutes {self.options.minutes:g}",
            self.options.only and f"--only {self.options.only}",
            self.options.match and f"--match '{self.options.match}'",
        ]))  # fmt: skip
        call = {"command": f"run.sh {names}", "date": self.date, "seconds": round(self.elapsed(), 1)}
        calls = [*self.calls, call]
        suites.write_whole(os.path.join(self.results, "about.json"), {"made": self.identity(), "calls": calls})
        found = [self.result_of(name) or {"part": name, "state": "not run"} for name in PARTS]
        whole = {"made": self.identity(), "commit": self.contents["commit"], "tessera": self.contents["tessera"],
                 "device": {key: value for key, value in self.device.items() if value}, "calls": calls,
                 "parts": found}  # fmt: skip
        return report.write(whole, self.private(), [self.out, self.options.copy])


def run_suite(folder, options, contents):
    runner = Runner(folder, options, contents)
    os.makedirs(runner.work, exist_ok=True)
    runner.recall()
    runner.unpack()
    processes.adopt_orphans()
    runner.look_at_device()
    if runner.device["problem"]:
        results = [{"state": "failed"}]
    else:
        results = runner.run_parts()
    print(runner.write(), end="")
    return 1 if any(result["state"] == "failed" for result in results) else 0


def main():
    options = parse()
    folder = os.path.dirname(os.path.dirname(HERE))
    try:
        with open(os.path.join(folder, "folder.json")) as file:
            contents = json.load(file)
        contents["commit"]
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"gpu-suite: this is no folder that scripts/gpu-suite.sh made: {error!r}")
    if options.unpack:
        unpack(folder, os.path.abspath(options.unpack))
        print(f"programs and lib lie in {options.unpack}; start them there, with LD_LIBRARY_PATH=lib")
        return 0
    choose_programs(contents, options.match or "")
    return run_suite(folder, options, contents)


if __name__ == "__main__":
    sys.exit(main())
