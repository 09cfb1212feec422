"""The parts that time whole steps: our programs alone, and beside PyTorch and llm.c, interleaved."""

import os
import re
import statistics

import processes
import suite as suites

TURN = 40.0  # seconds that one of our runs may take
PEER_TURN = 150.0  # and one of a peer: torch.compile takes its time
NAME = 52  # columns of a name
MODES = {"eager": "PyTorch eager", "compiled": "PyTorch compiled"}


def take_turn(suite, command, entry, limit, folder=None, **variables):
    """One run; device memory that it takes, of its own report and by the difference that nvidia-smi sees."""
    before, seen = suite.memory_in_use(), []
    environment = {**suite.environment, **variables}
    turn = processes.take_turn(
        command, min(limit, suite.left()), folder or suite.root, environment,
        entry["block"], entry["skip"], entry["blocks"],
        at_end=lambda: seen.append(suite.memory_in_use()),
    )  # fmt: skip
    if turn.problem and suite.left() <= 0 and turn.seconds < limit:
        raise suites.Skipped(f"{suites.NO_TIME}: ended after {turn.seconds:.0f} s and {len(turn.steps)} blocks")
    taken = seen[0] - before if seen and seen[0] is not None and before is not None else None
    return turn, taken


def described(entry, turn, taken):
    """A turn as it goes into the results."""
    result = {"ok": not turn.problem, "seconds_of_turn": round(turn.seconds, 1)}
    if turn.problem:
        return {**result, "problem": turn.problem}
    median = statistics.median(turn.steps)
    low, _, high = statistics.quantiles(turn.steps, n=4, method="inclusive")
    first, last = min(turn.losses), max(turn.losses)
    result.update(
        seconds=round(median, 6), quartiles=[round(low, 6), round(high, 6)],
        blocks=len(turn.steps), block=entry["block"],
        tokens_per_second=round(entry["rows"] * entry["length"] / median), own_bytes=turn.own_bytes, taken_bytes=taken,
        losses={str(first): turn.losses[first], str(last): turn.losses[last]},
    )  # fmt: skip
    return result


def is_finite(result):
    return all(loss - loss == 0 for loss in result.get("losses", {}).values())


def ours(suite, entry):
    # More steps than are read: it is ended while it runs, so that its memory can be seen.
    command = [suite.program(entry), "train", "--data", entry["data"], "--log-every", str(entry["block"])]
    turn, taken = take_turn(suite, [*command, "--steps", "1000000"], entry, TURN, **entry["environment"])
    turn.own_bytes = entry["arena_bytes"]
    return described(entry, turn, taken)


def first_error(suite, entry):
    """What two steps say that wait behind every kernel."""
    if suite.left() < suites.LEAST:
        return suites.NO_TIME
    command = [suite.program(entry), "train", "--data", entry["data"], "--steps", "2"]
    ended = suite.run(command, limit=TURN, TESSERA_CUDA_EAGER="1")
    return ended.problem() or "ran to its end without graphs"


def step_line(name, result):
    name = f"{name:{NAME}}"
    if not result.get("ok"):
        return f"{name} {suites.why_not(result)}"
    counts = (result["own_bytes"], result["taken_bytes"])
    memory = "/".join(f"{count / 2**30:.2f}" if count else "–" for count in counts)
    low, high = result["quartiles"]
    return (
        f"{name} {result['seconds'] * 1e3:>9.2f} {low * 1e3:>9.2f}–{high * 1e3:<9.2f} "
        f"{result['tokens_per_second']:>9} {memory:>13}"
    )


HEAD = f"{'':{NAME}} {'ms a step':>9} {'quartiles':^19} {'tokens/s':>9} {'GiB own/smi':>13}"


def ours_or_reason(suite, entry):
    """Our steps; where that fails, why."""
    result = {key: entry[key] for key in ("precision", "rows", "length")}
    turn = ours(suite, entry)
    if re.search(r"the program needs \d+ bytes", turn.get("problem", "")):
        return {**result, "skipped": "the GPU has too little memory"}
    result.update(turn)
    if "problem" in result:
        result["eager"] = first_error(suite, entry)
    elif not is_finite(result):
        result.update(ok=False, problem="the loss is not finite")
    return result


def step_lines(run):
    yield step_line(run["name"], run)
    if "eager" in run:
        yield f"{'':{NAME}} {run['eager']}"


def bench(suite):
    """GPT-2 124M at more batches, in more types, and in variants; what `speed` times is not timed again."""
    entries = [entry for entry in suite.chosen("timed") if entry["beside"] not in ("first", "memory")]
    if not entries:
        raise suites.Skipped("no program of this part was chosen")
    return suite.each(entries, lambda entry: ours_or_reason(suite, entry), step_lines, [HEAD])


# peers ----------------------------------------------------------------------------------------------------------------


def torch_version(suite):
    """Skips what follows where PyTorch does not see a GPU."""
    program = "import torch; print(torch.__version__, torch.version.cuda, torch.cuda.is_available())"
    # Not with our libraries: PyTorch brings its own.
    ended = suite.run_other([suite.python, "-c", program], 60)
    if ended.status != 0:
        said = ended.output.strip().splitlines() or ["nothing was said"]
        raise suites.Skipped(f"PyTorch is not here: {said[-1][:200]}")
    version, cuda, is_available = ended.output.split()[-3:]
    if is_available != "True":
        raise suites.Skipped(f"PyTorch {version} sees no GPU here")
    return f"{version} (CUDA {cuda})"


def torch_command(suite, entry, mode, blocks=1_000_000):
    script = os.path.join(suite.folder, "bench", "peers", "torch_gpt.py")
    command = [suite.python, "-B", script, "--device", "cuda", "--data", os.path.join(suite.folder, entry["data"])]
    command += ["--mode", mode, "--precision", entry["precision"]]
    return [*command, "--block", str(entry["block"]), "--blocks", str(blocks), *entry["peer"]]


def torch_caches(suite):
    """Variables: where torch.compile keeps what it generates, for this part."""
    return {
        "TORCHINDUCTOR_CACHE_DIR": os.path.join(suite.scratch, "inductor"),
        "TRITON_CACHE_DIR": os.path.join(suite.scratch, "triton"),
    }


def torch_run(suite, entry, command):
    own = {"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
    turn, taken = take_turn(suite, command, entry, PEER_TURN, suite.scratch, **own, **torch_caches(suite))
    return described(entry, turn, taken)


def torch_turn(suite, entry, mode):
    return torch_run(suite, entry, torch_command(suite, entry, mode))


def llmc_turn(suite, entry):
    program = os.path.join(os.environ.get("LLMC", ""), "train_gpt2cu")
    if not os.environ.get("LLMC") or not os.access(program, os.X_OK):
        return {"skipped": "not present: LLMC does not name a folder with train_gpt2cu"}
    if entry["precision"] != "bf16":
        return {"skipped": "it computes in bf16"}
    data, batch = os.path.join(suite.folder, entry["data"]), entry["rows"] * entry["length"]
    command = [program, "-e", "d12", "-i", data, "-j", data, "-b", str(entry["rows"]), "-t", str(entry["length"])]
    # As the others: nothing but steps. It evaluates before the first and at the last.
    command += ["-d", str(batch), "-x", "1000000", "-v", "1000000", "-m", "1", "-s", "0", "-h", "0"]
    command += ["-l", "0.0003", "-c", "0.1"]
    # A step a line, by its own clock.
    one = {**entry, "block": 1, "skip": 2 * entry["block"], "blocks": entry["block"] * entry["blocks"]}
    turn, taken = take_turn(suite, ["stdbuf", "-oL", *command], one, PEER_TURN, os.environ["LLMC"])
    return described(one, turn, taken)


def turns_of(entry, order):
    """One entry for each turn of a program and its peers."""
    return [
        {"name": f"{entry['name']}: {number} {who}", "who": who, "of": entry} for number, who in enumerate(order, 1)
    ]


def take(suite, turn, torch):
    """`torch`: its version, or why it is not here."""
    who, entry = turn["who"], turn["of"]
    if who == "Tessera":
        return {**ours_or_reason(suite, entry), "who": who, "of": entry["name"]}
    if who == "llm.c":
        return {**llmc_turn(suite, entry), "who": who, "of": entry["name"]}
    if isinstance(torch, suites.Skipped):
        raise torch
    mode = next(mode for mode, name in MODES.items() if name == who)
    return {**torch_turn(suite, entry, mode), "who": who, "of": entry["name"]}


def beside_peers(suite, turns):
    """A peer that fails is no failure of ours."""
    try:
        torch = torch_version(suite)
    except suites.Skipped as reason:
        torch = reason
    version = f"not used: {torch}" if isinstance(torch, suites.Skipped) else torch

    def one(turn):
        return {**take(suite, turn, torch), "name": turn["name"]}

    result = suite.each(turns, one, step_lines, [f"PyTorch {version}", HEAD])
    result["ok"] = all(run.get("ok", True) for run in result["runs"] if run.get("who", "Tessera") == "Tessera")
    result["torch"], result["ratios"] = version, ratios(result["runs"])
    result["lines"] += [f"{name}: {text}" for name, text in ratio_texts(result["ratios"])]
    return result


def ratios(runs):
    """By program: tokens a second of ours, by its turns of the same minutes, over those of each peer."""
    speeds = {}
    for run in runs:
        if "tokens_per_second" in run:
            speeds.setdefault(run["of"], {}).setdefault(run["who"], []).append(run["tokens_per_second"])
    found = {}
    for program, by_who in speeds.items():
        means = {who: statistics.mean(values) for who, values in by_who.items()}
        own = means.pop("Tessera", None)
        if own:
            peers = {
                who: {"tokens_per_second": round(mean), "ratio": round(own / mean, 4)} for who, mean in means.items()
            }
            found[program] = {"tokens_per_second": round(own), "peers": peers}
    return found


def ratio_texts(found):
    for program, one in found.items():
        peers = (f"{peer['ratio']:.3f} × {who}'s {peer['tokens_per_second']}" for who, peer in one["peers"].items())
        yield program, ", ".join([f"{one['tokens_per_second']} tokens/s", *peers])


ORDER = ("Tessera", "PyTorch compiled", "Tessera")
LATER = ("PyTorch eager", "llm.c")


def speed(suite):
    """The most important program beside PyTorch, the same with a padded vocabulary, then the rest."""
    entries = [entry for entry in suite.chosen("timed") if entry["beside"] == "first"]
    turns = [turn for entry in entries for turn in turns_of(entry, ORDER)]
    if not turns:
        raise suites.Skipped("no program of this part was chosen")
    result = beside_peers(suite, [*turns, *turns_of(entries[0], LATER)])
    result["answer"] = "; ".join(f"{name}: {text}" for name, text in ratio_texts(result["ratios"]))
    return result


def peers(suite):
    """More programs beside PyTorch and llm.c. Without any peer nothing is run: `bench` times ours."""
    if not os.environ.get("LLMC"):
        torch_version(suite)
    entries = [entry for entry in suite.chosen("timed") if entry["beside"] == "later"]
    return beside_peers(suite, [turn for entry in entries for turn in turns_of(entry, (*ORDER, *LATER))])
