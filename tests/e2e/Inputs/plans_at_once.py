#!/usr/bin/env python3
"""Compiles with `--plan` in several processes at once, as ranks do: all succeed, and one plan is there.

usage: plans_at_once.py PLAN OPTION…
    OPTION: of `tessera compile`, without -o
"""

import subprocess
import sys


def main():
    path, *options = sys.argv[1:]
    programs = [f"{path}.{number}" for number in range(3)]
    commands = [["tessera", "compile", *options, "--plan", path, "-o", program] for program in programs]
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    assert all(process.wait() == 0 for process in processes)
    contents = {open(program, "rb").read() for program in programs}
    assert len(contents) == 1, "the programs differ"
    print("one plan, and equal programs")


if __name__ == "__main__":
    main()
