"""What the folder for a machine with a GPU holds: training runs that are compared, and steps that are timed."""

import dataclasses
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import workloads  # noqa: E402

# Relative, of losses and of gradient norms: up to step FIRST_STEPS, and later. A processor and a GPU add up in other
# orders; in 16 bits that moves roundings, and training makes more of every difference: mnist in bf16 goes from 1e-7 to
# 3e-3 within 20 steps, at four times the rate to 2e-2. So the first steps are the sharp test; 2 % later is what
# tests/golden allows.
FIRST_STEPS = 5
TOLERANCES = {
    "f32": ((2e-5, 2e-4), (1e-4, 1e-3)),
    "bf16": ((2e-3, 2e-2), (2e-2, 1e-1)),
    "fp16": ((2e-3, 2e-2), (2e-2, 1e-1)),
}

EVERY_GPU = ("sm_80", "sm_90a", "sm_100a", "compute_80")
TIMED_GPU = ("sm_90a",)
PORTABLE = "x86-64-v3"  # host code of a program for a GPU runs on another processor than this one


@dataclasses.dataclass(frozen=True)
class Training:
    """A program that trains here on the processor and there on the GPU, with the same seed and data."""

    name: str
    model: str  # from the root of the repository
    settings: dict  # `--set`
    data: tuple  # values of `--data`, from the root of the folder
    precision: str
    targets: tuple = EVERY_GPU
    steps: int = 20


@dataclasses.dataclass(frozen=True)
class Timed:
    """GPT-2 of a batch whose steps are timed, alone and beside peers."""

    name: str
    workload: workloads.Workload
    preset: tuple
    precision: str
    rows: int
    length: int
    block: int  # steps from one reading of the clock to the next
    skip: int  # blocks that are not counted
    blocks: int  # blocks that are
    variant: str = ""  # what is different from the one of the same batch and type; such a one is not run beside peers
    options: tuple = ()  # of `compile`
    environment: tuple = ()  # pairs


def trainings():
    # Rates move the losses within these few steps: the schedules of the examples begin at some hundredth of their peak.
    few = {"evaluate.batches": 2}
    bytes_sizes = {"depth": 2, "heads": 2, "head_size": 32, "d.batch": 4}
    tokens_sizes = {"depth": 2, "heads": 1, "head_size": 64, "context": 128, "d.batch": 4, "d.seq": 100}
    examples = (
        ("regression", "examples/01-regression.tsr", {}, ("line.csv",)),
        ("digits", "examples/02-digits.tsr", {}, ("digits.csv",)),
        ("byte-gpt", "examples/03-byte-gpt.tsr", {**bytes_sizes, **few}, ("text.txt",)),
        (  # a length that is no multiple of a tile's, and dropout inside of attention
            "gpt2", "examples/04-gpt2.tsr", {**tokens_sizes, "drop": 0.1, "peak": 0.02, **few},
            ("tokens.bin", "val=tokens.bin"),
        ),
        ("mnist", "examples/05-mnist.tsr", {"peak": 0.005}, ("image=images.idx.gz", "label=labels.idx.gz")),
    )  # fmt: skip
    for name, model, settings, data in examples:
        for precision in TOLERANCES:
            yield Training(f"{name} {precision}", model, settings, data, precision)
    # As on a GPU that is younger than the compiler: PTX alone.
    for name, model, settings, data in examples[1:3]:
        for precision in ("f32", "bf16"):
            yield Training(f"{name} {precision} PTX", model, settings, data, precision, ("compute_80",))


def gpt2(rows, precision):
    """GPT-2 124M; the clock is read about every 32 rows."""
    workload = workloads.gpt2(rows, 1024)
    block = max(1, 32 // rows)
    return Timed(f"gpt2 {precision} {rows}x1024", workload, (), precision, rows, 1024, block, skip=4, blocks=16)


def variants(one):
    """Without what may cost more than it gives: that can only be seen on the device."""
    for variant, options, environment in (
        ("one behind the other", (), (("TESSERA_CUDA_IN_ORDER", "1"),)),
        ("GELU by kernels", ("--gemm-epilogues", "bias"), ()),
    ):
        name = f"{one.name}, {variant}"
        yield dataclasses.replace(one, name=name, variant=variant, options=options, environment=environment)


def timed():
    """In the order of importance; the first is profiled too."""
    yield gpt2(32, "bf16")
    yield gpt2(16, "tf32")
    yield gpt2(16, "bf16")
    yield from variants(gpt2(16, "bf16"))
    yield gpt2(16, "f32")
    yield gpt2(4, "bf16")
    yield gpt2(8, "bf16")
    yield gpt2(64, "bf16")


def smoke_trainings():
    """For tests/e2e/gpu-suite.test: what an emulated GPU does in seconds."""
    small = {"digits.batch": 8, "width": 16, "evaluate.batches": 1}
    digits = ("digits", "examples/02-digits.tsr", small, ("digits.csv",))
    for precision in ("f32", "bf16"):
        name, model, settings, data = digits
        yield Training(f"{name} {precision}", model, settings, data, precision, ("sm_90a",), steps=7)


def smoke_timed():
    workload = dataclasses.replace(workloads.gpt2(2, 16), settings={})
    one = Timed("gpt2 bf16 2x16", workload, ("--preset", "tiny"), "bf16", 2, 16, block=1, skip=1, blocks=3)
    yield one
    yield from variants(one)
