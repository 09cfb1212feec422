#!/usr/bin/env python3
"""Training steps of the digits perceptron (examples/02-digits.tsr) in PyTorch on the CPU, as a peer for the benchmarks.

usage: torch_perceptron.py --data digits.csv --batch B --rate R …      (see --help)

All rows of the table wait in memory; a batch is one indexed read of them, not a DataLoader's. The accuracy that the
model file logs is left out. Lines as peer_run.py says.
"""

import numpy
import peer_run
import torch
import torch.nn.functional as F
import torch_steps
from torch import nn


class Perceptron(nn.Module):
    def __init__(self, pixels, width, classes):
        super().__init__()
        self.first, self.second = nn.Linear(pixels, width), nn.Linear(width, classes)
        nn.init.normal_(self.first.weight, std=(2 / pixels) ** 0.5)
        nn.init.normal_(self.second.weight, std=(1 / width) ** 0.5)
        nn.init.zeros_(self.first.bias)
        nn.init.zeros_(self.second.bias)

    def forward(self, image, label):
        hidden = F.dropout(F.relu(self.first(image / 16)), 0.2)
        return F.cross_entropy(self.second(hidden), label)


def main():
    options = peer_run.run_options(__doc__, torch_steps.MODES, torch_steps.DEVICES)
    options.add_argument("--width", type=int, default=128)
    options = options.parse_args()
    torch.manual_seed(1)
    torch_steps.train(Perceptron(64, options.width, 10), peer_run.table_batches(options, numpy.int64), options)


if __name__ == "__main__":
    main()
