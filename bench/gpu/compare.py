"""Whether two runs computed the same: losses and gradient norms within a tolerance, files to the bit."""

import filecmp
import json
import os


def read_metrics(path):
    """Records by step and split, without what depends on the clock."""
    records = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            record.pop("seconds", None)
            records[f"step {record['step']} {record['split']}"] = record
    return records


def distance(expected, found):
    """Relative; of non-finite values (null): 0 if both are, else infinite."""
    if expected is None or found is None:
        return 0.0 if expected is found else float("inf")
    return abs(found - expected) / max(abs(expected), 1e-30)


def values_of(record):
    """(kind, name, value) of what is compared."""
    for name, value in record.get("losses", {}).items():
        yield "loss", name, value
    if "grad_norm" in record:
        yield "norm", "gradient norm", record["grad_norm"]


def compare_metrics(expected, found, entry):
    """(the worst distances by kind, of the first steps and of the later ones; what is out of tolerance first or "")."""
    worst, problem = {"loss": [0.0, 0.0], "norm": [0.0, 0.0]}, ""
    if expected.keys() != found.keys():
        missing, added = sorted(expected.keys() - found.keys()), sorted(found.keys() - expected.keys())
        return worst, f"records differ: missing {missing[:3]}, added {added[:3]}"
    for key, record in expected.items():
        other = {(kind, name): value for kind, name, value in values_of(found[key])}
        is_later = record["step"] > entry["first_steps"]
        for kind, name, value in values_of(record):
            allowed = entry["tolerances"][is_later][kind == "norm"]
            off = distance(value, other.get((kind, name)))
            worst[kind][is_later] = max(worst[kind][is_later], off)
            if off > allowed and not problem:
                problem = (
                    f"{key}: {name} {value} on the processor, {other.get((kind, name))} on the GPU, off by {off:.1e}, "
                    f"allowed {allowed:.0e}"
                )
    return worst, problem


def first_difference(one, other):
    """The first record that two runs of one program do not have in common, or ""."""
    for key in sorted(one.keys() | other.keys(), key=lambda key: int(key.split()[1])):
        if one.get(key) != other.get(key):
            return f"two runs differ at {key}: {one.get(key)} and {other.get(key)}"
    return ""


def different_files(one, other):
    """Names of files that two folders of checkpoints do not have in common, to the bit; locks aside."""
    listed = [
        {os.path.relpath(os.path.join(path, name), folder) for path, _, names in os.walk(folder) for name in names}
        - {".lock"}
        for folder in (one, other)
    ]
    both = listed[0] & listed[1]
    _, mismatch, errors = filecmp.cmpfiles(one, other, sorted(both), shallow=False)
    return sorted(listed[0] ^ listed[1]) + mismatch + errors
