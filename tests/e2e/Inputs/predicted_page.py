"""predicted_page.py PAGE NEW: the page as it would be with predicted times, one nanosecond for each flop and byte."""

import json
import sys

page = open(sys.argv[1], encoding="utf-8").read()
before, rest = page.split('id="program">', 1)
data, after = rest.split("</script>", 1)
report = json.loads(data)
manifest = report["manifest"]
step = 0
for kernel in manifest["kernels"]:
    kernel["seconds"] = 1e-9 * (kernel["flops"] + kernel["read"] + kernel["written"])
    step += kernel["seconds"] * kernel["calls"].get("step", 0)
for gemm in manifest["gemms"]:
    gemm["seconds"], gemm["calls"], gemm["passes"] = 0.0, {"step": 1}, {"forward": 1}
entries = {"step": {"seconds": step, "least": 0.5 * step, "most": 2 * step, "passes": {"forward": 0.5 * step, "backward": 0.5 * step}}}
manifest["predicted"] = {"source": "calibrated", "entries": entries}
data = json.dumps(report).replace("<", "\\u003c")
open(sys.argv[2], "w", encoding="utf-8").write(f'{before}id="program">{data}</script>{after}')
