"""timelines.py MANIFEST: checks the timelines of a manifest against its arena, state and trace."""

import json
import sys

manifest = json.load(open(sys.argv[1], encoding="utf-8"))
state = sum(-(-entry["bytes"] // 64) * 64 for entry in manifest["state"])


def calls(trace):
    return [call for entry in trace for call in (calls(entry["body"]) if "repeat" in entry else [entry])]


for name, timeline in manifest["plan"]["timelines"].items():
    live = [state] * (timeline["last"] + 1)
    for value in timeline["values"]:
        assert value["offset"] + value["bytes"] <= manifest["arena"]["bytes"], value
        for moment in range(value["first"], value["last"] + 1):
            live[moment] += value["bytes"]
    assert live[timeline["peak"]] == max(live) <= manifest["arena"]["bytes"], (name, max(live))
    lines = {value["at"].rsplit(":", 1)[0] for value in timeline["values"] if "at" in value}
    assert all(line.startswith("gpt.tsr:") for line in lines), lines
    assert "gpt.tsr:33" in lines or name == "init", (name, lines)
    numbers = [moment["at"] for moment in timeline["moments"]]
    assert numbers == sorted(numbers) and numbers[-1] <= timeline["last"], name
    if name == "step":
        traced = calls(manifest["entries"]["step"]["trace"])
        called = [moment for moment in timeline["moments"] if "call" in moment]
        assert [moment["call"] for moment in called] == list(range(len(traced)))
        assert [moment.get("pass") for moment in called] == [call.get("pass") for call in traced]
        print("passes", *sorted({call.get("pass", "forward") for call in traced}))

for kernel in manifest["kernels"]:
    assert sum(kernel.get("passes", {}).values()) == kernel["calls"].get("step", 0), kernel["name"]
