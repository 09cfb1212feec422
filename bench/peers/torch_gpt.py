#!/usr/bin/env python3
"""Training steps of a GPT in PyTorch, as a peer for the benchmarks: its usual modules at their best settings.

usage: torch_gpt.py --data FILE --vocab V --depth L --width E --heads H --context C --batch B --seq S --rate R …

FILE is a token file, or any other, whose bytes are the tokens. Pre-normalization, tanh GELU, tied head, no dropout,
fused scaled dot-product attention; f32, or bf16 by autocast; with --device cuda on a GPU, in tf32 too. Lines as
peer_run.py says. --recompute: `layer` checkpoints each block; `selective` checkpoints all of a block but its matrix
products and its attention; a share from 0 to 1 is torch.compile's budget for what the forward pass keeps.
"""

import functools

import gpt_options
import numpy
import peer_run
import torch
import torch.nn.functional as F
import torch._functorch.config
import torch_steps
from torch import nn
from torch.utils import checkpoint

RECOMPUTATIONS = ("none", "layer", "selective")
ATEN = torch.ops.aten
KEPT = [  # by `selective`
    ATEN.mm.default, ATEN.addmm.default, ATEN.bmm.default, ATEN._scaled_dot_product_flash_attention.default,
    ATEN._scaled_dot_product_efficient_attention.default, ATEN._scaled_dot_product_flash_attention_for_cpu.default,
]  # fmt: skip


def checkpoint_of(recomputation):
    """What calls a block, so that it recomputes as the option says."""
    if recomputation == "layer":
        return functools.partial(checkpoint.checkpoint, use_reentrant=False)
    if recomputation == "selective":
        contexts = functools.partial(checkpoint.create_selective_checkpoint_contexts, KEPT)
        return functools.partial(checkpoint.checkpoint, use_reentrant=False, context_fn=contexts)
    if recomputation != "none":
        torch._functorch.config.activation_memory_budget = float(recomputation)
    return lambda block, x: block(x)


class Block(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.heads = o.heads
        self.ln_1, self.ln_2 = nn.LayerNorm(o.width), nn.LayerNorm(o.width)
        self.qkv = nn.Linear(o.width, 3 * o.width, bias=o.attention_biases)
        self.out = nn.Linear(o.width, o.width, bias=o.attention_biases)
        self.up, self.down = nn.Linear(o.width, 4 * o.width), nn.Linear(4 * o.width, o.width)

    def forward(self, x):
        batch, seq, width = x.shape
        q, k, v = self.qkv(self.ln_1(x)).view(batch, seq, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, seq, width))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(o.vocab, o.width), nn.Embedding(o.context, o.width)
        self.blocks = nn.ModuleList(Block(o) for _ in range(o.depth))
        self.ln_f = nn.LayerNorm(o.width)
        self.call = checkpoint_of(o.recompute)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=gpt_options.deviation(name, o))
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, tokens, target):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = self.call(block, x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), target.reshape(-1))


def main():
    options = gpt_options.parse(__doc__, torch_steps.MODES, torch_steps.DEVICES, RECOMPUTATIONS)
    torch.manual_seed(1)
    torch_steps.train(Gpt(options), peer_run.token_batches(options, numpy.int64), options)


if __name__ == "__main__":
    main()
