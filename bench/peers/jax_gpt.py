#!/usr/bin/env python3
"""Training steps of a GPT in JAX on the CPU, as a peer for the benchmarks.

usage: jax_gpt.py --data FILE --vocab V --depth L --width E --heads H --context C --batch B --seq S --rate R …

The model of torch_gpt.py, with jax.numpy alone. The layers are unrolled: XLA fuses across them and compiles longer.
"""

import gpt_options
import jax
import jax.numpy as jnp
import jax_steps
import numpy
import peer_run


def initial(o):
    draw = numpy.random.default_rng(1)

    def matrix(name, *shape):
        return jnp.asarray(draw.normal(0, gpt_options.deviation(name, o), shape).astype(numpy.float32))

    def linear(name, fan_in, fan_out, biased=True):
        return {"w": matrix(name, fan_in, fan_out), **({"b": jnp.zeros(fan_out)} if biased else {})}

    def norm():
        return {"g": jnp.ones(o.width), "b": jnp.zeros(o.width)}

    def block():
        return {
            "ln_1": norm(), "qkv": linear("qkv", o.width, 3 * o.width, o.attention_biases),
            "out": linear("out", o.width, o.width, o.attention_biases), "ln_2": norm(),
            "up": linear("up", o.width, 4 * o.width), "down": linear("down", 4 * o.width, o.width),
        }  # fmt: skip

    embeddings = {"wte": matrix("wte", o.vocab, o.width), "wpe": matrix("wpe", o.context, o.width)}
    return {**embeddings, "blocks": [block() for _ in range(o.depth)], "ln_f": norm()}


def linear(x, p):
    y = x @ p["w"]
    return y + p["b"] if "b" in p else y


def layer_norm(x, p):
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-5) * p["g"] + p["b"]


def block(x, p, heads):
    batch, seq, width = x.shape
    qkv = linear(layer_norm(x, p["ln_1"]), p["qkv"]).reshape(batch, seq, 3, heads, width // heads)
    mixed = jax.nn.dot_product_attention(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], is_causal=True)
    x = x + linear(mixed.reshape(batch, seq, width), p["out"])
    return x + linear(jax.nn.gelu(linear(layer_norm(x, p["ln_2"]), p["up"]), approximate=True), p["down"])


def main():
    options = gpt_options.parse(__doc__, jax_steps.MODES)

    def loss_of(parameters, step, tokens, target):
        x = parameters["wte"][tokens] + parameters["wpe"][: tokens.shape[1]]
        for p in parameters["blocks"]:
            x = block(x, p, options.heads)
        logits = layer_norm(x, parameters["ln_f"]) @ parameters["wte"].T
        right = jnp.take_along_axis(logits, target[..., None], axis=-1)[..., 0]
        return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - right)

    jax_steps.train(initial(options), loss_of, peer_run.token_batches(options, numpy.int32), options)


if __name__ == "__main__":
    main()
