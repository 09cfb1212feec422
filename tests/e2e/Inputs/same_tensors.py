#!/usr/bin/env python3
"""Whether all tensors of one safetensors file are in another one, bit for bit; prints how many.

usage: same_tensors.py FILE OTHER [IGNORED...]      IGNORED: ends of names that are not compared
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from safetensors_file import read_tensors


def main(path, other, *ignored):
    ours, theirs = read_tensors(path), read_tensors(other)
    names = [name for name in ours if not name.endswith(ignored)]
    for name in names:
        if ours[name] != theirs.get(name):
            sys.exit(f"{name} differs")
    print(f"{len(names)} tensors are the same")


main(*sys.argv[1:])
