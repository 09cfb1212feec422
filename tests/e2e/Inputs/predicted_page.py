"""predicted_page.py with|without PAGE NEW: the page of a program with or without predicted times.

Predicted is one nanosecond for each flop and byte of a kernel.
"""

import json
import sys


def add_times(manifest):
    step = 0
    for kernel in manifest["kernels"]:
        kernel["seconds"] = 1e-9 * (kernel["flops"] + kernel["read"] + kernel["written"])
        step += kernel["seconds"] * kernel["calls"].get("step", 0)
    for gemm in manifest["gemms"]:
        gemm["seconds"], gemm["calls"], gemm["passes"] = 0.0, {"step": 1}, {"forward": 1}
    passes = {"forward": 0.5 * step, "backward": 0.5 * step}
    entries = {"step": {"seconds": step, "least": 0.5 * step, "most": 2 * step, "passes": passes}}
    manifest["predicted"] = {"source": "calibrated", "entries": entries}


def remove_times(manifest):
    manifest.pop("predicted", None)
    moments = [moment for timeline in manifest["plan"]["timelines"].values() for moment in timeline["moments"]]
    for timed in manifest["kernels"] + manifest["gemms"] + moments:
        timed.pop("seconds", None)


def main(choice, page, new):
    before, rest = open(page, encoding="utf-8").read().split('id="program">', 1)
    data, after = rest.split("</script>", 1)
    report = json.loads(data)
    remove_times(report["manifest"])
    if choice == "with":
        add_times(report["manifest"])
    data = json.dumps(report).replace("<", "\\u003c")
    open(new, "w", encoding="utf-8").write(f'{before}id="program">{data}</script>{after}')


main(*sys.argv[1:])
