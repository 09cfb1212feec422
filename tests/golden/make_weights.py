#!/usr/bin/env python3
"""Start weights and data of the golden runs, made from integers: the same bits on every machine, without any library.

usage: make_weights.py CASE FOLDER    writes FOLDER/CASE.safetensors and FOLDER/CASE.bin (tokens) or .csv (rows)
       make_weights.py --list

The formula. Element i (row-major, in the shape listed below) of the tensor called `name` is

    j = i mod 1_000_003                                     a prime: rows of a matrix do not line up with the period
    h = hash32(crc32(name) + j * 0x9E3779B1 mod 2^32)       see hash32
    w = base + std * sqrt(3) * ((h >> 8) / 2^23 - 1)        computed in f64, rounded once to f32

so w is uniform around `base` with standard deviation `std`. The scales are those of GPT-2's initialisation, except that
biases are not zero and gains not one, so that a program that confuses two of them has other losses.

Token i of a token file is floor(vocab * (h / 2^32)^3) with h = hash32(crc32("tokens") + i * 0x9E3779B1): small numbers
are common, as in text, so that there is something to learn. Batches are read in file order, not shuffled: row r of the
run holds tokens r * seq to r * seq + seq, the last one only as a target.
"""

import array
import json
import math
import os
import struct
import sys
import zlib

PERIOD = 1_000_003
STEP = 0x9E3779B1
MASK = 0xFFFFFFFF


def hash32(h):
    """Mixes 32 bits: two rounds of multiply and shift."""
    h ^= h >> 16
    h = h * 0x21F0AAAD & MASK
    h ^= h >> 15
    h = h * 0x735A2D97 & MASK
    return h ^ h >> 15


def uniform_bits(name, count):
    seed = zlib.crc32(name.encode())
    return [hash32(seed + i * STEP & MASK) for i in range(count)]


def tensor_values(name, count, std, base=0.0):
    """The f32 values of one tensor, as array('f')."""
    scale = std * math.sqrt(3.0)
    period = array.array(
        "f", [base + scale * ((h >> 8) / 2.0**23 - 1.0) for h in uniform_bits(name, min(count, PERIOD))]
    )
    whole, rest = divmod(count, len(period))
    return period * whole + period[:rest]


def tokens(count, vocab):
    return [vocab * h**3 >> 96 for h in uniform_bits("tokens", count)]


class Gpt2:
    """A GPT-2 of the given sizes: the list of its tensors is the list of the model file's parameters."""

    def __init__(self, layers, heads, head_size, vocab, context, batch, seq, std, rate):
        self.layers, self.heads, self.head_size = layers, heads, head_size
        self.vocab, self.context, self.batch, self.seq = vocab, context, batch, seq
        self.embed = heads * head_size
        self.ff = 4 * self.embed
        self.std, self.rate = std, rate
        self.rows = 64

    def tensors(self):
        """name -> (shape, std, base); the shape in the axis order of the model file."""
        l, e, f, h, d = self.layers, self.embed, self.ff, self.heads, self.head_size
        std, small = self.std, self.std / math.sqrt(2 * l)
        gain, bias = (0.1, 1.0), (0.02, 0.0)
        return {
            "wte": ((self.vocab, e), std, 0.0),
            "wpe": ((self.context, e), std / 2, 0.0),
            "h.ln_1.g": ((l, e), *gain),
            "h.ln_1.b": ((l, e), *bias),
            "h.attn.wq": ((l, e, h, d), std, 0.0),
            "h.attn.wk": ((l, e, h, d), std, 0.0),
            "h.attn.wv": ((l, e, h, d), std, 0.0),
            "h.attn.wo": ((l, h, d, e), small, 0.0),
            "h.attn.bq": ((l, h, d), *bias),
            "h.attn.bk": ((l, h, d), *bias),
            "h.attn.bv": ((l, h, d), *bias),
            "h.attn.bo": ((l, e), *bias),
            "h.ln_2.g": ((l, e), *gain),
            "h.ln_2.b": ((l, e), *bias),
            "h.mlp.up": ((l, e, f), std, 0.0),
            "h.mlp.b_up": ((l, f), *bias),
            "h.mlp.down": ((l, f, e), small, 0.0),
            "h.mlp.b_down": ((l, e), *bias),
            "ln_f.g": ((e,), *gain),
            "ln_f.b": ((e,), *bias),
        }

    def write_data(self, stem):
        write_tokens(stem + ".bin", tokens(self.rows * self.seq + 1, self.vocab))


class HuggingFaceGpt2(Gpt2):
    """The same model with the names and shapes of Hugging Face's GPT2LMHeadModel. The masks, which older files contain,
    are in the file but are no parameters."""

    map = "hf:gpt2"

    def tensors(self):
        e, f, std, small = self.embed, self.ff, self.std, self.std / math.sqrt(2 * self.layers)
        gain, bias = (0.1, 1.0), (0.02, 0.0)
        found = {
            "transformer.wte.weight": ((self.vocab, e), std, 0.0),
            "transformer.wpe.weight": ((self.context, e), std / 2, 0.0),
        }
        for layer in range(self.layers):
            h = f"transformer.h.{layer}."
            found |= {
                h + "ln_1.weight": ((e,), *gain),
                h + "ln_1.bias": ((e,), *bias),
                h + "attn.bias": ((1, 1, self.context, self.context), 1.0, 0.0),
                h + "attn.c_attn.weight": ((e, 3 * e), std, 0.0),
                h + "attn.c_attn.bias": ((3 * e,), *bias),
                h + "attn.c_proj.weight": ((e, e), small, 0.0),
                h + "attn.c_proj.bias": ((e,), *bias),
                h + "ln_2.weight": ((e,), *gain),
                h + "ln_2.bias": ((e,), *bias),
                h + "mlp.c_fc.weight": ((e, f), std, 0.0),
                h + "mlp.c_fc.bias": ((f,), *bias),
                h + "mlp.c_proj.weight": ((f, e), small, 0.0),
                h + "mlp.c_proj.bias": ((e,), *bias),
            }
        return found | {"transformer.ln_f.weight": ((e,), *gain), "transformer.ln_f.bias": ((e,), *bias)}

    @staticmethod
    def is_parameter(name):
        return not name.endswith(".attn.bias")

    @staticmethod
    def is_weight(name):
        return name.endswith(".weight") and ".ln_" not in name


class HuggingFaceLlama:
    """A LLaMA of the given sizes, with the names and shapes of Hugging Face's LlamaForCausalLM."""

    map = "hf:llama"
    base, epsilon = 10_000.0, 1e-5

    def __init__(self, layers, kv_heads, group, head_size, wide, vocab, batch, seq, std, peak, total):
        self.layers, self.kv_heads, self.group, self.head_size = layers, kv_heads, group, head_size
        self.wide, self.vocab, self.batch, self.seq, self.std = wide, vocab, batch, seq, std
        self.peak, self.total = peak, total
        self.embed = kv_heads * group * head_size
        self.rows = 64

    def rate(self, step):
        """warmup_cosine of the language, without a warmup; steps count from 0."""
        return self.peak * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * step / self.total)))

    def tensors(self):
        e, f, kv, std = self.embed, self.wide, self.kv_heads * self.head_size, self.std
        small, gain = self.std / math.sqrt(2 * self.layers), (0.1, 1.0)
        found = {"model.embed_tokens.weight": ((self.vocab, e), std, 0.0)}
        for layer in range(self.layers):
            h = f"model.layers.{layer}."
            found |= {
                h + "input_layernorm.weight": ((e,), *gain),
                h + "self_attn.q_proj.weight": ((e, e), std, 0.0),
                h + "self_attn.k_proj.weight": ((kv, e), std, 0.0),
                h + "self_attn.v_proj.weight": ((kv, e), std, 0.0),
                h + "self_attn.o_proj.weight": ((e, e), small, 0.0),
                h + "post_attention_layernorm.weight": ((e,), *gain),
                h + "mlp.gate_proj.weight": ((f, e), std, 0.0),
                h + "mlp.up_proj.weight": ((f, e), std, 0.0),
                h + "mlp.down_proj.weight": ((e, f), small, 0.0),
            }
        return found | {"model.norm.weight": ((e,), *gain), "lm_head.weight": ((self.vocab, e), std, 0.0)}

    @staticmethod
    def is_parameter(name):
        return True

    @staticmethod
    def is_weight(name):
        return "norm" not in name

    def write_data(self, stem):
        write_tokens(stem + ".bin", tokens(self.rows * self.seq + 1, self.vocab))


class Perceptron:
    """Eight numbers to four classes through sixteen rectified units; the data are drawn from the same formula."""

    batch, features, hidden, classes, rows, rate = 8, 8, 16, 4, 128, 0.1

    def tensors(self):
        return {
            "w1": ((self.features, self.hidden), 0.5, 0.0),
            "b1": ((self.hidden,), 0.1, 0.0),
            "w2": ((self.hidden, self.classes), 0.3, 0.0),
            "b2": ((self.classes,), 0.1, 0.0),
        }

    def table(self):
        """Rows of (features, class). A feature is a multiple of 1/64, exact in text; the class says which quarter the
        first two features' signs point to."""
        bits = uniform_bits("perceptron", self.rows * self.features)
        rows = []
        for r in range(self.rows):
            x = [(h >> 24) / 64.0 - 2.0 for h in bits[r * self.features : (r + 1) * self.features]]
            rows.append((x, 2 * (x[0] > 0) + (x[1] > 0)))
        return rows

    def write_data(self, stem):
        with open(stem + ".csv", "w") as out:
            out.write(",".join([f"x{i}" for i in range(self.features)] + ["class"]) + "\n")
            for x, label in self.table():
                out.write(",".join(repr(v) for v in x) + f",{label}\n")


class Convnet:
    """Three convolutions with batch norm, two of them as equal layers. The states begin as those of a model that was
    trained before would: at other values than 0 and 1."""

    batch, rows, columns, channels, maps, classes, layers, rate, momentum = 8, 6, 6, 2, 4, 3, 2, 0.05, 0.9

    def tensors(self):
        maps, layers = (self.maps,), (self.layers, self.maps)
        norm = {"g": (0.1, 1.0), "b": (0.1, 0.0), "mu": (0.2, 0.0), "var": (0.2, 1.0)}
        return {
            "first.w": ((3, 3, self.channels, self.maps), 0.3, 0.0),
            **{f"bn_in.{name}": (maps, *start) for name, start in norm.items()},
            "conv.w": ((self.layers, 3, 3, self.maps, self.maps), 0.2, 0.0),
            **{f"bn.{name}": (layers, *start) for name, start in norm.items()},
            "head": ((self.maps, self.classes), 0.5, 0.0),
            "offset": ((self.classes,), 0.1, 0.0),
        }

    def table(self, name, count):
        """Rows of (pixels, class): the class is the third of the image with the largest sum."""
        size = self.rows * self.columns * self.channels
        bits = uniform_bits(name, count * size)
        images = [[(h >> 24) / 64.0 - 2.0 for h in bits[i * size : (i + 1) * size]] for i in range(count)]
        third = size // 3
        sums = [[sum(image[c * third : (c + 1) * third]) for c in range(3)] for image in images]
        return [(image, of.index(max(of))) for image, of in zip(images, sums)]

    def write_data(self, stem):
        for name, count in (("convnet", 80), ("convnet-val", 20)):
            with open(os.path.join(os.path.dirname(stem), name + ".csv"), "w") as out:
                for pixels, label in self.table(name, count):
                    out.write(",".join(repr(v) for v in pixels) + f",{label}\n")


class Vq:
    """An autoencoder whose latent vectors are replaced by the nearest of five codes; the codes are moving averages."""

    batch, features, latents, codes, rate = 8, 8, 3, 5, 0.2

    def tensors(self):
        return {
            "encode": ((self.features, self.latents), 0.4, 0.0),
            "shift": ((self.latents,), 0.1, 0.0),
            "quantize.count": ((self.codes,), 0.3, 1.0),
            "quantize.total": ((self.codes, self.latents), 1.0, 0.0),
            "decode": ((self.latents, self.features), 0.4, 0.0),
            "offset": ((self.features,), 0.1, 0.0),
        }

    def table(self, name, count):
        bits = uniform_bits(name, count * self.features)
        return [
            [(h >> 24) / 64.0 - 2.0 for h in bits[i * self.features : (i + 1) * self.features]] for i in range(count)
        ]

    def write_data(self, stem):
        for name, count in (("vq", 80), ("vq-val", 20)):
            with open(os.path.join(os.path.dirname(stem), name + ".csv"), "w") as out:
                for row in self.table(name, count):
                    out.write(",".join(repr(v) for v in row) + "\n")


CASES = {
    "gpt2-124m": Gpt2(
        layers=12, heads=12, head_size=64, vocab=50257, context=1024, batch=4, seq=64, std=0.02, rate=3e-4
    ),
    "gpt2-tiny": Gpt2(layers=2, heads=2, head_size=8, vocab=64, context=16, batch=2, seq=16, std=0.15, rate=1e-2),
    "hf-gpt2-tiny": HuggingFaceGpt2(
        layers=2, heads=2, head_size=8, vocab=64, context=16, batch=2, seq=16, std=0.15, rate=1e-2
    ),
    "hf-llama-tiny": HuggingFaceLlama(
        layers=2, kv_heads=2, group=3, head_size=8, wide=40, vocab=64, batch=2, seq=16, std=0.15, peak=1e-2, total=20
    ),
    "perceptron": Perceptron(),
    "convnet": Convnet(),
    "vq": Vq(),
}


def case_tensors(case):
    """Yields (name, shape, values) of every parameter."""
    for name, (shape, std, base) in CASES[case].tensors().items():
        yield name, shape, tensor_values(name, math.prod(shape), std, base)


def write_safetensors(path, case):
    header, at = {}, 0
    for name, (shape, _, _) in CASES[case].tensors().items():
        end = at + 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for _, _, values in case_tensors(case):
            if sys.byteorder == "big":
                values.byteswap()
            values.tofile(out)


def write_tokens(path, ids):
    """A token file with the header of 256 int32: magic, version, count; then uint16."""
    with open(path, "wb") as out:
        out.write(struct.pack("<256i", 20240520, 1, len(ids), *[0] * 253))
        out.write(struct.pack(f"<{len(ids)}H", *ids))


def main(args):
    if args == ["--list"]:
        print("\n".join(CASES))
        return 0
    if len(args) != 2 or args[0] not in CASES:
        print(__doc__, file=sys.stderr)
        return 2
    case, folder = args
    os.makedirs(folder, exist_ok=True)
    write_safetensors(os.path.join(folder, case + ".safetensors"), case)
    CASES[case].write_data(os.path.join(folder, case))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
