#!/usr/bin/env python3
"""Checks that a profile has the exchanges of a plan, by value, line, kind and mesh axis; that every rank sent the bytes
that they are to receive, as its communicator counted them; and that its arena is the plan's.

usage: profiled_exchanges.py PROFILE_JSON PLAN_JSON
"""

import collections
import json
import sys


def main():
    profile, plan = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:])
    measured = collections.Counter()
    for row in profile["rows"]:
        if row["kind"] == "exchange":
            assert row["seconds"] > 0 and row["read"] == row["written"] == row["received"], row
            kind, along = row["name"].split(" along ")
            key = row["of"], row["at"], kind, along
            measured[key, "calls"] += row["calls"]
            measured[key, "bytes"] += row["calls"] * row["received"]
            measured[key, "sent"] += row["sent"]
    planned = collections.Counter()
    for row in plan["ranks"]["exchanges"]:
        key = row["of"], row["at"], row["kind"], row["along"]
        planned[key, "calls"], planned[key, "bytes"] = row["calls"], row["received"]
        planned[key, "sent"] = row["received"]
    assert measured == planned, (measured - planned, planned - measured)
    sent = {axis["name"]: collections.Counter() for axis in plan["ranks"]["mesh"]}
    for row in plan["ranks"]["exchanges"]:
        sent[row["along"]][row["kind"]] += row["received"]
    for rank in profile["ranks"]:
        rank["sent"] = {axis: collections.Counter(kinds) for axis, kinds in rank["sent"].items()}
    of_rank = {"arena": plan["arena"], "sent": sent}
    assert profile["ranks"] == plan["ranks"]["count"] * [of_rank], (profile["ranks"], of_rank)
    total = {what: sum(n for (_, of), n in measured.items() if of == what) for what in ("calls", "bytes")}
    print(total["calls"], "exchanges of a step,", total["bytes"], "bytes")


main()
