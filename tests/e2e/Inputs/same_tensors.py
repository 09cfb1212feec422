#!/usr/bin/env python3
"""Whether all tensors of one safetensors file are in another one, bit for bit; prints how many.

usage: same_tensors.py FILE OTHER [IGNORED...]      IGNORED: ends of names that are not compared
"""

import json
import struct
import sys


def read(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        numbers = file.read()
    header.pop("__metadata__", None)
    return {name: (t["dtype"], t["shape"], numbers[slice(*t["data_offsets"])]) for name, t in header.items()}


def main(path, other, *ignored):
    ours, theirs = read(path), read(other)
    names = [name for name in ours if not name.endswith(ignored)]
    for name in names:
        if ours[name] != theirs.get(name):
            sys.exit(f"{name} differs")
    print(f"{len(names)} tensors are the same")


main(*sys.argv[1:])
