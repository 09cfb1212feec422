#!/usr/bin/env python3
"""Training steps of the digits perceptron (examples/02-digits.tsr) in JAX on the CPU, as a peer for the benchmarks.

usage: jax_perceptron.py --data digits.csv --batch B --rate R …      (see --help)

The model of torch_perceptron.py, with jax.numpy alone.
"""

import jax
import jax.numpy as jnp
import jax_steps
import numpy
import peer_run


def initial(pixels, width, classes):
    draw = numpy.random.default_rng(1)

    def linear(fan_in, fan_out, deviation):
        return {
            "w": jnp.asarray(draw.normal(0, deviation, (fan_in, fan_out)).astype(numpy.float32)),
            "b": jnp.zeros(fan_out),
        }

    return {"first": linear(pixels, width, (2 / pixels) ** 0.5), "second": linear(width, classes, (1 / width) ** 0.5)}


def loss_of(parameters, step, image, label):
    first, second = parameters["first"], parameters["second"]
    hidden = jax.nn.relu(image / 16 @ first["w"] + first["b"])
    keep = jax.random.bernoulli(jax.random.fold_in(jax.random.key(1), step), 0.8, hidden.shape)
    logits = jnp.where(keep, hidden / 0.8, 0.0) @ second["w"] + second["b"]
    right = jnp.take_along_axis(logits, label[:, None], axis=-1)[:, 0]
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - right)


def main():
    options = peer_run.run_options(__doc__, jax_steps.MODES)
    options.add_argument("--width", type=int, default=128)
    options = options.parse_args()
    jax_steps.train(initial(64, options.width, 10), loss_of, peer_run.table_batches(options, numpy.int32), options)


if __name__ == "__main__":
    main()
