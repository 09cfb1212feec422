#!/usr/bin/env python3
"""Turns English text into a token file without a tokenizer's tables: one number a word or mark, the commonest first.

usage: word_tokens.py TEXT TOKENS.bin [VOCAB]     VOCAB: 50257 unless said; rarer words share the last number

For benchmarks only: speed asks for numbers distributed as in real text (which rows of the embedding are touched, how
often the same one), not for a particular vocabulary.
"""

import collections
import re
import struct
import sys


def main(args):
    if len(args) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    vocab = int(args[2]) if len(args) == 3 else 50257
    with open(args[0], encoding="utf-8", errors="replace") as text:
        words = re.findall(r"\w+|[^\w\s]|\n", text.read())
    ranked = [word for word, _ in collections.Counter(words).most_common(vocab - 1)]
    number = {word: i for i, word in enumerate(ranked)}
    ids = [number.get(word, vocab - 1) for word in words]
    with open(args[1], "wb") as out:
        out.write(struct.pack("<256i", 20240520, 1, len(ids), *[0] * 253))
        out.write(struct.pack(f"<{len(ids)}H", *ids))
    print(f"{len(ids)} tokens, {len(ranked)} distinct")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
