#!/usr/bin/env python3
"""Writes what llm.c's train_gpt2 reads at start into a folder: random 124M weights and its two token files.

usage: llmc_files.py FOLDER TOKENS.bin       run train_gpt2 inside FOLDER afterwards

Its speed does not depend on the weights' values, so they are uniform numbers with the standard deviation of GPT-2's
initialisation, gains one and biases zero. A million distinct numbers are enough: they are repeated.
"""

import array
import os
import random
import shutil
import struct
import sys

LAYERS, HEADS, EMBED, CONTEXT, VOCAB, PADDED_VOCAB = 12, 12, 768, 1024, 50257, 50304
PERIOD = 1_000_003


def tensors():
    """(count, kind) of each tensor in the file's order."""
    l, c = LAYERS, EMBED
    return [
        (PADDED_VOCAB * c, "weight"),  # token embedding, padded rows included
        (CONTEXT * c, "weight"),  # position embedding
        (l * c, "gain"), (l * c, "bias"),  # first normalization
        (l * 3 * c * c, "weight"), (l * 3 * c, "bias"),  # query, key, value
        (l * c * c, "weight"), (l * c, "bias"),  # projection
        (l * c, "gain"), (l * c, "bias"),  # second normalization
        (l * 4 * c * c, "weight"), (l * 4 * c, "bias"),  # up
        (l * 4 * c * c, "weight"), (l * c, "bias"),  # down
        (c, "gain"), (c, "bias"),  # last normalization
    ]  # fmt: skip


def write_weights(path):
    draw = random.Random(1)
    width = 0.02 * 3**0.5
    period = array.array("f", [draw.uniform(-width, width) for _ in range(PERIOD)])
    header = [20240326, 3, CONTEXT, VOCAB, LAYERS, HEADS, EMBED, PADDED_VOCAB]
    with open(path, "wb") as out:
        out.write(struct.pack("<256i", *header, *[0] * (256 - len(header))))
        for count, kind in tensors():
            if kind == "weight":
                whole, rest = divmod(count, PERIOD)
                values = period * whole + period[:rest]
            else:
                values = array.array("f", [1.0 if kind == "gain" else 0.0]) * count
            values.tofile(out)


def main(args):
    if len(args) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder, token_file = args
    data = os.path.join(folder, "dev", "data", "tinyshakespeare")
    os.makedirs(data, exist_ok=True)
    write_weights(os.path.join(folder, "gpt2_124M.bin"))
    for split in ("train", "val"):
        shutil.copyfile(token_file, os.path.join(data, f"tiny_shakespeare_{split}.bin"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
