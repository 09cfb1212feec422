"""The part that says what the device copies and multiplies: what all times of the other parts are compared with."""

import json
import os
import sys

import suite as suites

COPY_BYTES, SMALL_COPY_BYTES = 2**30, 2**20
COPYING = 20.0  # seconds that copies may take


def copies(suite):
    """Bytes a second, or what the problem is."""
    script = os.path.join(suite.folder, "bench", "gpu", "device.py")
    count = SMALL_COPY_BYTES if suite.contents["smoke"] else COPY_BYTES
    ended = suite.run([sys.executable, "-B", script, "--copy-bytes", str(count)], limit=COPYING)
    if ended.status != 0:
        return {"ok": False, "problem": ended.problem()}
    facts = json.loads(ended.output.splitlines()[-1])
    found = {"bytes_per_second": facts.get("copy_bytes_per_second"), "host": facts.get("host_copies")}
    if facts["problem"] or not found["bytes_per_second"]:
        return {"ok": False, "problem": facts["problem"] or "the device could not be made to copy"}
    return {"ok": True, **found}


def copy_lines(found):
    if not found["ok"]:
        return [f"copies FAILED: {found['problem']}"]
    host = found["host"] or {}
    lines = [f"copies inside of the device  {found['bytes_per_second'] / 1e9:>8.0f} GB/s, read and written"]
    for key, name in (("to_device", "from the host"), ("from_device", "to the host")):
        lines += [f"copies {name:20} {host[key] / 1e9:>8.1f} GB/s"] if host.get(key) else []
    return lines


def product_line(run):
    if not run["ok"]:
        return f"{run['name']:28} FAILED: {run['problem']}"
    size = "×".join(map(str, run["size"]))
    return f"{run['name']:28} {size:>20} {run['ms']:>9.3f} ms {run['flops'] / 1e12:>8.1f} TFLOP/s"


def read_products(output):
    """What the script said until it ended or was ended."""
    runs = []
    for line in filter(lambda line: line.startswith("{"), output.splitlines()):
        try:
            runs.append(json.loads(line))
        except ValueError:  # the last one, cut
            pass
    return runs


def rates(suite):
    """Copies, then products of matrices by cuBLASLt, in the shapes of GPT-2 among others."""
    result = {"ok": True, "copies": copies(suite), "products": []}
    result["lines"] = copy_lines(result["copies"])
    suite.keep(result)
    ended = None
    if suite.left() >= suites.LEAST:
        script = os.path.join(suite.folder, "bench", "gpu", "gemm_rates.py")
        limit = suite.left() - suites.LEAST
        small = ["--small"] if suite.contents["smoke"] else []
        ended = suite.run([sys.executable, "-B", script, "--limit", f"{limit:.1f}", *small])
        said = read_products(ended.output)
        result["products"] = [run for run in said if "late" not in run]
    result["lines"] += [product_line(run) for run in result["products"]]
    if ended is None or ended.status is None or len(said) > len(result["products"]):
        result["left_out"] = 1
    elif ended.status != 0:
        result["problem"] = ended.problem()
        result["lines"].append(result["problem"])
    result["ok"] = (
        result["copies"]["ok"] and "problem" not in result and all(run["ok"] for run in result["products"])
    )
    result["answer"] = answer(result)
    return result


def answer(result):
    words = []
    if result["copies"]["ok"]:
        words.append(f"copies {result['copies']['bytes_per_second'] / 1e9:.0f} GB/s")
    fastest = {}
    for run in filter(lambda run: run["ok"], result["products"]):
        fastest[run["type"]] = max(run["flops"], fastest.get(run["type"], 0.0))
    words += [f"{kind} {flops / 1e12:.1f} TFLOP/s" for kind, flops in fastest.items()]
    return ", ".join(words)
