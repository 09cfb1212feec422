"""The part that sets memory against time: our programs within budgets beside PyTorch's ways to recompute."""

import concurrent.futures
import os

import speed_parts
import suite as suites

# By PyTorch's mode: values of torch_gpt.py's `--recompute`.
PEERS = {
    "eager": ("none", "layer", "selective"),
    "compiled": ("none", "layer", "selective", "0.75", "0.5", "0.25", "0"),
}
COMPILED_AT_ONCE = 4  # before the first turn, so that turns find what torch.compile generates
COMPILE_SHARE = 0.35  # of the part's time


def torch_command(suite, entry, mode, recompute, blocks):
    return [*speed_parts.torch_command(suite, entry, mode, blocks), "--recompute", recompute]


def generate(suite, entry):
    """Runs one step of each compiled peer, some at a time."""
    limit = COMPILE_SHARE * suite.left()
    environment = {**os.environ, **speed_parts.torch_caches(suite)}

    def one(recompute):
        command = torch_command(suite, entry, "compiled", recompute, 1)
        return suite.run_other(["env", *(f"{k}={v}" for k, v in environment.items()), *command], limit)

    with concurrent.futures.ThreadPoolExecutor(COMPILED_AT_ONCE) as pool:
        list(pool.map(one, PEERS["compiled"]))


def turns_of(entries):
    """Ours and PyTorch's alternate, so that both see the device at all times."""
    ours = [{"name": entry["name"], "of": entry} for entry in entries]
    theirs = [
        {"name": f"PyTorch {mode}, {recompute}", "mode": mode, "recompute": recompute}
        for mode, values in PEERS.items()
        for recompute in values
    ]
    for number in range(max(len(ours), len(theirs))):
        yield from ours[number : number + 1] + theirs[number : number + 1]


def beaten(runs):
    """Names of PyTorch's points that have both less memory and less time than each point of ours."""
    points = [run for run in runs if run.get("taken_bytes") and run.get("seconds")]
    ours = [run for run in points if not run["name"].startswith("PyTorch")]

    def is_better(peer, own):
        return peer["taken_bytes"] <= own["taken_bytes"] and peer["seconds"] <= own["seconds"]

    return [
        f"{peer['name']} beats {own['name']}"
        for peer in points if peer not in ours
        for own in ours if is_better(peer, own)
    ]  # fmt: skip


def memory(suite):
    """GPT-2 124M: seconds a step and memory taken, of each plan and of each of the peer's settings."""
    entries = [entry for entry in suite.chosen("timed") if entry["beside"] == "memory"]
    if not entries:
        raise suites.Skipped("no program of this part was chosen")
    try:
        torch = speed_parts.torch_version(suite)
        generate(suite, entries[0])
    except suites.Skipped as reason:
        torch = reason

    def one(turn):
        if "of" in turn:
            return {**speed_parts.ours_or_reason(suite, turn["of"]), "name": turn["name"]}
        if isinstance(torch, suites.Skipped):
            raise torch
        command = torch_command(suite, entries[0], turn["mode"], turn["recompute"], 1_000_000)
        return {**speed_parts.torch_run(suite, entries[0], command), "name": turn["name"]}

    version = f"not used: {torch}" if isinstance(torch, suites.Skipped) else torch
    result = suite.each(
        list(turns_of(entries)), one, speed_parts.step_lines, [f"PyTorch {version}", speed_parts.HEAD]
    )
    result["ok"] = all(run.get("ok", True) for run in result["runs"] if not run["name"].startswith("PyTorch"))
    better = beaten(result["runs"])
    result.update(torch=version, answer="; ".join(better) or "no point of PyTorch's has less of both than one of ours")
    result["lines"].append(result["answer"])
    return result
