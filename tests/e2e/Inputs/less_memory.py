"""Plans of one model in the order of falling budgets, named by the budget in MiB: what is divided, and whether each
fits and is predicted to be no faster than the one before. The first one recomputes nothing: what the search counted is
its arena, within 5 %."""
import json
import sys

before = 0.0
for path in sys.argv[1:]:
    budget = int(path.removesuffix(".json"))
    with open(path) as file:
        plan = json.load(file)
    state = {row["kind"]: row for row in plan["ranks"]["state"]}
    mesh = ",".join(f"{axis['name']}={axis['size']}" for axis in plan["ranks"]["mesh"])
    divided = []
    for kind in ("weight", "moment"):
        divided.append(f"{sum(state[kind]['divided'].values())} of {state[kind]['count']} {kind}s")
    print(f"{budget}: mesh {mesh}, divided: {', '.join(divided)}")
    seconds = plan["time"]["seconds"]
    assert plan["gpu"]["total"] <= budget << 20, (budget, plan["gpu"]["total"])
    assert seconds >= before * (1 - 1e-3), (budget, seconds, before)
    if before == 0:
        counted = plan["manifest"]["target"]["search"]["bytes"]
        assert abs(counted / plan["arena"] - 1) < 0.05, (counted, plan["arena"])
    before = seconds
print("in order")
