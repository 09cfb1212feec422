#!/usr/bin/env python3
"""Rows of four numbers of either sign or 0, and a target.

usage: signs.py OUT
"""

import random
import sys

draw = random.Random(5)
with open(sys.argv[1], "w") as out:
    for _ in range(64):
        row = [draw.choice([-1, 1, 1, 1]) * round(draw.random(), 3) * draw.choice([0, 1, 1, 1, 1]) for _ in range(4)]
        out.write(",".join(map(str, [*row, round(draw.random(), 3)])) + "\n")
