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

TARGETS = ("sm_90a", "compute_80")  # code of Hopper; other GPUs translate PTX when a program starts
PTX = ("compute_80",)
TIMED_GPU = ("sm_90a",)
VOCABULARY, PADDED = 50_257, 50_304  # words of GPT-2; a multiple of 128 that many train it with
# GiB of the device, for GPT-2 of 16 × 1024 in bf16; and where the logits are computed in parts.
BUDGETS, SMALL_BUDGETS = (6.5, 5.5, 4.8, 4.3), (4.5, 3.5)
EVALUATE, GENERATE = (("eval",),), ("generate", "--length", "4", "--temperature", "0")
PORTABLE = "x86-64-v3"  # host code of a program for a GPU runs on another processor than this one


@dataclasses.dataclass(frozen=True)
class Training:
    """A program that trains here on the processor and there on the GPU, with the same seed and data."""

    name: str
    model: str  # from the root of the repository
    settings: dict  # `--set`
    data: tuple  # values of `--data`, from the root of the folder
    precision: str
    targets: tuple = TARGETS
    steps: int = 20
    afterwards: tuple = ()  # commands that read its checkpoint, each with its options
    is_saved: bool = True  # whether it is one of those that are saved and resumed
    options: tuple = ()  # of `compile`
    ranks: int = 1


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
    beside: str = "later"  # peers run beside it in: `first`, the part `speed`; `later`, `peers`; `memory`; empty: none
    variant: str = ""  # what is different from the one of the same batch and type
    is_equal: bool = False  # whether a variant computes the same bits
    options: tuple = ()  # of `compile`
    environment: tuple = ()  # pairs


def trainings():
    # Rates move the losses within these few steps: the schedules of the examples begin at some hundredth of their peak.
    few = {"evaluate.batches": 2}
    bytes_sizes = {"depth": 2, "heads": 2, "head_size": 32, "d.batch": 4}
    tokens_sizes = {"depth": 2, "heads": 1, "head_size": 64, "context": 128, "d.batch": 4, "d.seq": 100}
    examples = (
        ("regression", "examples/01-regression.tsr", {}, ("line.csv",), EVALUATE),
        ("digits", "examples/02-digits.tsr", {}, ("digits.csv",), EVALUATE),
        ("byte-gpt", "examples/03-byte-gpt.tsr", {**bytes_sizes, **few}, ("text.txt",), (*EVALUATE, GENERATE)),
        (  # a length that is no multiple of a tile's, and dropout inside of attention
            "gpt2", "examples/04-gpt2.tsr", {**tokens_sizes, "drop": 0.1, "peak": 0.02, **few},
            ("tokens.bin", "val=tokens.bin"), (*EVALUATE, GENERATE),
        ),
        ("mnist", "examples/05-mnist.tsr", {"peak": 0.005}, ("image=images.idx.gz", "label=labels.idx.gz"), EVALUATE),
    )  # fmt: skip
    for name, model, settings, data, afterwards in examples:
        for precision in TOLERANCES:
            is_saved = precision != "fp16" or name == "digits"  # what fp16 adds to a checkpoint is the scale of losses
            yield Training(
                f"{name} {precision}", model, settings, data, precision, afterwards=afterwards, is_saved=is_saved
            )
    # The model that is timed, with as many tokens as a processor can wait for.
    small = {"rows": 1, "length": 256}
    yield Training(
        "gpt2-124m bf16", "tests/golden/gpt2.tsr", small, ("timed.bin",), "bf16", TIMED_GPU, steps=6, is_saved=False
    )
    # As on a GPU that is younger than the compiler: PTX alone.
    for name, model, settings, data, _ in examples[1:3]:
        for precision in ("f32", "bf16"):
            yield Training(f"{name} {precision} PTX", model, settings, data, precision, PTX, is_saved=False)


def of_ranks():
    """Some of the trainings on several ranks, in the order of importance."""
    alone = {one.name: one for one in trainings()}
    for name, ranks, options in (
        ("byte-gpt f32", 2, "--mesh data=2"),
        ("byte-gpt bf16", 4, "--mesh data=2,tensor=2 --shard head=tensor,ff=tensor"),
        ("gpt2 f32", 4, "--mesh data=2,tensor=2 --shard ff=tensor --zero 1"),
        ("gpt2 bf16", 2, "--mesh data=2 --zero 3"),
        ("byte-gpt f32", 4, "--devices 4"),
        ("digits f32", 4, "--mesh data=4"),
        ("byte-gpt f32", 2, "--mesh tensor=2 --shard seq=tensor"),
        ("gpt2-124m bf16", 2, "--mesh tensor=2 --shard head=tensor,ff=tensor"),
    ):
        one, words = alone[name], tuple(options.split())
        yield dataclasses.replace(
            one, name=f"{name} {options}", targets=TIMED_GPU, options=words, ranks=ranks, afterwards=(), is_saved=False
        )


def gpt2(rows, precision, words=None, **others):
    """GPT-2 124M; the clock is read about every 32 rows. `words`: another vocabulary than GPT-2's."""
    workload, name = workloads.gpt2(rows, 1024), f"gpt2 {precision} {rows}x1024"
    if words:
        name = f"{name}, {words} words"
        peer = tuple(str(words) if option == str(VOCABULARY) else option for option in workload.options)
        workload = dataclasses.replace(workload, settings={**workload.settings, "words": words}, options=peer)
    block = max(1, 32 // rows)
    return Timed(name, workload, (), precision, rows, 1024, block, skip=4, blocks=16, **others)


def variants(one):
    """Without what may cost more than it gives, which can only be seen on the device; and with recomputation."""
    for variant, options, environment in (
        ("one behind the other", (), (("TESSERA_CUDA_IN_ORDER", "1"),)),
        ("GELU by kernels", ("--gemm-epilogues", "bias"), ()),
        ("less memory", ("--prefer", "memory"), ()),
        ("within 8 GiB", ("--memory", "8GiB"), ()),
        ("layers recomputed", ("--remat", "layer"), ()),
    ):
        is_equal = options[:1] in (("--memory",), ("--remat",))
        yield dataclasses.replace(
            one, name=f"{one.name}, {variant}", beside="", variant=variant, options=options, environment=environment,
            is_equal=is_equal,
        )  # fmt: skip


def budgets(one):
    """Plans of one step, from the fastest to the smallest: memory against time."""
    small = ("--prefer", "memory")
    plans = [("--memory", f"{size}GiB") for size in BUDGETS]
    plans += [small, *((*small, "--memory", f"{size}GiB") for size in SMALL_BUDGETS)]
    for options in ((), *plans, ("--remat", "layer"), ("--remat", "sqrt")):
        variant = " ".join(options) or "no budget"
        yield dataclasses.replace(one, name=f"{one.name}, {variant}", beside="memory", variant=variant, options=options)


def timed():
    """In the order of importance; the first is what most parts are about."""
    yield gpt2(32, "bf16", beside="first")
    yield gpt2(32, "bf16", PADDED, beside="first")
    yield from variants(gpt2(32, "bf16"))
    yield gpt2(16, "tf32")
    yield gpt2(16, "bf16")
    yield gpt2(64, "bf16")
    yield gpt2(4, "bf16")
    yield gpt2(16, "f32", beside="")
    yield from budgets(gpt2(16, "bf16"))


def smoke_trainings():
    """For tests/e2e/gpu-suite.test: what an emulated GPU does in seconds."""
    small = {"digits.batch": 8, "width": 16, "evaluate.batches": 1}
    for precision in ("f32", "bf16"):
        yield Training(
            f"digits {precision}", "examples/02-digits.tsr", small, ("digits.csv",), precision, ("sm_90a",), steps=7,
            afterwards=EVALUATE,
        )  # fmt: skip


def smoke_of_ranks():
    one = next(iter(smoke_trainings()))
    yield dataclasses.replace(one, name=f"{one.name} --mesh data=2", options=("--mesh", "data=2"), ranks=2)


def smoke_timed():
    workload = dataclasses.replace(workloads.gpt2(2, 16), settings={})
    one = Timed("gpt2 bf16 2x16", workload, ("--preset", "tiny"), "bf16", 2, 16, block=1, skip=1, blocks=3)
    yield dataclasses.replace(one, beside="first")
    yield from variants(one)
    yield from list(budgets(one))[-2:]
