#!/usr/bin/env python3
"""Trains one golden case for ten steps and compares losses and gradient norms with the stored ones.

usage: run.py CASE TESSERA FOLDER      TESSERA: the compiler; FOLDER: where weights, data and the program are written

CASE-bf16 computes in bf16 and is compared with PyTorch's autocast: losses within 0.02, norms within 2 %.

The tolerance of f32, 1e-5, is between the effect of f32's rounding on these losses (2e-7 in the small cases, see
`losses_f64` in their JSON files; 1.4e-6 in five steps of gpt2-124m) and the smallest effect of a mistake: in gpt2-tiny,
erf for tanh in GELU changes a loss by 3e-5, no decay by 1.5e-3, decay of biases and gains by 1.7e-3, betas (0.9, 0.999)
by 3e-3, no clipping by 4e-2. hf-llama-tiny amplifies rounding more (1.5e-6 in PyTorch, 9e-6 between PyTorch and this
compiler's exp, sin and cos), and is allowed 5e-5.

convnet and vq have states. Their evaluations, at steps 0, 5 and 10, are compared too.
"""

import json
import os
import shutil
import subprocess
import sys

import make_weights

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from safetensors_file import read_tensors  # noqa: E402

TOLERANCES = {"f32": (1e-5, 1e-5), "bf16": (0.02, 0.02)}  # absolute for losses, relative for gradient norms
TOLERANCES["hf-llama-tiny"] = (5e-5, 5e-5)
LLAMA = "depth=2 kv_heads=2 group=3 head_size=8 wide=40 words=64 context=16 peak=0.01 warmup=0 steps=20"
LLAMA += " d.batch=2 d.seq=16 d.shuffle=false"
CASES = {  # model file, options of the compiler, ending of the data file; without it the model file names the data
    "gpt2-124m": ("gpt2.tsr", [], ".bin"),
    "gpt2-tiny": ("gpt2.tsr", ["--preset", "tiny"], ".bin"),
    "hf-gpt2-tiny": ("gpt2.tsr", ["--preset", "tiny"], ".bin"),
    "hf-llama-tiny": ("../../examples/07-llama.tsr", [f"--set={value}" for value in LLAMA.split()], ".bin"),
    "perceptron": ("perceptron.tsr", [], ".csv"),
    "convnet": ("convnet.tsr", [], None),
    "vq": ("vq.tsr", [], None),
}


def check_round_trip(program, case, stem):
    """What is imported and exported with the map of the case has the same parameters, bit for bit."""
    kind, checkpoints, copy = make_weights.CASES[case], stem + "-imported", stem + "-exported.safetensors"
    shutil.rmtree(checkpoints, ignore_errors=True)
    subprocess.run([program, "import", stem + ".safetensors", "--map", kind.map, "-o", checkpoints], check=True)
    subprocess.run([program, "export", copy, "--map", kind.map, "--checkpoint", checkpoints], check=True)
    expected = {name: t for name, t in read_tensors(stem + ".safetensors").items() if kind.is_parameter(name)}
    if read_tensors(copy) != expected:
        sys.exit(f"{copy} differs from {stem}.safetensors")
    print(f"{len(expected)} tensors are the same after import and export")


def train(case, precision, tessera, folder):
    """What the compiled program reports of each step, a list of (loss, gradient norm or None), and the losses of its
    evaluations."""
    model, options, ending = CASES[case]
    folder = os.path.abspath(os.path.join(folder, precision))
    make_weights.main([case, folder])
    stem = os.path.join(folder, case)
    program, metrics = stem + ".program", stem + ".jsonl"
    options = [*options, "--target=cpu", "--no-cache", "--precision", precision]
    compile = [tessera, "compile", os.path.join(HERE, model), *options, "-o", program]
    subprocess.run(compile, check=True)
    data = ["--data", stem + ending] if ending else []
    command = [program, "train", *data, "--init", stem + ".safetensors", "--steps", "10"]
    if hasattr(make_weights.CASES[case], "map"):
        check_round_trip(program, case, stem)
        command += ["--map", make_weights.CASES[case].map]
    if "llama" in case:
        command += ["--data", f"val={stem}{ending}", "--checkpoint-dir", stem + "-run", "--resume", "never"]
        shutil.rmtree(stem + "-run", ignore_errors=True)
    subprocess.run([*command, "--metrics", metrics, "--quiet"], check=True, cwd=folder)
    with open(metrics) as lines:
        records = [json.loads(line) for line in lines]
    steps = [(r["total"], r.get("grad_norm")) for r in records if r["split"] == "train"]
    return steps, [r["total"] for r in records if r["split"] == "val"]


def main(args):
    if len(args) != 3 or args[0].removesuffix("-bf16") not in CASES:
        print(__doc__, file=sys.stderr)
        return 2
    name, tessera, folder = args
    case, precision = name.removesuffix("-bf16"), "bf16" if name.endswith("-bf16") else "f32"
    with open(os.path.join(HERE, name + ".json")) as file:
        stored = json.load(file)
    golden = list(zip(stored["losses"], stored["grad_norms"]))
    steps, evaluations = train(case, precision, tessera, folder)
    expected = stored.get("val_losses", [])
    if not expected:
        evaluations = []  # nothing stored: the case is about its steps
    if (len(steps), len(evaluations)) != (len(golden), len(expected)):
        print(f"expected {len(golden)} steps and {len(expected)} evaluations, got {len(steps)} and {len(evaluations)}")
        return 1

    print("step  loss         off by     gradient norm  off by (relative)")
    worst_loss = worst_norm = 0.0
    for number, ((loss, norm), (got_loss, got_norm)) in enumerate(zip(golden, steps), start=1):
        loss_error = got_loss - loss
        norm_error = got_norm / norm - 1 if got_norm is not None else 0.0  # reported where the model clips
        worst_loss, worst_norm = max(worst_loss, abs(loss_error)), max(worst_norm, abs(norm_error))
        print(f"{number:4}  {loss:.9f}  {loss_error:+.1e}   {norm:12.9f}   {norm_error:+.1e}")
    for loss, got_loss in zip(expected, evaluations):
        worst_loss = max(worst_loss, abs(got_loss - loss))
        print(f" val  {loss:.9f}  {got_loss - loss:+.1e}")
    of_losses, of_norms = TOLERANCES.get(name) or TOLERANCES[precision]
    print(f"worst {worst_loss:.1e} and {worst_norm:.1e}, allowed {of_losses:.0e} and {of_norms:.0e}")
    return 0 if worst_loss <= of_losses and worst_norm <= of_norms else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
