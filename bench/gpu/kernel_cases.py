"""Recorded kernels (tests/codegen/cuda/KernelRecorder): their arguments, and whether results equal the stored ones.

A folder holds pairs NAME.jsonl, a case a line, and NAME.bin, the bytes before and after the launch.
"""

import array
import glob
import json
import math
import operator
import os
import re
import struct

SIZES = {"f32": 4, "f64": 8, "bf16": 2, "f16": 2, "f8E4M3FN": 1, "f8E5M2": 1, "i1": 1, "i8": 1, "i32": 4, "i64": 8}
CODES = {"f32": "f", "f64": "d", "i1": "B", "i8": "b", "i32": "i", "i64": "q"}
# Mantissa bits, and the exponent of the smallest normal number.
LOW_FLOATS = {"bf16": (7, -126), "f16": (10, -14), "f8E4M3FN": (3, -6), "f8E5M2": (2, -14)}
KERNEL = re.compile(r"__global__\s+void\s*(?:__launch_bounds__\s*\([^)]*\))?\s*(\w+)\s*\(")


class Case:
    def __init__(self, number, record, binary):
        self.number, self.binary = number, binary
        # What recorded it: the file is named after the program and its process.
        program = re.sub(r"(-\d+)?\.bin$", "", os.path.basename(binary))
        self.name = f"{program}: {record['name'].removeprefix(f'{program}: ')}"
        self.symbol, self.source = record["symbol"], record["source"]
        self.blocks, self.threads, self.arguments = record["blocks"], record["threads"], record["arguments"]
        for argument in self.arguments:
            if argument["bytes"] % SIZES[argument["type"]] != 0:
                raise ValueError(f"{argument['bytes']} bytes are no numbers of type {argument['type']}")

    def kernels(self):
        """Names that the source defines."""
        return set(KERNEL.findall(self.source))

    def owner(self, number):
        """The argument whose memory this one is in."""
        while self.arguments[number]["same_as"] >= 0:
            number = self.arguments[number]["same_as"]
        return number

    def stored(self, argument, key):
        """Its bytes before the launch (`offset`) or behind it (`expected`)."""
        with open(self.binary, "rb") as file:
            data = os.pread(file.fileno(), argument["bytes"], argument[key])
        if len(data) != argument["bytes"]:
            raise ValueError(f"{os.path.basename(self.binary)} ends before what is stored of {self.name}")
        return data

    def changed(self):
        """Owners of memory that the kernel writes."""
        return {self.owner(i) for i, argument in enumerate(self.arguments) if argument["expected"] >= 0}


def read_cases(folder):
    """All cases; their numbers are the same at every call."""
    cases = []
    for path in sorted(glob.glob(os.path.join(folder, "*.jsonl"))):
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                try:
                    cases.append(Case(len(cases), json.loads(line), path.removesuffix(".jsonl") + ".bin"))
                except (KeyError, ValueError) as error:
                    raise ValueError(f"{os.path.basename(path)}:{number}: {error!r}") from error
    return cases


# numbers --------------------------------------------------------------------------------------------------------------


def fp8_value(bits, mantissa, bias):
    magnitude = bits & 0x7F
    exponent, fraction = magnitude >> mantissa, (magnitude & ((1 << mantissa) - 1)) / (1 << mantissa)
    if mantissa == 3 and magnitude == 0x7F or mantissa == 2 and magnitude > 0x7C:
        return math.nan
    if mantissa == 2 and magnitude == 0x7C:
        value = math.inf
    else:
        value = math.ldexp(1 + fraction, exponent - bias) if exponent else math.ldexp(fraction, 1 - bias)
    return -value if bits & 0x80 else value


FP8_TABLES = {
    "f8E4M3FN": [fp8_value(bits, 3, 7) for bits in range(256)],
    "f8E5M2": [fp8_value(bits, 2, 15) for bits in range(256)],
}


def numbers(kind, data):
    if kind == "bf16":  # the upper halves of f32
        wide = bytearray(2 * len(data))
        wide[2::4], wide[3::4] = data[0::2], data[1::2]
        return array.array("f", bytes(wide))
    if kind == "f16":
        return struct.unpack(f"<{len(data) // 2}e", data)
    if kind in FP8_TABLES:
        return [FP8_TABLES[kind][byte] for byte in data]
    return array.array(CODES[kind], data)


def allowed_distance(kind, expected, tolerance):
    """Relative to the largest finite magnitude; of low-precision floats at least their last place there."""
    scale = max((abs(x) for x in expected if math.isfinite(x)), default=0.0)
    allowed = tolerance * scale
    if kind in LOW_FLOATS and scale > 0:
        mantissa, smallest = LOW_FLOATS[kind]
        allowed = max(allowed, math.ldexp(1.0, max(math.frexp(scale)[1] - 1, smallest) - mantissa))
    return allowed


def distance(expected, found):
    """Equal infinities are 0 apart, and so are two NaN; one that the other has not is infinitely far."""
    if expected == found or expected != expected and found != found:
        return 0.0
    off = abs(found - expected)
    return off if off == off else math.inf


def difference(kind, expected_data, found_data, tolerance):
    """What is wrong with the bytes that were found, or ""."""
    if expected_data == found_data:
        return ""
    expected, found = numbers(kind, expected_data), numbers(kind, found_data)
    if kind.startswith("i"):
        allowed, off = 0, [abs(b - a) for a, b in zip(expected, found)]
    else:
        allowed = allowed_distance(kind, expected, tolerance)
        if all(map(math.isfinite, expected)) and all(map(math.isfinite, found)):
            off = list(map(abs, map(operator.sub, found, expected)))
        else:
            off = list(map(distance, expected, found))
    worst = max(off)
    if worst <= allowed:
        return ""
    bad = [i for i, one in enumerate(off) if one > allowed]
    first = bad[0]
    return (
        f"{len(bad)} of {len(off)} numbers off by up to {worst:.2g} where {allowed:.2g} is allowed; first [{first}]: "
        f"{found[first]:.9g} instead of {expected[first]:.9g}"
    )
