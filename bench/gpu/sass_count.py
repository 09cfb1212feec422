#!/usr/bin/env python3
"""Prints as a table how many instructions tiled kernels execute for each matrix instruction. It needs no GPU.

usage: sass_count.py [--arch sm_90a] [--classes] FILE...

A FILE is CUDA C++ (.cu), machine code (.cubin), or a folder that `tessera compile --dump-dir` has written, of which the
kernels with matrix products are taken. A row is an innermost loop with matrix instructions (HMMA): a kernel has several
where tiles that the band's edges cross have a loop of their own. Its columns are the instructions of an iteration for
each HMMA, with --classes also by class; then of the whole kernel registers, bytes of stack (of which spilled registers
are a part), shared memory, and the warps that fit on a multiprocessor of sm_90. docs/cuda.md has such a table.

It calls nvcc (for .cu), cuobjdump and nvdisasm, on the PATH or in the folder that the variable CUDA_TOOLS names.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

REGISTERS, SHARED_BYTES, WARPS = 65536, 227 * 1024, 64  # of a multiprocessor of sm_90
RESERVED_BYTES = 1024  # of shared memory, for each block
OPTIONS = ["--std=c++17", "--fmad=false"]  # as the compiler tells NVRTC

# The first class that matches an instruction's name. `matrix` is what the others are compared with.
CLASSES = [
    ("matrix", r"HMMA"),
    ("ldmatrix", r"LDSM"),
    ("exponential", r"MUFU"),
    ("conversion", r"F2F|F2I|I2F|PRMT"),
    ("copy", r"LDGSTS|LDGDEPBAR|DEPBAR"),
    ("memory", r"LD|ST|ATOM"),
    ("float", r"FADD|FMUL|FFMA|FMNMX|FSEL|FSETP|FSET|FCHK|HADD|HMUL|HFMA"),
    ("integer", r"I|U?LOP|U?SHF|U?LEA|U?IMAD|UI|SEL|USEL|P2R|R2P|PLOP|UPLOP|SGXT|VIADD"),
    ("move", r"U?MOV|CS2R|S2R|S2UR|R2UR"),
    ("shuffle", r"SHFL|VOTE"),
    ("control", r"."),
]


def tool(name):
    folder = os.environ.get("CUDA_TOOLS")
    return os.path.join(folder, name) if folder else name


def output_of(*command):
    environment = dict(os.environ)
    if "CUDA_TOOLS" in environment:  # cuobjdump starts nvdisasm
        environment["PATH"] = environment["CUDA_TOOLS"] + os.pathsep + environment["PATH"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, env=environment)
    except FileNotFoundError:
        sys.exit(f"{command[0]} is not on the PATH (CUDA_TOOLS may name its folder)")
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{result.stderr}")
    return result.stdout


def compiled(source, folder, arch):
    cubin = Path(folder) / (source.stem + ".cubin")
    output_of("nvcc", "-cubin", f"-arch={arch}", *OPTIONS, "-o", str(cubin), str(source))
    return cubin


def sources_in(path):
    """The kernels with matrix products that a dump folder contains."""
    folder = path / "cuda" if (path / "cuda").is_dir() else path
    return [file for file in sorted(folder.glob("*.cu")) if "tsr::multiply_add" in file.read_text()]


def class_of(name):
    return next(label for label, pattern in CLASSES if re.match(pattern, name))


def instructions_of(text):
    """(address, name, address that it may jump to or None) of each instruction of a function."""
    pattern = r"/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)([^;]*);"
    for match in re.finditer(pattern, text):
        name, operands = match[2], match[3]
        target = re.search(r"0x([0-9a-f]+)", operands) if name.startswith("BRA") else None
        yield int(match[1], 16), name, int(target[1], 16) if target else None


def loops_of(text):
    """The names in each innermost loop with matrix instructions: from the target of a backward jump to the jump."""
    code = [item for item in instructions_of(text) if not item[1].startswith("NOP")]
    ranges = sorted({(target, address) for address, _, target in code if target is not None and target < address})
    names = [[name for address, name, _ in code if first <= address <= last] for first, last in ranges]
    with_matrices = [
        (span, body) for span, body in zip(ranges, names) if any(name.startswith("HMMA") for name in body)
    ]
    for (first, last), body in with_matrices:
        inside = [span for span, _ in with_matrices if span != (first, last) and first <= span[0] and span[1] <= last]
        if not inside:
            yield body


def resources_of(cubin):
    """Registers, bytes of stack, of shared memory and of local memory of each function."""
    text = output_of(tool("cuobjdump"), "-res-usage", str(cubin))
    pattern = r"Function (\S+):\s*REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)"
    return {match[1]: tuple(int(match[i]) for i in range(2, 6)) for match in re.finditer(pattern, text)}


def warps_of(registers, shared, threads):
    """The warps on a multiprocessor: registers are given to a warp 256 at a time."""
    warps = threads // 32
    by_registers = REGISTERS // (-(-registers * 32 // 256) * 256) // warps
    by_shared = SHARED_BYTES // (shared + RESERVED_BYTES)
    return min(by_registers, by_shared, WARPS // warps) * warps


def rows_of(cubin, threads):
    resources = resources_of(cubin)
    text = output_of(tool("cuobjdump"), "-sass", str(cubin))
    for function in re.split(r"\bFunction : ", text)[1:]:
        symbol = function.split(None, 1)[0]
        registers, stack, shared, local = resources[symbol]
        for body in loops_of(function):
            counts = Counter(class_of(name) for name in body)
            yield symbol, counts, registers, stack + local, shared, warps_of(registers, shared, threads)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--threads", type=int, default=128, help="of a block")
    parser.add_argument("--classes", action="store_true", help="instructions for each HMMA, by class")
    options = parser.parse_args()
    classes = [label for label, _ in CLASSES if label != "matrix"] if options.classes else []
    heads = ["kernel", "HMMA", "all / HMMA"] + classes + ["registers", "stack", "shared KB", "warps"]
    print("| " + " | ".join(heads) + " |")
    print("|" + " --- |" * len(heads))
    with tempfile.TemporaryDirectory() as folder:
        for path in options.files:
            for file in sources_in(path) if path.is_dir() else [path]:
                cubin = file if file.suffix == ".cubin" else compiled(file, folder, options.arch)
                for symbol, counts, registers, stack, shared, warps in rows_of(cubin, options.threads):
                    matrix = counts["matrix"]
                    cells = [f"`{symbol}`", matrix, f"{sum(counts.values()) / matrix:.1f}"]
                    cells += [f"{counts[label] / matrix:.2f}" for label in classes]
                    cells += [registers, stack, f"{shared / 1024:.1f}", warps]
                    print("| " + " | ".join(str(cell) for cell in cells) + " |")


if __name__ == "__main__":
    main()
