#!/usr/bin/env python3
"""The parts of the suite, the most important first. As a program: runs one of them; run.py starts it, in a process of
its own.

usage: parts.py PART GIVEN.json RESULT.json
"""

import dataclasses
import json
import os
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import check_parts  # noqa: E402
import memory_part  # noqa: E402
import model_parts  # noqa: E402
import profile_parts  # noqa: E402
import rate_part  # noqa: E402
import speed_parts  # noqa: E402
import suite as suites  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Part:
    run: object  # the function; takes the suite, returns the result
    seconds: int  # its share
    call: str  # in which of the calls it is


PARTS = {
    "rates": Part(rate_part.rates, 40, "first"),
    "kernels": Part(check_parts.kernels, 60, "first"),
    "modes": Part(model_parts.modes, 90, "first"),
    "checkpoints": Part(model_parts.checkpoints, 100, "first"),
    "speed": Part(speed_parts.speed, 240, "first"),
    "profile": Part(profile_parts.profile, 40, "second"),
    "ncu": Part(profile_parts.ncu, 110, "second"),
    "train": Part(check_parts.train, 130, "second"),
    "ranks": Part(check_parts.ranks, 130, "second"),
    "bench": Part(speed_parts.bench, 190, "second"),
    "memory": Part(memory_part.memory, 240, "third"),
    "peers": Part(speed_parts.peers, 330, "third"),
    "sanitizer": Part(check_parts.sanitizer, 140, "third"),
}
MINUTES = {"first": 9.0, "second": 10.0, "third": 12.0}  # of a call


def result_of(suite, name):
    """Whatever happens in the part."""
    try:
        suite.need()
        result = PARTS[name].run(suite)
        whole = "partial" if result.get("left_out") else "passed"
        return {"state": whole if result.pop("ok") else "failed", **result}
    except suites.Skipped as reason:
        is_late = str(reason).startswith(suites.NO_TIME)
        return {"state": "skipped", "reason": str(reason), "left_out": int(is_late), "lines": [str(reason)]}
    except Exception:
        problem = traceback.format_exc()[-2000:]
        return {"state": "failed", "problem": problem, "lines": [problem]}


def main(args):
    if len(args) != 3 or args[0] not in PARTS:
        print(__doc__, file=sys.stderr)
        return 2
    name, given, file = args
    started = time.monotonic()
    with open(given) as read:
        suite = suites.Suite(json.load(read), file)
    result = result_of(suite, name)
    suites.write_whole(file, {"part": name, "seconds": round(time.monotonic() - started, 1), **result})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
