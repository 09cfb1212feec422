#!/usr/bin/env python3
"""Checks and times on a GPU what scripts/gpu-suite.sh put into a folder; run.sh starts it.

usage: run.sh [--out DIR] [--limit SECONDS] [--only PART,…] [--match TEXT] [--python PYTHON] [--unpack DIR]

Parts, in the order of importance; each has a share of the time, and what one leaves the next ones get:

  kernels     single kernels against stored results; compiled there, by NVRTC
  train       the examples against what they computed on a processor; twice, equal to the bit
  bench       seconds a step of GPT-2 124M
  peers       the same beside PyTorch and, where $LLMC names a folder with train_gpt2cu, llm.c
  profile     each kernel of a step against the limits of the device
  sanitizer   compute-sanitizer over single kernels

What was not run is reported with its reason; a part is `partial` where that is some of it. DIR/gpu-suite.json holds
everything, DIR/gpu-suite.txt what is printed. Exit status 1 if a check failed.
"""

import argparse
import datetime
import json
import os
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import check_parts  # noqa: E402
import processes  # noqa: E402
import profile_part  # noqa: E402
import report  # noqa: E402
import speed_parts  # noqa: E402
import suite as suites  # noqa: E402

# What it runs, and its share.
PARTS = {
    "kernels": (check_parts.kernels, 60),
    "train": (check_parts.train, 120),
    "bench": (speed_parts.bench, 85),
    "peers": (speed_parts.peers, 165),
    "profile": (profile_part.profile, 30),
    "sanitizer": (check_parts.sanitizer, 60),
}
LIMIT = 520.0
COPY_BYTES = 2**30
LOOKING = 60.0  # seconds that the driver may take to tell of the device


def parse():
    parser = argparse.ArgumentParser(
        prog="run.sh", description=__doc__.partition("\n\n")[2], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", default="gpu-suite-results", help="folder of the results (gpu-suite-results)")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"seconds for all ({LIMIT:.0f})")
    parser.add_argument("--only", help="parts, with commas between")
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
    if options.limit <= 0:
        parser.error("--limit must be above 0")
    return options


def choose_programs(contents, text):
    """Leaves those whose names hold the text."""
    names = [entry["name"] for entry in contents["trainings"] + contents["timed"]]
    if not any(text in name for name in names):
        sys.exit(f"gpu-suite: no program's name holds '{text}'; there are {', '.join(names)}")
    for kind in ("trainings", "timed"):
        contents[kind] = [entry for entry in contents[kind] if text in entry["name"]]


def look_at_device(suite):
    """Asks the driver, in a process of its own; says to our programs where libraries lie that no loader finds."""
    command = [sys.executable, "-B", os.path.join(HERE, "device.py")]
    command += ["--copy-bytes", str(2**20 if suite.contents["smoke"] else COPY_BYTES)]
    # Whatever the limit: without it nothing could be said of the parts.
    ended = processes.run(command, LOOKING, suite.scratch, dict(os.environ))
    if ended.status != 0:
        suite.device = {"name": None, "problem": ended.problem()}
        return
    suite.device = json.loads(ended.output.splitlines()[-1])
    suite.environment.update(suite.device.pop("folders"))


def run_part(suite, name):
    """Its results, whatever happens in it."""
    started = suite.elapsed()
    try:
        suite.need()
        result = PARTS[name][0](suite)
        whole = "partial" if result.pop("left_out", 0) else "passed"
        result = {"state": whole if result.pop("ok") else "failed", **result}
    except suites.Skipped as reason:
        result = {"state": "skipped", "reason": str(reason), "lines": [str(reason)]}
    except Exception:  # a mistake in one part must not cost the others
        problem = traceback.format_exc()[-2000:]
        result = {"state": "failed", "problem": problem, "lines": [problem]}
    return {"part": name, "seconds": round(suite.elapsed() - started, 1), **result}


def run_parts(suite, options):
    """All parts, in their order. A part may use what is left up to the end of its share."""
    chosen = [name for name in PARTS if name in options.parts]
    whole, passed, results = sum(PARTS[name][1] for name in chosen), 0, []
    begun = suite.elapsed()
    for name in chosen:
        passed += PARTS[name][1]
        suite.part_end = suite.started + begun + (suite.limit - begun) * passed / whole
        if suite.device["problem"]:
            result = {"part": name, "seconds": 0.0, "state": "failed", "problem": suite.device["problem"], "lines": []}
        else:
            result = run_part(suite, name)
        results.append(result)
        report.write(suite, options, results)
        print(f"gpu-suite: {name} {result['state']}, {suite.elapsed():.0f} of {suite.limit:.0f} s", file=sys.stderr)
    return results


def main():
    options = parse()
    folder, out = os.path.dirname(os.path.dirname(HERE)), os.path.abspath(options.out)
    try:
        suite = suites.Suite(folder, out, options.limit, options.python)
    except (OSError, ValueError) as error:
        sys.exit(f"gpu-suite: this is no folder that scripts/gpu-suite.sh made: {error}")
    try:
        suite.unpack(options.unpack)
        if options.unpack:
            print(f"programs and lib lie in {options.unpack}; start them there, with LD_LIBRARY_PATH=lib")
            return 0
        choose_programs(suite.contents, options.match or "")
        os.makedirs(out, exist_ok=True)
        suite.date = datetime.date.today().isoformat()
        look_at_device(suite)
        results = run_parts(suite, options)
        print(report.write(suite, options, results), end="")
        return 1 if any(result["state"] == "failed" for result in results) else 0
    finally:
        suite.remove_scratch()


if __name__ == "__main__":
    sys.exit(main())
