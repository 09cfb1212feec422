"""Of plans on machines that ranks share: a rank's memory, and how much longer a step takes than in the first one."""

import json
import sys

plans = [json.load(open(path)) for path in sys.argv[1:]]
for plan in plans:
    times = plan["time"]["seconds"] / plans[0]["time"]["seconds"]
    print(f"{plan['device']['memory']} bytes, {times:.1f} times as long")
