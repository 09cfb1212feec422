"""The parts that ask whether a run is the same to the bit, however it is run: in three modes, and in pieces."""

import math
import os
import re
import shutil

import compare
import suite as suites

# How the same steps can be run; the first finds the algorithms that all use.
MODES = {
    "as a graph": {},
    "as a graph, again": {},
    "in order": {"TESSERA_CUDA_IN_ORDER": "1"},
    "eager": {"TESSERA_CUDA_EAGER": "1"},
}
MODE_STEPS = 4
LONGEST = 60.0  # seconds that a run of GPT-2 may take
SHORT = 30.0  # and one of a small program
AT_ONCE = 4  # small programs, which leave most of a device idle
STEPS, FIRST_STEPS = 4, 2  # of a run that is saved, and of its first piece
WEIGHTS = ("model.safetensors", "optimizer.safetensors")


class Run:
    """Training that leaves metrics and a checkpoint, in a folder of its own."""

    def __init__(self, suite, entry, name):
        self.suite, self.entry = suite, entry
        self.folder = os.path.join(suite.scratch, re.sub(r"\W+", "-", f"{entry['name']} {name}"))
        self.checkpoints, self.metrics = os.path.join(self.folder, "saved"), os.path.join(self.folder, "metrics.jsonl")
        os.makedirs(self.folder, exist_ok=True)

    def train(self, steps, limit, **variables):
        """Seconds; what is wrong raises a Broken."""
        command = [self.suite.program(self.entry), "train", *data_of(self.entry), "--steps", str(steps), "--quiet"]
        command += ["--metrics", self.metrics, "--checkpoint-dir", self.checkpoints]
        return self.follow(command, limit, **variables)

    def follow(self, command, limit, **variables):
        ended = self.suite.run(command, limit=limit, **variables)
        self.suite.need_whole(ended, limit)
        if ended.status != 0:
            raise Broken(ended.problem())
        return ended.seconds

    def records(self):
        return compare.read_metrics(self.metrics)

    def losses(self):
        """Of each step, the sum where there are several."""
        records = [record for record in self.records().values() if record["split"] == "train"]
        return [sum(loss if loss is not None else math.nan for loss in record["losses"].values()) for record in records]

    def last(self):
        """The folder of the last checkpoint."""
        names = sorted(name for name in os.listdir(self.checkpoints) if name.startswith("step-"))
        return os.path.join(self.checkpoints, names[-1])

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Broken(Exception):
    """A run that did not come to its end."""


def data_of(entry):
    """The options that name the data; of a timed program it is one file."""
    return entry["data"] if isinstance(entry["data"], list) else ["--data", entry["data"]]


def eval_data_of(entry):
    """The same for `eval`, which reads one split: data for evaluation, where the entry names such."""
    values = data_of(entry)[1::2]
    of_val = [value for value in values if value.startswith("val=")]
    return [word for value in of_val or values for word in ("--data", value)]


def different_weights(one, other):
    """Names of the files of two checkpoints that are not equal to the bit."""
    return [name for name in compare.different_files(one, other) if name in WEIGHTS]


# modes ----------------------------------------------------------------------------------------------------------------


def modes(suite):
    """The most important program: each mode, and it with recomputation, against the first that came to its end."""
    timed, first = suite.chosen("timed"), []
    entry = timed[0]
    suite.earlier = {}  # what an earlier call compared with is gone

    def one(mode):
        run = Run(suite, mode["of"], mode["name"])
        try:
            seconds = run.train(MODE_STEPS, LONGEST, **MODES.get(mode["name"], {}))
        except Broken as problem:
            run.remove()
            return {"ok": False, "problem": str(problem)}
        losses, problem = run.losses(), ""
        if not all(map(math.isfinite, losses)):
            problem = "a loss is not finite"
        elif first:
            problem = compare.first_difference(first[0].records(), run.records())
            files = different_weights(first[0].last(), run.last())
            problem = problem or (f"other weights than in the first mode: {', '.join(files)}" if files else "")
        result = {"ok": not problem, "seconds": round(seconds, 2), "losses": losses, "compared": bool(first)}
        if first or problem:
            run.remove()
        else:
            first.append(run)
        return {**result, "problem": problem} if problem else result

    head = [f"{entry['name']}, {MODE_STEPS} steps"]
    all_modes = [{"name": name, "of": entry} for name in MODES]
    all_modes += [{"name": other["variant"], "of": other} for other in timed if other["is_equal"]]
    result = suite.each(all_modes, one, mode_lines, head)
    compared = sum(bool(run.get("compared")) for run in result["runs"] if run.get("ok"))
    result["answer"] = f"{compared} of {len(all_modes) - 1} equal to the first, {entry['name']}"
    return result


def mode_lines(run):
    name = f"{run['name']:20}"
    if not run.get("ok"):
        return [f"{name} {suites.why_not(run)}"]
    losses = " ".join(f"{loss:.6f}" for loss in run["losses"])
    return [f"{name} {run['seconds']:6.1f} s, {'the same bits; ' if run['compared'] else ''}losses {losses}"]


# checkpoints ----------------------------------------------------------------------------------------------------------


def saved_and_resumed(suite, entry, limit):
    """Two pieces against one run; then what reads a checkpoint."""
    whole, pieces = Run(suite, entry, "whole"), Run(suite, entry, "pieces")
    try:
        whole.train(STEPS, limit)
        pieces.train(FIRST_STEPS, limit)
        pieces.train(STEPS, limit)
        files = different_weights(whole.last(), pieces.last())
        problem = f"resumed, it leaves other weights: {', '.join(files)}" if files else ""
        problem = problem or compare.first_difference(*(losses_by_step(run) for run in (whole, pieces)))
        if problem:
            return {"ok": False, "problem": problem}
        for command in entry["afterwards"]:
            words = [suite.program(entry), *command, "--checkpoint", whole.last()]
            words += eval_data_of(entry) if command[0] == "eval" else []
            try:
                whole.follow(words, limit)
            except Broken as problem:
                return {"ok": False, "problem": f"{command[0]} {problem}"}
        return {"ok": True, "afterwards": [command[0] for command in entry["afterwards"]]}
    except Broken as problem:
        return {"ok": False, "problem": str(problem)}
    finally:
        for run in (whole, pieces):
            run.remove()


def losses_by_step(run):
    """Without evaluations: the run in pieces has one more, at its end."""
    return {key: record for key, record in run.records().items() if record["split"] == "train"}


def checkpoints(suite):
    """The small programs, some at once, for they tell more in less time; then GPT-2 124M."""
    large = suite.contents["timed"][:1]
    small = [entry for entry in suite.contents["trainings"] if entry["is_saved"]]

    def one(entry):
        return saved_and_resumed(suite, entry, LONGEST if entry in large else SHORT)

    alone = [entry["name"] for entry in large]
    result = suite.each([*small, *large], one, checkpoint_lines, at_once=AT_ONCE, alone=alone)
    good = sum(run.get("ok", False) for run in result["runs"])
    result["answer"] = f"{good} of {len(small) + len(large)} programs"
    return result


def checkpoint_lines(run):
    name = f"{run['name']:30}"
    if not run.get("ok"):
        return [f"{name} {suites.why_not(run)}"]
    return [f"{name} the same bits{''.join(f', {command}' for command in run['afterwards'])}"]
