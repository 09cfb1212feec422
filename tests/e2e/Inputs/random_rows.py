"""usage: random_rows.py ROWS COLUMNS: numbers from -1 to 1 as CSV, the same each time."""

import random
import sys

rows, columns = map(int, sys.argv[1:])
random.seed(7)
for _ in range(rows):
    print(",".join(f"{random.uniform(-1, 1):.4f}" for _ in range(columns)))
