"""Training steps in PyTorch: fused AdamW and clipping by the global norm, eager or through torch.compile.

Under torchrun each process has its rows of a batch, and DistributedDataParallel over gloo averages gradients.
"""

import os

import peer_run
import torch
from torch import distributed, nn

MODES = ("eager", "compiled")
DEVICES = ("cpu", "cuda")


def on_device(array, device):
    tensor = torch.from_numpy(array)
    # From pinned memory, so that the copy does not wait for the steps before.
    return tensor.pin_memory().to(device, non_blocking=True) if device == "cuda" else tensor


def rows_of(array, rank, ranks):
    rows = len(array) // ranks
    return array[rank * rows : (rank + 1) * rows]


def train(model, batches, options):
    """`model` maps a batch to its loss."""
    rank, ranks = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    # As XLA does by default: moments of what gets no gradient would decay into slow subnormal numbers.
    torch.set_flush_denormal(True)
    torch.set_num_threads(options.threads)
    if options.device == "cuda":
        torch.set_float32_matmul_precision("high" if options.precision == "tf32" else "highest")
    model.to(options.device)
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": options.decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    adamw = torch.optim.AdamW(groups, lr=options.rate, betas=tuple(options.betas), eps=1e-8, fused=True)
    if ranks > 1:
        distributed.init_process_group("gloo")
        model = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True, static_graph=True)
    loss_of = torch.compile(model) if options.mode == "compiled" else model
    # Forward only, as PyTorch asks for: the backward pass follows in the types of the forward one.
    autocast = torch.autocast(options.device, dtype=torch.bfloat16, enabled=options.precision == "bf16")
    steps = 0

    def advance(block):
        nonlocal steps
        for batch in block:
            for group in adamw.param_groups:
                group["lr"] = peer_run.rate_at(steps, options)
            with autocast:
                loss = loss_of(*(on_device(rows_of(array, rank, ranks), options.device) for array in batch))
            loss.backward()
            if options.clip:
                nn.utils.clip_grad_norm_(parameters, options.clip)
            adamw.step()
            adamw.zero_grad(set_to_none=True)
            steps += 1
        last = loss.item()
        if options.device == "cuda":
            print(f"device_bytes {torch.cuda.max_memory_allocated()}", flush=True)
        return last

    peer_run.run(options, sum(p.numel() for p in parameters), batches, advance, speaks=rank == 0)
