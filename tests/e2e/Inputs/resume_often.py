#!/usr/bin/env python3
"""Trains in pieces that end at 20 random steps and compares the last checkpoint with that of an uninterrupted run.

usage: resume_often.py PROGRAM DATA STEPS WHOLE PIECES
"""

import filecmp
import os
import random
import subprocess
import sys

program, data, steps, whole, pieces = sys.argv[1:]
steps = int(steps)
stops = sorted(random.Random(11).sample(range(1, steps), 20))
for stop in [*stops, steps]:
    subprocess.run(
        [program, "train", "--data", data, "--steps", str(stop), "--checkpoint-dir", pieces, "--quiet"], check=True
    )
last = f"step-{steps:08d}"
names = sorted(os.listdir(os.path.join(whole, last)))
same, different, missing = filecmp.cmpfiles(os.path.join(whole, last), os.path.join(pieces, last), names, shallow=False)
is_equal = not different and not missing
print(f"{len(stops)} stops,", "equal" if is_equal else f"different: {different}, missing: {missing}")
