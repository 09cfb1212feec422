"""The parts that say right or wrong: single kernels, whole trainings, NVIDIA's sanitizer."""

import glob
import json
import os
import re
import shutil
import sys

import compare
import processes
import suite as suites

# Known by its exit status whether a tool of the sanitizer found anything.
FOUND = 86
TRAINING = 30.0  # seconds that one run of a small program may take
AT_ONCE = 4
# By tool; behind a bad access to memory the next kernels run.
SANITIZER_TOOLS = {"memcheck": ["--destroy-on-device-error", "kernel"], "racecheck": []}
SANITIZED = 300  # kernels, of which those are left out that time is not enough for
ENDING = 4.0  # seconds that are left to what ends by itself
NO_NVRTC = 3  # exit status of kernel_check.py
SANITIZER_PLACES = ("/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer", "/opt/cuda/bin")


def kernel_check(suite, limit):
    """The command, or the reason that there is none."""
    cases = os.path.join(suite.folder, "cases")
    if not glob.glob(os.path.join(cases, "*.jsonl")):
        raise suites.Skipped("no kernels were recorded into the folder")
    script = os.path.join(suite.folder, "bench", "gpu", "kernel_check.py")
    return [sys.executable, "-B", script, cases, "--limit", f"{max(limit - ENDING, 1):.1f}"]


def need_nvrtc(ended):
    if ended.status == NO_NVRTC:
        raise suites.Skipped(ended.output.strip().splitlines()[-1])


def kernels(suite):
    """Single kernels and instructions against stored results."""
    # Not kept: a case that is right says nothing that anybody would read again.
    file = os.path.join(suite.scratch, "kernels.json")
    ended = suite.run([*kernel_check(suite, suite.left()), "--json", file])
    need_nvrtc(ended)
    found = {"checked": 0, "of": 0, "failed": 0, "cases": []}
    if os.path.exists(file):
        with open(file) as written:
            found = json.load(written)
    bad = [case for case in found["cases"] if not case["ok"]]
    left_out = found["of"] - found["checked"]
    # One that did not end in time is right as far as it came.
    is_cut = ended.status in (0, None)
    if is_cut and not found["checked"]:
        raise suites.Skipped(suites.NO_TIME)
    result = {key: found.get(key) for key in ("checked", "of", "failed", "architecture")}
    result.update(cases=bad, left_out=left_out, ok=is_cut and not bad)
    result["answer"] = f"{found['checked']} of {found['of']} checked, {found['failed']} failed"
    result["lines"] = [result["answer"]]
    result["lines"] += [f"{case['name']} ({case['symbol']}): {case['message']}" for case in bad[:20]]
    if not is_cut and not (bad and ended.status == 1):
        result["problem"] = ended.problem()
        result["lines"].append(result["problem"])
    return result


# trainings ------------------------------------------------------------------------------------------------------------


def launcher(entry):
    """Of several ranks on one GPU, which NCCL takes for hosts of their own: else it refuses them."""
    if entry["ranks"] == 1:
        return []
    as_host = 'NCCL_SOCKET_IFNAME=lo NCCL_HOSTID=host-$OMPI_COMM_WORLD_RANK exec "$0" "$@"'
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(entry["ranks"]), "bash", "-c", as_host]


def train_once(suite, entry, name, **variables):
    """(how it ended, its metrics, its folder of checkpoints)"""
    base = os.path.join(suite.scratch, f"{entry['name'].replace(' ', '-')}-{name}")
    checkpoints, metrics = f"{base}-saved", f"{base}.jsonl"
    command = [*launcher(entry), suite.program(entry), "train", *entry["data"], "--steps", str(entry["steps"])]
    command += ["--metrics", metrics, "--checkpoint-dir", checkpoints, "--quiet"]
    ended = suite.run(command, limit=TRAINING, **variables)
    records = compare.read_metrics(metrics) if ended.status == 0 else {}
    if os.path.exists(metrics):
        os.remove(metrics)
    return ended, records, checkpoints


def train_case(suite, entry):
    """One program, twice; and once more, piece by piece, where something is wrong."""
    folders, runs = [], []
    try:
        for name in ("first", "again"):
            suite.need()
            ended, records, folder = train_once(suite, entry, name)
            folders.append(folder)
            suite.need_whole(ended, TRAINING)
            if ended.status != 0:
                # What does not end would not end there either.
                eager = eager_run(suite, entry, folders) if ended.status is not None else "not run"
                return {"ok": False, "problem": ended.problem(), "eager": eager}
            runs.append(records)
        expected = compare.read_metrics(os.path.join(suite.folder, entry["recorded"]))
        worst, problem = compare.compare_metrics(expected, runs[0], entry)
        result = {"loss_off": worst["loss"], "norm_off": worst["norm"], "allowed": entry["tolerances"]}
        files = compare.different_files(*folders)
        problems = [problem, compare.first_difference(*runs)]
        problems += [f"checkpoints of two runs differ: {', '.join(files)}"] if files else []
        problem = "; ".join(filter(None, problems))
        if problem:
            return {"ok": False, **result, "problem": problem, "eager": eager_run(suite, entry, folders, expected)}
        return {"ok": True, **result}
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


def eager_run(suite, entry, folders, expected=None):
    """What a run says that waits behind every kernel: its errors name one."""
    if suite.left() < suites.LEAST:
        return suites.NO_TIME
    ended, records, folder = train_once(suite, entry, "eager", TESSERA_CUDA_EAGER="1")
    folders.append(folder)
    if ended.status != 0:
        return ended.problem()
    if expected is None:
        return "ran to its end"
    _, problem = compare.compare_metrics(expected, records, entry)
    return f"without graphs: {problem or 'within tolerance'}"


def off_text(case, kind, column):
    """How far off the first steps are and the later ones, and how far they may be."""
    parts = (f"{off:.1e} of {row[column]:.0e}" for off, row in zip(case[f"{kind}_off"], case["allowed"]))
    return f"{kind} off by " + ", then ".join(parts)


def train_lines(case):
    if not case.get("ok"):
        eager = [] if "skipped" in case else [f"{'':22} {case.get('eager', '')}"]
        return [f"{case['name']:22} {suites.why_not(case)}", *eager]
    return [f"{case['name']:22} {off_text(case, 'loss', 0)}, {off_text(case, 'norm', 1)}; two runs equal"]


def train(suite):
    """The examples, in each type, against what they computed on the processor where the folder was made.

    Four at once: each leaves most of a device idle, and none may change what another computes.
    """
    return suite.each(suite.chosen("trainings"), lambda one: train_case(suite, one), train_lines, at_once=AT_ONCE)


def ranks(suite):
    """The same on several ranks, which share the GPU: they compute what one rank does, and tell nothing of speed."""
    if not shutil.which("mpirun"):
        raise suites.Skipped("there is no mpirun here")
    return suite.each(suite.chosen("of_ranks"), lambda one: train_case(suite, one), train_lines)


# sanitizer ------------------------------------------------------------------------------------------------------------


def sanitizer(suite):
    """Memory errors and races of single kernels."""
    kernel_check(suite, 0)
    tool = shutil.which("compute-sanitizer", path=os.pathsep.join([os.environ.get("PATH", ""), *SANITIZER_PLACES]))
    if not tool:
        raise suites.Skipped("compute-sanitizer is not here")
    runs = []
    for number, (name, options) in enumerate(SANITIZER_TOOLS.items()):
        if number > 0 and suite.left() < suites.LEAST:
            runs.append({"tool": name, "skipped": suites.NO_TIME})
            continue
        share = suite.left() / (len(SANITIZER_TOOLS) - number)
        command = [*kernel_check(suite, share), "--alone", "--most", str(SANITIZED)]
        ended = suite.run([tool, "--tool", name, "--error-exitcode", str(FOUND), *options, *command], limit=share)
        need_nvrtc(ended)
        runs.append(sanitizer_run(name, ended))
    left_out = 0  # it takes whatever time there is: a later call would come no further
    lines = [sanitizer_line(run) for run in runs]
    return {"ok": all(run.get("ok", True) for run in runs), "left_out": left_out, "runs": runs, "lines": lines}


def sanitizer_run(name, ended: processes.Ended):
    summary = re.search(r"(?:ERROR|RACECHECK) SUMMARY: .*", ended.output)
    reports = re.findall(r"^=+ (?:Invalid|Error|Warning|Race|Program hit|Uninitialized).*", ended.output, re.M)
    # One that did not end in time is right as far as it came.
    ok = ended.status == 0 or (ended.status is None and not reports)
    run = {"tool": name, "ok": ok, "seconds": round(ended.seconds, 1), "ended": ended.status is not None}
    checked = re.findall(r"^(\d+)(?: of (\d+))? checked, \d+ failed", ended.output, re.M)
    run["whole"] = bool(checked) and not checked[-1][1]
    run["checked"] = checked[-1][0] + (f" of {checked[-1][1]}" if checked[-1][1] else "") if checked else None
    run["summary"] = summary.group(0) if summary else f"{len(reports)} reports so far"
    if not ok:
        run["reports"], run["problem"] = reports[:20], ended.problem()
    return run


def sanitizer_line(run):
    if "skipped" in run:
        return f"{run['tool']:10} skipped: {run['skipped']}"
    state = f"{run['checked']} kernels; " if run["checked"] else ""
    state += "" if run["ended"] else f"ended at its limit after {run['seconds']} s; "
    return f"{run['tool']:10} {state}{run['summary']}" + ("" if run["ok"] else f"\n  {run['problem']}")
