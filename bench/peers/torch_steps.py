"""Training steps in PyTorch on the CPU: fused AdamW and clipping by the global norm, eager or through torch.compile."""

import peer_run
import torch
from torch import nn

MODES = ("eager", "compiled")


def train(model, batches, options):
    """`model` maps a batch to its loss."""
    # As XLA does by default: moments of what gets no gradient would decay into slow subnormal numbers.
    torch.set_flush_denormal(True)
    torch.set_num_threads(options.threads)
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": options.decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    adamw = torch.optim.AdamW(groups, lr=options.rate, betas=tuple(options.betas), eps=1e-8, fused=True)
    loss_of = torch.compile(model) if options.mode == "compiled" else model
    # Forward only, as PyTorch asks for: the backward pass follows in the types of the forward one.
    autocast = torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.precision == "bf16")
    steps = 0

    def advance(block):
        nonlocal steps
        for batch in block:
            for group in adamw.param_groups:
                group["lr"] = peer_run.rate_at(steps, options)
            with autocast:
                loss = loss_of(*map(torch.from_numpy, batch))
            loss.backward()
            if options.clip:
                nn.utils.clip_grad_norm_(parameters, options.clip)
            adamw.step()
            adamw.zero_grad(set_to_none=True)
            steps += 1
        return loss.item()

    peer_run.run(options, sum(p.numel() for p in parameters), batches, advance)
