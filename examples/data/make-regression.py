#!/usr/bin/env python3
"""Writes points on the line y = 2 x - 3 with a little noise, as CSV with the columns x and y.

usage: make-regression.py OUT.csv [ROWS]      for examples/01-regression.tsr; 2,048 rows by default, always the same
"""

import random
import sys


def main(args):
    if len(args) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    rows = int(args[1]) if len(args) == 2 else 2048
    draw = random.Random(1)
    with open(args[0], "w") as out:
        out.write("x,y\n")
        for _ in range(rows):
            x = draw.uniform(-2, 2)
            out.write(f"{x:.6f},{2 * x - 3 + draw.gauss(0, 0.1):.6f}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
