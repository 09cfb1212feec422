#!/usr/bin/env python3
"""Makes the golden values of the models with states: losses of ten training steps and of evaluations at 0, 5 and 10.

usage: state_golden.py [CASE ...]        rewrites CASE.json beside this file; all cases unless some are named

Needs PyTorch (2.9.1 was used) and nothing else; make_weights.py makes the start values and the data. Batch norm is
torch.nn.functional.batch_norm, which updates the running statistics, and in evaluation normalizes with them.

convnet: cross entropy; gradient descent with momentum 0.9. vq: the mean squared error, and a quarter of the mean
squared distance between latent vectors and codes; the gradient of a code goes to its latent vector; a code is a
moving average, with decay 0.8, of the latent vectors that it is nearest to; plain gradient descent. A step's loss is
that of its batch before the step's update. Both run in f64 too, as in gpt2_golden.py.
"""

import json
import os
import sys

import torch
import torch.nn.functional as F

import make_weights
from make_weights import CASES

STEPS, EVERY, STATES = 10, 5, ("mu", "var", "count", "total")


def convnet_loss(w, state, batch, training):
    x, label = batch
    conv = lambda h, kernel: F.conv2d(h, kernel.permute(3, 2, 0, 1), padding=1)

    def norm(h, name, momentum, layer=...):
        running = [state[name + end][layer] for end in (".mu", ".var")]
        return F.batch_norm(h, *running, w[name + ".g"][layer], w[name + ".b"][layer], training, momentum, 1e-5)

    h = torch.relu(norm(conv(x.permute(0, 3, 1, 2), w["first.w"]), "bn_in", 0.1))
    for layer in range(CASES["convnet"].layers):
        h = torch.relu(h + norm(conv(h, w["conv.w"][layer]), "bn", 0.3, layer))
    return F.cross_entropy(h.mean((2, 3)) @ w["head"] + w["offset"], label)


def vq_loss(w, state, batch, training):
    (x,) = batch
    count, total = state["quantize.count"], state["quantize.total"]
    z = torch.tanh(x @ w["encode"] + w["shift"])
    book = total / count[:, None]
    nearest = ((z[:, None] - book) ** 2).sum(-1).argmin(-1)
    q = book[nearest]
    commit = 0.25 * ((z - q.detach()) ** 2).mean()
    y = (z + (q - z).detach()) @ w["decode"] + w["offset"]
    if training:
        hit = F.one_hot(nearest, count.shape[0]).to(z.dtype)
        count.mul_(0.8).add_(0.2 * hit.sum(0))
        total.mul_(0.8).add_(0.2 * hit.T @ z.detach())
    return ((y - x) ** 2).mean() + commit


def convnet_data(name, count, dtype):
    case = CASES["convnet"]
    images, labels = zip(*case.table(name, count))
    x = torch.tensor(images, dtype=torch.float64).view(count, case.rows, case.columns, case.channels)
    return x.to(dtype), torch.tensor(labels)


def vq_data(name, count, dtype):
    return (torch.tensor(CASES["vq"].table(name, count), dtype=torch.float64).to(dtype),)


def train(name, dtype):
    """Ten steps; returns the losses, the gradient norms, and the losses of the evaluations."""
    case, loss_of, data = CASES[name], *{"convnet": (convnet_loss, convnet_data), "vq": (vq_loss, vq_data)}[name]
    w, state = {}, {}
    for path, shape, values in make_weights.case_tensors(name):
        tensor = torch.frombuffer(values, dtype=torch.float32).view(shape).to(dtype, copy=True)
        (state if path.split(".")[-1] in STATES else w)[path] = tensor
    velocity = {path: torch.zeros_like(value) for path, value in w.items()}
    rows, unseen = data(name, STEPS * case.batch, dtype), data(name + "-val", 20, dtype)
    losses, norms, evaluations = [], [], []

    def evaluate():
        with torch.no_grad():
            evaluations.append(loss_of(w, state, unseen, training=False).item())

    evaluate()
    for step in range(STEPS):
        for value in w.values():
            value.requires_grad_().grad = None
        loss = loss_of(w, state, [field[step * case.batch : (step + 1) * case.batch] for field in rows], training=True)
        loss.backward()
        with torch.no_grad():
            norms.append(torch.sqrt(sum((value.grad.double() ** 2).sum() for value in w.values())).item())
            for path, value in w.items():
                velocity[path].mul_(getattr(case, "momentum", 0)).add_(value.grad)
                value.sub_(case.rate * velocity[path])
        losses.append(loss.item())
        if (step + 1) % EVERY == 0:
            evaluate()
    print(name, dtype, losses, evaluations, flush=True)
    return losses, norms, evaluations


def main(names):
    for name in names or ["convnet", "vq"]:
        result = {"case": name, "made_by": f"state_golden.py, PyTorch {torch.__version__.split('+')[0]}"}
        for dtype, ending in ((torch.float32, ""), (torch.float64, "_f64")):
            values = train(name, dtype)
            result.update(zip((key + ending for key in ("losses", "grad_norms", "val_losses")), values))
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".json"), "w") as out:
            json.dump(result, out, indent=1)
            out.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
