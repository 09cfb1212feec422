#!/usr/bin/env python3
"""Makes gpt2.json, llama3.json, digits.json and prefix.json beside this file: small tokenizers, and texts with the
tokens and the decoded text that the package `tokenizers` has for them (0.23.3 was used).

usage: tokenizer_golden.py

It also writes Letters.inc and Numbers.inc of runtime/tokenizer/: the ranges of \\p{L} and \\p{N} in the regular
expressions of `tokenizers` and in its ByteLevel, those of Unicode 16. (Its Digits know 13 more digits, of Unicode 17.)
"""

import json
import os
import random

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
CLASSES = os.path.join(HERE, "..", "..", "..", "runtime", "tokenizer")
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
LLAMA3 += r"\s+(?!\S)|\s+"
CORPUS = [
    "In the beginning God created the heaven and the earth, and the earth was without form, and void.",
    "It's a truth that we'll have to see: they're here, I'm there, you've been, he'd gone, isn't it?",
    "def main(args):\n    return sum(x for x in args if x > 10)  # 12345 and 678,90\n\n\n",
    "Ein kleines Stück Käse, naïve café; Ελληνικά, русский текст, 日本語の文章, 한국어, العربية ٣٤٥.",
    "Prices: $1,234.56 — 50% off … “quoted” ‘text’ (2024-11-23).   Spaces   and\ttabs\r\nlines\r\n\r\n",
]
TEXTS = [
    "", " ", "  ", "\n", "a", " a", "a ", "hello world", "Hello, world!", "the the the", "It's", "IT'S", "it'S",
    "we'LL", "'s't're", "' s", "x'ſ", "12345678", "1 23 456", "a1b2", "½ ² Ⅷ ٣٤", "$1,234.56", "\n\n\n", " \n \n x",
    "a \n", "\t\tx",
    "a\r\nb", "x \u00a0 y", "\u3000全角", "e\u0301", "naïve café", "日本語の文章", "😀😀 ok 👩‍👩‍👧", "\u200b", "<|end|>",
    "a<|end|>b", " <|end|> ", "<|end|><|end|>", "<|end", "<tag>x", "<tag><tag2>", "x_y__z", "foo(bar)[1:2]", "…—“”",
    "(ok).\n\nNext", "...\n", "!!!\r\n!!", "é" * 40, "a" * 70, "ab" * 33, "\u0000\u0001", "\ufeffx", "I'M", "ʼs", "’s",
]  # fmt: skip
ALPHABET = list("  \n\r\t''abstmdvlreSTMD0129½²٣.,!_-$<>|éßſ中日のк한😀")
ALPHABET += ["\u00a0", "\u3000", "\u0301", "\u200d", "\u2028"]


def texts():
    draw = random.Random(11)
    found = TEXTS + CORPUS
    found += ["".join(draw.choices(ALPHABET, k=draw.randrange(1, 30))) for _ in range(150)]
    for _ in range(3):
        points = [draw.choice([draw.randrange(0x20, 0xD800), draw.randrange(0x10000, 0x20000)]) for _ in range(40)]
        found.append("".join(map(chr, points)))
    return found


def tokenizer_with(steps, size, prefix=False, **options):
    tokenizer = Tokenizer(models.BPE(**options))
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=steps is None or steps[-1] == "gpt2")
    words = [step for step in steps or [] if step != "gpt2"]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*words, byte_level]) if words else byte_level
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS * 3, trainer)
    return tokenizer


def gpt2():
    tokenizer = tokenizer_with(None, 420)
    tokenizer.add_special_tokens([AddedToken("<|end|>", normalized=True, special=True)])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    description = json.loads(tokenizer.to_str())
    description["model"]["merges"] = [" ".join(pair) for pair in description["model"]["merges"]]  # as older files
    return description


def llama3():
    split = pre_tokenizers.Split(Regex(LLAMA3), behavior="isolated", invert=False)
    tokenizer = tokenizer_with([split], 400, ignore_merges=True)
    tokenizer.add_special_tokens([AddedToken("<|begin|>", normalized=False, special=True), "<|end|>"])
    tokenizer.add_tokens([AddedToken("<tag>", normalized=True), AddedToken("<tag><tag2>", normalized=True)])
    template = processors.TemplateProcessing(
        single="<|begin|> $A", pair="<|begin|> $A <|begin|> $B", special_tokens=[("<|begin|>", 400)]
    )
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return json.loads(tokenizer.to_str())


def digits():
    tokenizer = tokenizer_with([pre_tokenizers.Digits(individual_digits=True), "gpt2"], 380)
    tokenizer.add_special_tokens(["<|end|>"])
    return json.loads(tokenizer.to_str())


def prefix():
    return json.loads(tokenizer_with(None, 380, prefix=True).to_str())


def write(name, description):
    reference = Tokenizer.from_str(json.dumps(description))
    cases = []
    for text in texts():
        ids = reference.encode(text).ids
        cases.append([text, ids, reference.decode(ids, skip_special_tokens=False)])
    with open(os.path.join(HERE, name + ".json"), "w") as out:
        out.write('{"made_by": "tokenizer_golden.py",\n "tokenizer": ' + json.dumps(description) + ',\n "cases": [\n')
        out.write(",\n".join(json.dumps(case) for case in cases) + "]}\n")
    print(f"{name}: {len(cases)} texts")


def ranges(contains):
    """The ranges of characters for which `contains` holds."""
    found = []
    for c in (c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and contains(chr(c))):
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def is_one_word(step, text):
    return len(step.pre_tokenize_str(text)) == 1


def write_classes(name, what, contains, *others):
    found = ranges(contains)
    for other in others:
        assert ranges(other) == found, name
    lines, line = [f"// {what} of the package tokenizers {tokenizers.__version__}. Made by tokenizer_golden.py."], ""
    for first, last in found:
        entry = f"{{0x{first:x}, 0x{last:x}}},"
        if len(line) + len(entry) >= 120:
            lines.append(line)
            line = ""
        line += (" " if line else "") + entry
    with open(os.path.join(CLASSES, name), "w") as out:
        out.write("\n".join([*lines, line]) + "\n")
    print(f"{name}: {len(found)} ranges")


for case in (gpt2, llama3, digits, prefix):
    write(case.__name__, case())
gpt2_words = pre_tokenizers.ByteLevel(add_prefix_space=False)
letter, number = (pre_tokenizers.Split(Regex(pattern), behavior="removed") for pattern in (r"\p{L}", r"\p{N}"))
write_classes(
    "Letters.inc", r"\p{L}", lambda c: not letter.pre_tokenize_str(c), lambda c: is_one_word(gpt2_words, "a" + c)
)
write_classes(
    "Numbers.inc", r"\p{N}", lambda c: not number.pre_tokenize_str(c), lambda c: is_one_word(gpt2_words, "1" + c)
)
