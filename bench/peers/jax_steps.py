"""Training steps in JAX on the CPU: own AdamW and clipping by the global norm, one jitted step, donated buffers.

In mode `jit` Python calls the step once a batch; in mode `scan` a block of steps is one call with the loop inside.
"""

import os
import sys

# XLA makes as many threads as there are processors to run on, and it asks at import.
if "--threads" in sys.argv:
    wanted = int(sys.argv[sys.argv.index("--threads") + 1])
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:wanted])

import jax
import jax.numpy as jnp
import peer_run

MODES = ("jit", "scan")
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_default_prng_impl", "rbg")  # the faster of its generators; dropout draws from it


def rate_at(step, o):
    """As in peer_run, of a step that is traced."""
    if not o.total:
        return o.rate
    along = jnp.clip((step - o.warmup) / max(o.total - o.warmup, 1), 0.0, 1.0)
    falling = 0.1 + 0.9 * 0.5 * (1 + jnp.cos(jnp.pi * along))
    return o.rate * jnp.where(step < o.warmup, (step + 1) / max(o.warmup, 1), falling)


def adamw(parameter, gradient, first, second, step, o):
    """A tensor after a step, counted from 0, and its two moments."""
    beta1, beta2 = o.betas
    first = beta1 * first + (1 - beta1) * gradient
    second = beta2 * second + (1 - beta2) * gradient**2
    mean, variance = first / (1 - beta1 ** (step + 1.0)), second / (1 - beta2 ** (step + 1.0))
    decay = o.decay if parameter.ndim >= 2 else 0.0
    rate = rate_at(step, o)
    return parameter - rate * (mean / (jnp.sqrt(variance) + 1e-8) + decay * parameter), first, second


def make_step(loss_of, o):
    """One step: (state, batch) to (state, loss); the state is (parameters, first moments, second moments, step)."""

    def step(state, batch):
        parameters, first, second, count = state
        loss, gradients = jax.value_and_grad(loss_of)(parameters, count, *batch)
        if o.clip:
            norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradients)))
            scale = jnp.minimum(1.0, o.clip / (norm + 1e-6))
            gradients = jax.tree.map(lambda g: g * scale, gradients)
        updated = jax.tree.map(lambda p, g, m, v: adamw(p, g, m, v, count, o), parameters, gradients, first, second)
        outer, inner = jax.tree.structure(parameters), jax.tree.structure((0, 0, 0))
        return (*jax.tree.transpose(outer, inner, updated), count + 1), loss

    return step


def train(parameters, loss_of, batches, options):
    """`loss_of(parameters, step, *batch)` is the loss; parameters are a tree of arrays."""
    step = make_step(loss_of, options)
    zeros = [jax.tree.map(jnp.zeros_like, parameters) for _ in range(2)]
    state = (parameters, *zeros, jnp.zeros((), jnp.int32))
    one = jax.jit(step, donate_argnums=0)
    whole = jax.jit(lambda state, block: jax.lax.scan(step, state, block), donate_argnums=0)

    def advance(block):
        nonlocal state
        if options.mode == "scan":
            state, losses = whole(state, jax.tree.map(lambda *arrays: jnp.stack(arrays), *block))
            return losses[-1]
        for batch in block:
            state, loss = one(state, batch)
        return loss

    peer_run.run(options, sum(leaf.size for leaf in jax.tree.leaves(parameters)), batches, advance)
