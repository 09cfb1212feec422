#!/usr/bin/env python3
"""Whether a run with adapters on one batch starts at the first loss of another run, and ends below it.

usage: lora_learns.py ADAPTED.jsonl BASE.jsonl
"""

import json
import sys


def losses(path):
    with open(path) as lines:
        records = [json.loads(line) for line in lines]
    return [record["losses"]["ce"] for record in records if record["split"] == "train"]


adapted, base = losses(sys.argv[1]), losses(sys.argv[2])
if abs(adapted[0] - base[0]) > 1e-5 or not adapted[-1] < adapted[0] - 0.01:
    sys.exit(f"{adapted} after {base[0]}")
print("starts at the loss of the base, and learns")
