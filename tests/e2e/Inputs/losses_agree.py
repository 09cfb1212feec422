#!/usr/bin/env python3
"""Compares what `eval` printed in two runs: the same names, numbers within a relative 1e-4."""

import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file if not line.startswith("checkpoint")]
    return {line[0]: float(line[1]) for line in lines if len(line) == 2}


first, second = read(sys.argv[1]), read(sys.argv[2])
print(first, second)
if not first or first.keys() != second.keys():
    sys.exit("other names")
for name, value in first.items():
    if not abs(value - second[name]) <= 1e-4 * abs(value):
        sys.exit(f"{name} differs")
