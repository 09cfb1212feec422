"""The options that say how large a GPT is, for the peers that are one, and its initial values."""

import peer_run


def parse(description, modes, devices=("cpu",), recomputations=()):
    """`recomputations`: what the peer's `--recompute` takes beside a share of the memory, if it has that option."""
    options = peer_run.run_options(description, modes, devices)
    if recomputations:
        options.add_argument("--recompute", default=recomputations[0], help=f"{', '.join(recomputations)}, or a share")
    for name in ("vocab", "depth", "width", "heads", "context", "seq"):
        options.add_argument("--" + name, type=int, required=True)
    options.add_argument("--attention-biases", action="store_true", help="in the projections around attention")
    options.add_argument(
        "--scaled-init", action="store_true", help="smaller values where a branch ends, as nanoGPT has them"
    )
    return options.parse_args()


def deviation(name, options):
    """Standard deviation of a matrix's initial values; `name` has `wpe`, `out` or `down` for those that may differ."""
    if options.scaled_init and "wpe" in name:
        return 0.01
    if options.scaled_init and ("out" in name or "down" in name):
        return 0.02 / (2 * options.depth) ** 0.5
    return 0.02
