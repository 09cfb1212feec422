#!/usr/bin/env python3
"""GPT-2 124M training steps in PyTorch on the CPU, as a peer for the benchmarks: its usual modules at their best settings.

usage: torch_gpt2.py --tokens TOKENS.bin [--mode eager|compiled] [--precision f32|bf16] [--batch 4] [--seq 64]
                     [--steps 12] [--threads 2]

Prints one line `step K loss L seconds S` a step, as soon as it is done. Fused scaled dot-product attention, fused AdamW,
clipping by the global norm, tied head, no dropout, weights drawn from seed 1. In bf16 the weights stay f32 and the forward
pass runs under autocast.
"""

import argparse
import struct
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

LAYERS, HEADS, EMBED, CONTEXT, VOCAB = 12, 12, 768, 1024, 50257


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(EMBED), nn.LayerNorm(EMBED)
        self.qkv, self.out = nn.Linear(EMBED, 3 * EMBED), nn.Linear(EMBED, EMBED)
        self.up, self.down = nn.Linear(EMBED, 4 * EMBED), nn.Linear(4 * EMBED, EMBED)

    def forward(self, x):
        batch, seq, _ = x.shape
        q, k, v = self.qkv(self.ln_1(x)).view(batch, seq, 3, HEADS, EMBED // HEADS).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, seq, EMBED))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCAB, EMBED), nn.Embedding(CONTEXT, EMBED)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(EMBED)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, target):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.view(-1, VOCAB).float(), target.view(-1))


def read_tokens(path, count):
    with open(path, "rb") as file:
        magic, version, total = struct.unpack("<256i", file.read(1024))[:3]
        if (magic, version) != (20240520, 1) or total < count:
            sys.exit(f"{path}: expected a token file of 16-bit numbers with at least {count} of them")
        return torch.tensor(struct.unpack(f"<{count}H", file.read(2 * count)), dtype=torch.long)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--tokens", required=True)
    options.add_argument("--mode", choices=("eager", "compiled"), default="eager")
    options.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    for name, default in (("batch", 4), ("seq", 64), ("steps", 12), ("threads", 2)):
        options.add_argument("--" + name, type=int, default=default)
    o = options.parse_args()

    torch.manual_seed(1)
    torch.set_num_threads(o.threads)
    model = Gpt2()
    groups = [
        {"params": [p for p in model.parameters() if p.dim() == 2], "weight_decay": 0.1},
        {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},
    ]
    adamw = torch.optim.AdamW(groups, lr=3e-4, betas=(0.9, 0.95), fused=True)
    run = torch.compile(model) if o.mode == "compiled" else model
    data = read_tokens(o.tokens, o.steps * o.batch * o.seq + 1)

    for step in range(o.steps):
        start = time.perf_counter()
        at = step * o.batch * o.seq
        window = data[at : at + o.batch * o.seq + 1]
        with torch.autocast("cpu", torch.bfloat16, enabled=o.precision == "bf16"):
            loss = run(window[:-1].view(o.batch, o.seq), window[1:].view(o.batch, o.seq))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adamw.step()
        adamw.zero_grad(set_to_none=True)
        value = loss.item()
        print(f"step {step} loss {value:.6f} seconds {time.perf_counter() - start:.6f}", flush=True)


if __name__ == "__main__":
    main()
