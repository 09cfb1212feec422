"""Checks the least amount of memory that a refusal names: a program takes no more than that, whatever was refused.

usage: least_memory.py MODEL [OPTION ...]      options of `tessera plan`
"""

import re
import subprocess
import sys


def plan(amount):
    """(exit status, the least that is named, or None)"""
    command = ["tessera", "plan", *sys.argv[1:], f"--memory={amount}"]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    named = re.search(r"the least that the program takes is [^,]*, (\d+) bytes", ended.stdout)
    return ended.returncode, int(named.group(1)) if named else None


status, least = plan("1MiB")
assert status != 0 and least, "1 MiB is not refused"
for amount in (1 << 20, least - least // 50, least - 1):
    status, named = plan(f"{amount}B")
    if status == 0:
        continue  # another plan takes a little less
    assert named, f"{amount} bytes are refused, but no amount is named"
    status, again = plan(f"{named}B")
    assert status == 0, f"{named} bytes, the least where {amount} were refused, are refused: {again} are the least"
