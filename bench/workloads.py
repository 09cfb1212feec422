"""What training.py measures: models with their sizes, as our compiler and as the peers take them."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    model: str  # model file, from the root of the repository
    settings: dict  # what `--set` gives it
    data: str  # option of training.py that names its data
    peer: str  # its peers are peers/torch_PEER.py and peers/jax_PEER.py
    options: tuple  # their options
    block: int  # steps from one reading of the clock to the next
    jax_modes: tuple = ("jit",)
    has_llmc: bool = False  # whether llm.c, whose batch is built in, trains the same


# Training alone: nothing is held out, evaluated or saved. The model files of the examples set both.
ALONE = {"evaluate.every": 1_000_000_000, "save.every": 1_000_000_000}


def options(**values):
    """`a_b=1` is `--a-b 1`; `a=True` is `--a`; a tuple is several words."""
    for name, value in values.items():
        yield "--" + name.replace("_", "-")
        if value is not True:
            yield from map(str, value if isinstance(value, tuple) else (value,))


def gpt2(rows, length):
    """GPT-2 124M: batches in file order, a constant rate."""
    peer = options(
        vocab=50257, depth=12, width=768, heads=12, context=1024, batch=rows, seq=length, attention_biases=True,
        rate=3e-4, betas=(0.9, 0.95), decay=0.1, clip=1.0,
    )  # fmt: skip
    settings = {"rows": rows, "length": length}
    is_built_in = (rows, length) == (4, 64)
    return Workload(
        f"gpt2-{rows}x{length}", "tests/golden/gpt2.tsr", settings, "tokens", "gpt", tuple(peer),
        block=1, has_llmc=is_built_in,
    )  # fmt: skip


def byte_gpt(name, depth, heads, head_size, block):
    """The GPT on bytes of the examples, batch 32 × 128."""
    peer = options(
        vocab=256, depth=depth, width=heads * head_size, heads=heads, context=128, batch=32, seq=128, scaled_init=True,
        shuffle=True, rate=3e-3, warmup=100, total=1500, betas=(0.9, 0.95), decay=0.1, clip=1.0,
    )  # fmt: skip
    settings = {"depth": depth, "heads": heads, "head_size": head_size, "d.val": 0, **ALONE}
    return Workload(name, "examples/03-byte-gpt.tsr", settings, "text", "gpt", tuple(peer), block)


def digits():
    peer = options(width=128, batch=32, shuffle=True, rate=5e-3, warmup=50, total=7500, decay=0.1)
    settings = {"steps": 7500, "digits.val": 0, **ALONE}
    modes = ("jit", "scan")
    return Workload(
        "digits", "examples/02-digits.tsr", settings, "digits", "perceptron", tuple(peer), block=5000, jax_modes=modes
    )


WORKLOADS = {
    workload.name: workload
    for workload in (
        gpt2(4, 64),
        gpt2(8, 128),
        gpt2(1, 1024),
        gpt2(2, 1024),
        gpt2(8, 1024),
        byte_gpt("byte-gpt-1m", depth=5, heads=4, head_size=32, block=5),
        byte_gpt("byte-gpt-3m", depth=4, heads=4, head_size=64, block=2),
        byte_gpt("byte-gpt-10m", depth=6, heads=6, head_size=64, block=1),
        digits(),
    )
}
