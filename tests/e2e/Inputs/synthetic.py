#!/usr/bin/env python3
"""Small data files for end-to-end tests, the same at every call.

usage: synthetic.py csv|text|tokens OUT    synthetic.py idx IMAGES LABELS
"""

import gzip
import random
import struct
import sys


def rows(count):
    """Pictures of 8 x 8 whose brightest row tells the class."""
    draw = random.Random(7)
    for _ in range(count):
        label = draw.randrange(8)
        yield [draw.randrange(4) + (12 if i // 8 == label else 0) for i in range(64)], label


def main(kind, *paths):
    draw = random.Random(3)
    if kind == "csv":
        with open(paths[0], "w") as out:
            for pixels, label in rows(200):
                out.write(",".join(map(str, [*pixels, label])) + "\n")
    elif kind == "text":
        words = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog"]
        with open(paths[0], "w") as out:
            out.write(" ".join(draw.choice(words) for _ in range(40_000)))
    elif kind == "tokens":
        tokens = [draw.randrange(64) for _ in range(5000)]
        with open(paths[0], "wb") as out:
            out.write(struct.pack("<256i", 20240520, 1, len(tokens), *[0] * 253))
            out.write(struct.pack(f"<{len(tokens)}H", *tokens))
    elif kind == "idx":
        count = 400
        with gzip.open(paths[0], "wb") as out:
            out.write(struct.pack(">BBBBIII", 0, 0, 8, 3, count, 28, 28))
            out.write(bytes(draw.randrange(256) for _ in range(count * 28 * 28)))
        with gzip.open(paths[1], "wb") as out:
            out.write(struct.pack(">BBBBI", 0, 0, 8, 1, count))
            out.write(bytes(draw.randrange(10) for _ in range(count)))


main(*sys.argv[1:])
