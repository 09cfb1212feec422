#!/usr/bin/env python3
"""Makes the golden values of this folder with PyTorch on the CPU: losses and gradient norms of ten training steps.

usage: gpt2_golden.py [CASE ...]        rewrites CASE.json beside this file; all cases unless some are named

Needs PyTorch (2.9.1 was used) and nothing else; make_weights.py makes the start weights and the data. The models do not
use torch.nn's modules. They spell their formulas out, with one einsum for each contraction, so that each line can be
compared with a line of the model file. The small cases run in f64 too: the difference between f32 and f64 is the effect
of rounding, and the tolerance of the comparison follows from it.

A case that ends in -bf16 is the same under PyTorch's autocast to bf16, with f32 parameters.

GPT-2: f32, no dropout, layer_norm's epsilon 1e-5, gelu in its tanh form, head tied to wte; the loss is the mean over
batch and seq. The gradient is clipped to a global norm of 1 (grad_norm is the norm before that); then AdamW with betas
0.9 and 0.95, epsilon 1e-8, decay 0.1 on weights, none on biases and gains. The perceptron trains by plain gradient
descent. A step's loss is that of its batch before the step's update. The cases hf-… have Hugging Face's names and
shapes; hugging_face.py has their models.
"""

import json
import math
import os
import sys

import torch

import hugging_face
import make_weights
from make_weights import CASES

STEPS = 10
BETAS, EPSILON, DECAY, CLIP = (0.9, 0.95), 1e-8, 0.1, 1.0


def is_weight(case, name):
    if hasattr(case, "is_weight"):
        return case.is_weight(name)
    last = name.split(".")[-1]
    return last in ("wte", "wpe", "wq", "wk", "wv", "wo", "up", "down")


def layer_norm(x, gain, bias):
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    return (x - mean) / torch.sqrt(variance + 1e-5) * gain + bias


def gelu_tanh(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def attention(x, w, future):
    """x [batch, seq, embed]; letters: b batch, s seq, k key, e embed, h head, d hd."""
    q = torch.einsum("bse,ehd->bshd", x, w["wq"]) + w["bq"]
    k = torch.einsum("bke,ehd->bkhd", x, w["wk"]) + w["bk"]
    v = torch.einsum("bke,ehd->bkhd", x, w["wv"]) + w["bv"]
    score = torch.einsum("bshd,bkhd->bhsk", q, k) / math.sqrt(q.shape[-1])
    p = torch.softmax(score.masked_fill(future, -math.inf), -1)
    return torch.einsum("bhsk,bkhd,hde->bse", p, v, w["wo"]) + w["bo"]


def mlp(x, w):
    wide = gelu_tanh(torch.einsum("bse,ef->bsf", x, w["up"]) + w["b_up"])
    return torch.einsum("bsf,fe->bse", wide, w["down"]) + w["b_down"]


def gpt2_loss(case, w, tokens, target):
    seq = tokens.shape[1]
    future = torch.triu(torch.ones(seq, seq, dtype=torch.bool), diagonal=1)
    x = w["wte"][tokens] + w["wpe"][:seq]
    for layer in range(case.layers):
        h = {name[2:]: value[layer] for name, value in w.items() if name.startswith("h.")}
        part = lambda prefix: {name[len(prefix) :]: value for name, value in h.items() if name.startswith(prefix)}
        x = x + attention(layer_norm(x, h["ln_1.g"], h["ln_1.b"]), part("attn."), future)
        x = x + mlp(layer_norm(x, h["ln_2.g"], h["ln_2.b"]), part("mlp."))
    y = layer_norm(x, w["ln_f.g"], w["ln_f.b"])
    logits = torch.einsum("bse,ve->bsv", y, w["wte"])
    return cross_entropy(logits, target)


def cross_entropy(logits, target):
    if logits.dtype == torch.bfloat16:  # autocast has torch.nn.functional.cross_entropy compute in f32
        logits = logits.float()
    return (torch.logsumexp(logits, -1) - logits.gather(-1, target[..., None])[..., 0]).mean()


def gpt2_batches(case):
    rows = STEPS * case.batch
    data = torch.tensor(make_weights.tokens(case.rows * case.seq + 1, case.vocab)[: rows * case.seq + 1])
    tokens = data[:-1].view(STEPS, case.batch, case.seq)
    target = data[1:].view(STEPS, case.batch, case.seq)
    return list(zip(tokens, target))


def perceptron_loss(case, w, x, target):
    hidden = torch.relu(torch.einsum("bi,ij->bj", x, w["w1"]) + w["b1"])
    return cross_entropy(torch.einsum("bj,jc->bc", hidden, w["w2"]) + w["b2"], target)


def perceptron_batches(case):
    x, target = zip(*case.table()[: STEPS * case.batch])
    x = torch.tensor(x, dtype=torch.float64).view(STEPS, case.batch, case.features)
    return list(zip(x, torch.tensor(target).view(STEPS, case.batch)))


class Adamw:
    """Open-coded, so that the order of decay, bias correction and epsilon can be seen."""

    def __init__(self, w, case):
        self.case = case
        self.first = {name: torch.zeros_like(value) for name, value in w.items()}
        self.second = {name: torch.zeros_like(value) for name, value in w.items()}

    def update(self, w, step):
        rate = self.case.rate(step - 1) if callable(self.case.rate) else self.case.rate
        for name, value in w.items():
            self.first[name].lerp_(value.grad, 1 - BETAS[0])
            self.second[name].mul_(BETAS[1]).addcmul_(value.grad, value.grad, value=1 - BETAS[1])
            first = self.first[name] / (1 - BETAS[0] ** step)
            second = self.second[name] / (1 - BETAS[1] ** step)
            if is_weight(self.case, name):
                value.mul_(1 - rate * DECAY)
            value.sub_(rate * first / (second.sqrt() + EPSILON))


class Sgd:
    def __init__(self, w, case):
        self.case = case

    def update(self, w, step):
        for value in w.values():
            value.sub_(self.case.rate * value.grad)


def recipe_of(name):
    """Loss, batches, optimizer and clipping of a case."""
    case = CASES[name]
    if name in hugging_face.LOGITS:
        loss = lambda case, w, x, target: cross_entropy(hugging_face.LOGITS[name](case, w, x), target)
        return loss, gpt2_batches(case), Adamw, CLIP
    if name.startswith("gpt2"):
        return gpt2_loss, gpt2_batches(case), Adamw, CLIP
    return perceptron_loss, perceptron_batches(case), Sgd, math.inf


def train(name, dtype, autocast=False):
    """Ten steps; returns the losses and the gradient norms."""
    case = CASES[name]
    loss_of, batches, optimizer, clip = recipe_of(name)
    w = {
        path: torch.frombuffer(values, dtype=torch.float32).view(shape).to(dtype, copy=True).requires_grad_()
        for path, shape, values in make_weights.case_tensors(name)
        if not hasattr(case, "is_parameter") or case.is_parameter(path)
    }
    update = optimizer(w, case)
    losses, norms = [], []
    for step, (x, target) in enumerate(batches, start=1):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            loss = loss_of(case, w, x.to(dtype) if x.is_floating_point() else x, target)
        loss.backward()
        with torch.no_grad():
            norm = torch.sqrt(sum((value.grad.double() ** 2).sum() for value in w.values()))
            for value in w.values():
                value.grad.mul_(min(1.0, clip / norm.item()))
            update.update(w, step)
            for value in w.values():
                value.grad = None
        losses.append(loss.item())
        norms.append(norm.item())
        print(f"{name} {dtype} step {step} loss {losses[-1]:.9f} norm {norms[-1]:.9f}", flush=True)
    return losses, norms


def main(names):
    mine = [case for case in CASES if case.startswith("gpt2") or case == "perceptron"]
    for name in names or [*mine, *hugging_face.LOGITS, *(case + "-bf16" for case in mine)]:
        case, is_low = name.removesuffix("-bf16"), name.endswith("-bf16")
        losses, norms = train(case, torch.float32, autocast=is_low)
        result = {
            "case": name,
            "made_by": f"gpt2_golden.py, PyTorch {torch.__version__.split('+')[0]}",
            "losses": losses,
            "grad_norms": norms,
        }
        if case != "gpt2-124m" and not is_low:
            result["losses_f64"], result["grad_norms_f64"] = train(name, torch.float64)
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".json"), "w") as out:
            json.dump(result, out, indent=1)
            out.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
