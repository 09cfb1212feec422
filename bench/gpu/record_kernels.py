"""Records kernels that tests run on the emulator, with operands and results, for kernel_check.py.

Each test is a process of its own; several run at once. What has not come to its end in time is ended: what it has
recorded until then stays.
"""

import glob
import json
import os
import subprocess
import time

# The most telling first: what is not recorded in time is what comes last.
PROGRAMS = ("attention-tests", "examples-cuda-tests", "cuda-tests", "codegen-tests")
SMOKE_PROGRAMS = ("cuda-tests",)
# These run no kernels of ours on the emulator, or such as are broken on purpose.
FILTER = "-*CompileForGpus*:*CompilesForGpus*:*Barriers*:*OnCpu*:Contraction*:Elementary.*"
LAST = "Elementwise."  # all operations in all types: minutes of compiling


def tests_of(program):
    """Names, as --gtest_filter takes them."""
    command = [program, "--gtest_list_tests", f"--gtest_filter={FILTER}"]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    suite, names = "", []
    for line in said.splitlines():
        name = line.partition("#")[0].strip()
        if not line.startswith(" "):
            suite = name
        elif not name.startswith("DISABLED_"):
            names.append(suite + name)
    return names


def jobs(folder, binaries, is_smoke, say):
    """(program, test) in the order in which they are to run."""
    found = []
    for name in SMOKE_PROGRAMS if is_smoke else PROGRAMS:
        program = os.path.join(binaries, name)
        if os.access(program, os.X_OK):
            found += [(program, test) for test in tests_of(program)]
        else:
            say(f"there is no {program}: what it records is left out")
    os.makedirs(os.path.join(folder, "cases"), exist_ok=True)
    return sorted(found, key=lambda job: job[1].startswith(LAST))


def record(folder, job, end):
    """Whether the test came to its end; one that fails is an error."""
    program, test = job
    left = end - time.monotonic()
    if left <= 0:
        return False
    environment = {**os.environ, "TESSERA_RECORD_KERNELS": os.path.join(folder, "cases")}
    command = [program, "--gtest_brief=1", f"--gtest_filter={test}"]
    try:
        ended = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=left
        )
    except subprocess.TimeoutExpired:
        return False
    if ended.returncode != 0:
        raise RuntimeError(f"{os.path.basename(program)} failed in {test}:\n{ended.stdout[-3000:]}")
    return True


def tidy(folder):
    """Leaves whole cases, each kernel once; returns their number. A test that was ended may have cut its last one."""
    seen, count = set(), 0
    for path in sorted(glob.glob(os.path.join(folder, "cases", "*.jsonl"))):
        data = path.removesuffix(".jsonl") + ".bin"
        size, lines = os.path.getsize(data) if os.path.exists(data) else 0, []
        with open(path, encoding="utf-8") as file:
            for line in file:
                kernel = whole_kernel(line, size)
                if kernel and kernel not in seen:
                    seen.add(kernel)
                    lines.append(line)
        count += len(lines)
        if lines:
            with open(path, "w", encoding="utf-8") as out:
                out.writelines(lines)
        else:
            for one in filter(os.path.exists, (path, data)):
                os.remove(one)
    return count


def whole_kernel(line, size):
    """What the kernel of a case is known by; None if its end, or that of its bytes, is missing."""
    try:
        case = json.loads(line)
    except ValueError:
        return None
    ends = [argument[key] + argument["bytes"] for argument in case["arguments"] for key in ("offset", "expected")]
    if max(ends, default=0) > size:
        return None
    own = case["symbol"]
    return case["source"].replace(own, "") + str((case["blocks"], case["threads"]))
