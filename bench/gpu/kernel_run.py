#!/usr/bin/env python3
"""Launches recorded kernels on the first GPU and compares. kernel_check.py starts it, again after a failed kernel.

usage: kernel_run.py CASES

Says on standard output what the device is, then reads lines {"code": FILE, "cases": [NUMBER, …]} and answers for each
of the cases with a line {"case": NUMBER, "message": TEXT, "lost": BOOL}; the text is empty where all is right.
"""

import ctypes
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import device  # noqa: E402
import kernel_cases  # noqa: E402

MARGIN = 256  # bytes on both sides of an argument
ALIGNMENT = 256  # what an argument's address is a multiple of, but for its shift
UNTOUCHED = b"\x5a"


class Lost(Exception):
    """The device answers nothing any more in this process."""


def open_device():
    """(the driver, what it says of the device: name, number of its architecture, 1000 times its version of CUDA)"""
    library, _ = device.opened(device.DRIVER)
    if not library:
        raise RuntimeError("libcuda.so.1, the driver of an NVIDIA GPU, is not here")
    driver = device.Driver(library)
    facts = {"device": driver.open(), "number": driver.architecture(), "cuda": None}
    if hasattr(library, "cuDriverGetVersion"):
        facts["cuda"] = driver.number("cuDriverGetVersion")
    return driver, facts


class Layout:
    """Offsets of a case's arguments in one block of memory: `places` has the first byte of each owner, and its end."""

    def __init__(self, case):
        self.places, at = {}, MARGIN
        for number, size in owners(case).items():
            begin = -(-at // ALIGNMENT) * ALIGNMENT + case.arguments[number]["shift"]
            self.places[number] = (begin, begin + size)
            at = begin + size + MARGIN
        self.bytes = at

    def touched(self, memory):
        """What was written that is no argument, or ""."""
        before, ends = None, 0
        for number, (begin, end) in [*self.places.items(), (None, (self.bytes, self.bytes))]:
            gap = memory[ends:begin]
            if gap != UNTOUCHED * len(gap):
                found = [i for i, byte in enumerate(gap) if byte != UNTOUCHED[0]]
                behind, front = found[0], len(gap) - 1 - found[-1]
                if before is None or number is not None and front <= behind:
                    return f"wrote outside argument {number}: {len(found)} bytes in front of it, {front} bytes away"
                return f"wrote outside argument {before}: {len(found)} bytes behind it, {behind} bytes away"
            before, ends = number, end
        return ""


def owners(case):
    """Sizes of the arguments that have memory of their own: the largest of those that share it."""
    sizes = {number: 0 for number in range(len(case.arguments)) if case.owner(number) == number}
    for number, argument in enumerate(case.arguments):
        sizes[case.owner(number)] = max(sizes[case.owner(number)], argument["bytes"])
    return sizes


class Launcher:
    """`tight`: each argument has an allocation that ends with it, so that a sanitizer sees what is read behind it."""

    def __init__(self, driver, tight=False):
        self.driver, self.tight = driver, tight
        self.stream, self.memory, self.capacity = ctypes.c_void_p(), None, 0
        driver("cuStreamCreate", ctypes.byref(self.stream), 1)

    def load(self, code):
        module = ctypes.c_void_p()
        self.driver("cuModuleLoadData", ctypes.byref(module), code)
        return module

    def unload(self, module):
        self.driver("cuModuleUnload", module)

    def allocate(self, count):
        memory = ctypes.c_uint64()
        self.driver("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(max(count, 1)))
        return memory

    def check(self, case, module):
        """What is wrong with a case, or "". Raises Lost with it if the device is lost."""
        try:
            function = ctypes.c_void_p()
            self.driver("cuModuleGetFunction", ctypes.byref(function), module, case.symbol.encode())
            return self.check_tightly(case, function) if self.tight else self.check_with_margins(case, function)
        except ValueError as error:
            return str(error)
        except RuntimeError as error:
            try:
                self.driver("cuStreamSynchronize", self.stream)
            except RuntimeError:
                raise Lost(f"the kernel failed: {error}") from error
            return str(error)

    def check_with_margins(self, case, function):
        layout = Layout(case)
        if layout.bytes > self.capacity:
            if self.memory:
                self.driver("cuMemFree_v2", self.memory)
            self.memory, self.capacity = None, 0
            self.memory, self.capacity = self.allocate(layout.bytes), layout.bytes
        before = bytearray(UNTOUCHED * layout.bytes)
        for number, (begin, _) in layout.places.items():
            data = case.stored(case.arguments[number], "offset")
            before[begin : begin + len(data)] = data
        self.write(self.memory.value, before)
        self.launch(case, function, {number: self.memory.value + begin for number, (begin, _) in layout.places.items()})
        after = bytes(self.read(self.memory.value, layout.bytes))
        return layout.touched(after) or differences(case, {
            number: after[begin:end] for number, (begin, end) in layout.places.items()
        })  # fmt: skip

    def check_tightly(self, case, function):
        sizes = owners(case)
        shifts = {number: case.arguments[number]["shift"] for number in sizes}
        memory = {number: self.allocate(shifts[number] + size) for number, size in sizes.items()}
        addresses = {number: memory[number].value + shifts[number] for number in sizes}
        for number, address in addresses.items():
            self.write(address, bytearray(case.stored(case.arguments[number], "offset")))
        self.launch(case, function, addresses)
        after = {number: bytes(self.read(addresses[number], size)) for number, size in sizes.items()}
        for one in memory.values():
            self.driver("cuMemFree_v2", one)
        return differences(case, after)

    def launch(self, case, function, addresses):
        # Consecutive: a horizontally fused launch reads them all as its first parameter.
        owned = [addresses[case.owner(i)] for i in range(len(case.arguments))]
        values = (ctypes.c_uint64 * len(owned))(*owned)
        start, size = ctypes.addressof(values), ctypes.sizeof(ctypes.c_uint64)
        pointers = (ctypes.c_void_p * len(values))(*[start + i * size for i in range(len(values))])
        sizes = (case.blocks, 1, 1, case.threads, 1, 1, 0)
        self.driver("cuLaunchKernel", function, *sizes, self.stream, pointers, None)
        self.driver("cuStreamSynchronize", self.stream)

    def write(self, address, data):
        if data:
            host = (ctypes.c_char * len(data)).from_buffer(data)
            self.driver("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(address), host, ctypes.c_size_t(len(data)), self.stream)
            self.driver("cuStreamSynchronize", self.stream)

    def read(self, address, count):
        data = bytearray(count)
        if data:
            host = (ctypes.c_char * count).from_buffer(data)
            self.driver("cuMemcpyDtoHAsync_v2", host, ctypes.c_uint64(address), ctypes.c_size_t(count), self.stream)
            self.driver("cuStreamSynchronize", self.stream)
        return data


def differences(case, after):
    """What is wrong with the memory of the owners, or ""."""
    changed, problems = case.changed(), []
    for number, argument in enumerate(case.arguments):
        found = after[case.owner(number)][: argument["bytes"]]
        if argument["expected"] >= 0:
            expected = case.stored(argument, "expected")
            problem = kernel_cases.difference(argument["type"], expected, found, argument["tolerance"])
        elif case.owner(number) in changed or found == case.stored(argument, "offset"):
            continue
        else:
            problem = "changed, but the kernel is not to write it"
        if problem:
            problems.append(f"argument {number} ({argument['type']}): {problem}")
    return "; ".join(problems)


def answers(launcher, cases, code, numbers):
    """(number, what is wrong or "", whether the device is lost) of each case whose kernel is in `code`, until lost."""
    try:
        module = launcher.load(code)
    except RuntimeError as error:
        yield from ((number, f"its module does not load: {error}", False) for number in numbers)
        return
    for number in numbers:
        try:
            yield number, launcher.check(cases[number], module), False
        except Lost as problem:
            yield number, str(problem), True
            return
    launcher.unload(module)


def main(args):
    if len(args) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    # What a library prints must not come among the answers.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(value):
        print(json.dumps(value), file=out, flush=True)

    try:
        driver, facts = open_device()
        launcher = Launcher(driver)
    except RuntimeError as error:
        say({"problem": str(error)})
        return 2
    say(facts)
    cases = kernel_cases.read_cases(args[0])
    for line in sys.stdin:
        order = json.loads(line)
        with open(order["code"], "rb") as file:
            code = file.read()
        for number, message, lost in answers(launcher, cases, code, order["cases"]):
            say({"case": number, "message": message, "lost": lost})
            if lost:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
