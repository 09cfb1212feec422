"""The parts that time whole steps: our programs alone, and beside PyTorch and llm.c, interleaved."""

import json
import os
import re
import statistics

import processes
import suite as suites

TURN = 40.0  # seconds that one of our runs may take
PEER_TURN = 150.0  # and one of a peer: torch.compile takes its time
NAME = 40  # columns of a name
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


def described(entry, name, turn, taken):
    """A turn as it goes into the results."""
    result = {"name": name, "ok": not turn.problem, "seconds_of_turn": round(turn.seconds, 1)}
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
    return described(entry, "tessera", turn, taken)


def first_error(suite, entry):
    """What two steps say that wait behind every kernel."""
    if suite.left() < suites.LEAST:
        return suites.NO_TIME
    command = [suite.program(entry), "train", "--data", entry["data"], "--steps", "2"]
    ended = suite.run(command, limit=TURN, TESSERA_CUDA_EAGER="1")
    return ended.problem() or "ran to its end without graphs"


def step_line(name, result):
    name = f"{name:{NAME}}"
    if "skipped" in result:
        return f"{name} skipped: {result['skipped']}"
    if not result["ok"]:
        return f"{name} FAILED: {result['problem']}"
    counts = (result["own_bytes"], result["taken_bytes"])
    memory = "/".join(f"{count / 2**30:.2f}" if count else "–" for count in counts)
    low, high = result["quartiles"]
    ratio = f" {result['ratio']:>6.2f}" if "ratio" in result else ""
    return (
        f"{name} {result['seconds'] * 1e3:>9.2f} {low * 1e3:>9.2f}–{high * 1e3:<9.2f} "
        f"{result['tokens_per_second']:>9} {memory:>13}{ratio}"
    )


HEAD = f"{'':{NAME}} {'ms a step':>9} {'quartiles':^19} {'tokens/s':>9} {'GiB own/smi':>13}"


def bench(suite):
    """GPT-2 124M at some batches, in some types."""
    results, lines = [], [HEAD]
    for entry in suite.chosen("timed"):
        about = {key: entry[key] for key in ("precision", "rows", "length")}
        try:
            suite.need()
            result = {**about, **ours(suite, entry)}
            if "problem" in result and re.search(r"the program needs \d+ bytes", result["problem"]):
                result = {**about, "skipped": "the GPU has too little memory"}
            elif "problem" in result:
                result["eager"] = first_error(suite, entry)
            elif not is_finite(result):
                result.update(ok=False, problem="the loss is not finite")
        except suites.Skipped as reason:
            result = {**about, "skipped": str(reason)}
        result["name"] = entry["name"]
        results.append(result)
        lines.append(step_line(entry["name"], result))
        if "eager" in result:
            lines.append(f"{'':{NAME}} {result['eager']}")
    left_out = sum("skipped" in result for result in results)
    if left_out == len(results):
        raise suites.Skipped(results[0]["skipped"])
    ok = all(result.get("ok", True) for result in results)
    return {"ok": ok, "left_out": left_out, "runs": results, "lines": lines}


# peers ----------------------------------------------------------------------------------------------------------------


def torch_version(suite):
    """Skips what follows where PyTorch does not see a GPU."""
    program = "import torch; print(torch.__version__, torch.version.cuda, torch.cuda.is_available())"
    # Not with our libraries: PyTorch brings its own.
    ended = processes.run([suite.python, "-c", program], min(60, suite.left()), suite.scratch, dict(os.environ))
    if ended.status != 0:
        said = ended.output.strip().splitlines() or ["nothing was said"]
        raise suites.Skipped(f"PyTorch is not here: {said[-1][:200]}")
    version, cuda, is_available = ended.output.split()[-3:]
    if is_available != "True":
        raise suites.Skipped(f"PyTorch {version} sees no GPU here")
    return f"{version} (CUDA {cuda})"


def torch_turn(suite, entry, mode):
    script = os.path.join(suite.folder, "bench", "peers", "torch_gpt.py")
    command = [suite.python, "-B", script, "--device", "cuda", "--data", os.path.join(suite.folder, entry["data"])]
    command += ["--mode", mode, "--precision", entry["precision"]]
    command += ["--block", str(entry["block"]), "--blocks", "1000000"]
    own = {"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
    caches = {"TORCHINDUCTOR_CACHE_DIR": os.path.join(suite.scratch, "inductor")}
    caches["TRITON_CACHE_DIR"] = os.path.join(suite.scratch, "triton")
    turn, taken = take_turn(suite, [*command, *entry["peer"]], entry, PEER_TURN, suite.scratch, **own, **caches)
    return described(entry, MODES[mode], turn, taken)


def llmc_turn(suite, entry):
    program = os.path.join(os.environ.get("LLMC", ""), "train_gpt2cu")
    if not os.environ.get("LLMC") or not os.access(program, os.X_OK):
        return {"name": "llm.c", "skipped": "not present: LLMC does not name a folder with train_gpt2cu"}
    if entry["precision"] != "bf16":
        return {"name": "llm.c", "skipped": "it computes in bf16"}
    data, batch = os.path.join(suite.folder, entry["data"]), entry["rows"] * entry["length"]
    command = [program, "-e", "d12", "-i", data, "-j", data, "-b", str(entry["rows"]), "-t", str(entry["length"])]
    # As the others: nothing but steps. It evaluates before the first and at the last.
    command += ["-d", str(batch), "-x", "1000000", "-v", "1000000", "-m", "1", "-s", "0", "-h", "0"]
    command += ["-l", "0.0003", "-c", "0.1"]
    # A step a line, by its own clock.
    one = {**entry, "block": 1, "skip": 2 * entry["block"], "blocks": entry["block"] * entry["blocks"]}
    turn, taken = take_turn(suite, ["stdbuf", "-oL", *command], one, PEER_TURN, os.environ["LLMC"])
    return described(one, "llm.c", turn, taken)


def with_ratios(turns):
    """How many times as long as ours the steps of each take, by our turns of the same minutes."""
    own = [turn["seconds"] for turn in turns if turn["name"] == "tessera" and "seconds" in turn]
    for turn in turns:
        if own and "seconds" in turn:
            turn["ratio"] = round(turn["seconds"] / statistics.mean(own), 4)
    return turns


def side_by_side(suite, entry):
    """Ours, eager, compiled, llm.c, and ours again."""
    takers = [("tessera", lambda: ours(suite, entry))]
    takers += [(name, lambda mode=mode: torch_turn(suite, entry, mode)) for mode, name in MODES.items()]
    takers += [("llm.c", lambda: llmc_turn(suite, entry)), takers[0]]
    turns = []
    for name, taker in takers:
        try:
            suite.need()
            turns.append(taker())
        except suites.Skipped as reason:
            turns.append({"name": name, "skipped": str(reason)})
    return with_ratios(turns)


def peers(suite):
    """A peer that fails is no failure of ours."""
    version = torch_version(suite)
    results, lines = [], [f"PyTorch {version}", f"{HEAD} {'ratio':>6}"]
    for entry in suite.chosen("timed"):
        if entry["variant"]:
            continue
        turns = side_by_side(suite, entry)
        results.append({"name": entry["name"], "turns": turns})
        lines.append(entry["name"])
        reasons = {turn.get("skipped") for turn in turns}
        if len(reasons) == 1 and None not in reasons:
            lines.append(f"  skipped: {reasons.pop()}")
        else:
            lines += [step_line("  " + turn["name"], turn) for turn in turns]
    turns = [turn for result in results for turn in result["turns"]]
    return {
        "ok": all(turn.get("ok", True) for turn in turns if turn["name"] == "tessera"),
        "left_out": sum(turn.get("skipped", "").startswith(suites.NO_TIME) for turn in turns),
        "torch": version, "configurations": results, "lines": lines,
    }  # fmt: skip


def torch_product(suite):
    """Operations a second of a large product in PyTorch, or None: what the machine does when it is driven well."""
    script = os.path.join(suite.folder, "bench", "gpu", "torch_product.py")
    ended = processes.run([suite.python, "-B", script], min(30, suite.left()), suite.scratch, dict(os.environ))
    return json.loads(ended.output.splitlines()[-1])["flops"] if ended.status == 0 else None
