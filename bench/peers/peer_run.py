"""What the peers share: the options of a run, its data as batches, its learning rate, and the lines it prints.

A peer prints `parameters N` once, and then `step K loss L` after every `--block` steps. Nothing else happens between
two of those lines but training steps, so that whoever reads the lines can take the time from one to the next. The loss
is read once a block: reading it every step would keep a library that works ahead from doing so. On a GPU a line
`device_bytes N` before it says what tensors have taken of the GPU's memory at most.
"""

import argparse
import itertools
import math

import numpy

TOKEN_FILE = (20240520, 1)  # magic number and version of the token files that llm.c and nanoGPT write


def run_options(description, modes, devices=("cpu",)):
    """The parser of the options that all peers have; a peer adds those of its model."""
    precisions = ("f32", "bf16", "tf32") if "cuda" in devices else ("f32", "bf16")
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--data", required=True)
    options.add_argument("--mode", choices=modes, default=modes[0])
    options.add_argument("--device", choices=devices, default=devices[0])
    options.add_argument("--precision", choices=precisions, default="f32", help="of contractions; parameters are f32")
    options.add_argument("--batch", type=int, required=True)
    options.add_argument("--shuffle", action="store_true", help="a new order of the rows in each epoch")
    options.add_argument("--block", type=int, default=1, help="steps from one printed line to the next")
    options.add_argument("--blocks", type=int, default=10)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--rate", type=float, required=True, help="learning rate, at its peak if it has a schedule")
    options.add_argument("--warmup", type=int, default=0)
    options.add_argument("--total", type=int, default=0, help="the rate falls to a tenth at this step; 0: it stays")
    options.add_argument("--betas", type=float, nargs=2, default=(0.9, 0.999))
    options.add_argument("--decay", type=float, default=0.0, help="of tensors with two axes or more")
    options.add_argument(
        "--clip", type=float, default=0.0, help="greatest norm of all gradients; 0: they are not clipped"
    )
    return options


def rate_at(step, options):
    """Learning rate of a step, counted from 0: `warmup_cosine` of the model files."""
    if not options.total:
        return options.rate
    if step < options.warmup:
        return options.rate * (step + 1) / options.warmup
    along = min((step - options.warmup) / max(options.total - options.warmup, 1), 1.0)
    return options.rate * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * along)))


def order_of_rows(count, options):
    """The numbers of the rows of each batch, without end; batches run across the ends of epochs."""
    draw = numpy.random.default_rng(1)
    waiting = numpy.empty(0, dtype=numpy.int64)
    while True:
        while len(waiting) < options.batch:
            epoch = draw.permutation(count) if options.shuffle else numpy.arange(count)
            waiting = numpy.concatenate([waiting, epoch])
        yield waiting[: options.batch]
        waiting = waiting[options.batch :]


def read_tokens(path):
    """The numbers in a token file, or the bytes of any other file."""
    head = numpy.fromfile(path, dtype="<i4", count=2)
    if tuple(head) == TOKEN_FILE:
        return numpy.fromfile(path, dtype="<u2", offset=1024)
    return numpy.fromfile(path, dtype=numpy.uint8)


def token_batches(options, dtype):
    """(tokens, next tokens), both [batch, seq]: windows with a stride of `seq`."""
    tokens = read_tokens(options.data).astype(dtype)
    places = numpy.arange(options.seq + 1)
    for rows in order_of_rows((len(tokens) - 1) // options.seq, options):
        window = tokens[rows[:, None] * options.seq + places]
        yield window[:, :-1], window[:, 1:]


def table_batches(options, dtype):
    """(features [batch, all columns but the last], labels [batch]) of a CSV file with a header."""
    table = numpy.loadtxt(options.data, delimiter=",", skiprows=1, dtype=numpy.float32)
    features, labels = table[:, :-1].copy(), table[:, -1].astype(dtype)
    for rows in order_of_rows(len(table), options):
        yield features[rows], labels[rows]


def run(options, parameters, batches, advance, speaks=True):
    """`advance` takes the batches of a block through their steps and returns the last loss. One process prints."""
    if speaks:
        print(f"parameters {parameters}", flush=True)
    for block in range(1, options.blocks + 1):
        loss = advance(itertools.islice(batches, options.block))
        if speaks:
            print(f"step {block * options.block} loss {float(loss):.6f}", flush=True)
