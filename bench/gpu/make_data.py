#!/usr/bin/env python3
"""Writes what the runs on a GPU train on: points, pictures, words and tokens drawn at random, the same at every call.

usage: make_data.py FOLDER
"""

import os
import random
import struct
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VOCAB = 50_257
TIMED_TOKENS = 1_000_000


def write_timed_tokens(path):
    """Tokens distributed as words are (Zipf: the n-th with a probability like 1/n): how often a row is read matters."""
    draw = random.Random(5)
    tokens = [int(VOCAB ** draw.random()) - 1 for _ in range(TIMED_TOKENS)]
    with open(path, "wb") as out:
        out.write(struct.pack("<256i", 20240520, 1, len(tokens), *[0] * 253))
        out.write(struct.pack(f"<{len(tokens)}H", *tokens))


def main(args):
    if len(args) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    (folder,) = args
    os.makedirs(folder, exist_ok=True)
    synthetic = os.path.join(ROOT, "tests", "e2e", "Inputs", "synthetic.py")
    kinds = {
        "csv": ["digits.csv"],
        "text": ["text.txt"],
        "tokens": ["tokens.bin"],
        "idx": ["images.idx.gz", "labels.idx.gz"],
    }
    for kind, names in kinds.items():
        subprocess.run([sys.executable, synthetic, kind, *names], cwd=folder, check=True)
    line = os.path.join(ROOT, "examples", "data", "make-regression.py")
    subprocess.run([sys.executable, line, os.path.join(folder, "line.csv")], check=True)
    write_timed_tokens(os.path.join(folder, "timed.bin"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
