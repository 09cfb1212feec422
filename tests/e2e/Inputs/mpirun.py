"""Commands of tests, on one rank or on several."""

import subprocess
import sys


def launch(ranks, limit):
    """The words before a program that runs on so many ranks, for `limit` seconds at most; none for one rank."""
    mpirun = ["timeout", "-k", "5", str(limit), "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]
    return mpirun if ranks > 1 else []


def run(command):
    """Ends this script with what the command says if it fails."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: status {result.returncode}\n{result.stdout}")
