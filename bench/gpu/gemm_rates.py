#!/usr/bin/env python3
"""Times products of matrices by cuBLASLt on the first GPU: one of a size that shows the rate of the device, then those
of GPT-2 124M at 32 × 1024. Prints a JSON object a line, as they come.

usage: gemm_rates.py [--limit SECONDS] [--small]

A product that the library has no algorithm for, or that fails, leaves the others. `flops`: operations a second with
the fastest of the algorithms that the library suggests, for random numbers (zeros take less power: more a second).
"""

import argparse
import array
import ctypes
import functools
import json
import random
import time

import device
import kernel_run

# As runtime/cuda/CublasLt.h has them.
COMPUTE = {"bf16": 68, "f32": 68, "tf32": 77}
TYPES = {"bf16": 14, "f32": 0, "tf32": 0}
REAL_F32 = 0
TRANSPOSE_A, TRANSPOSE_B, WORKSPACE, REDUCTIONS = 3, 4, 1, 3
WORKSPACE_BYTES = 32 * 2**20  # as programs have
COMPUTE_TYPE = 2  # the parts of a split sum are added in f32, as programs do for results of 16 bits
ALGORITHMS = 8
TIMES = 10  # launches of a measurement
LEAST = 1.5  # seconds for a product

# (name, type, rows, columns, depth, whether a and b are transposed, and perhaps how long a column is and how far apart
# columns of that length begin), as the library counts: column by column. What has one row a token here is `TOKENS`
# columns there.
TOKENS, WIDTH = 32 * 1024, 768


def with_words(words, stride, tokens, width):
    """The products with the logits. Columns of words begin `stride` elements apart."""
    name = f"{words}" if stride == words else f"{words}, {stride} apart"
    padding = (words, stride)
    yield (f"logits of {name}", "bf16", words, tokens, width, True, False, padding)
    yield (f"their input of {name}", "bf16", width, tokens, words, False, False, padding)
    yield (f"their weight of {name}", "bf16", width, words, tokens, False, True, padding)


PRODUCTS = (
    ("cube", "bf16", 8192, 8192, 8192, False, False),
    ("query, key or value", "bf16", WIDTH, TOKENS, WIDTH, False, False),
    ("query, key and value", "bf16", 3 * WIDTH, TOKENS, WIDTH, False, False),
    ("up", "bf16", 4 * WIDTH, TOKENS, WIDTH, False, False),
    ("down", "bf16", WIDTH, TOKENS, 4 * WIDTH, False, False),
    ("gradient of up's input", "bf16", WIDTH, TOKENS, 4 * WIDTH, True, False),
    ("gradient of up", "bf16", 4 * WIDTH, WIDTH, TOKENS, False, True),
    *with_words(50257, 50264, TOKENS, WIDTH),  # rows begin at multiples of a vector and do not end there
    *with_words(50256, 50264, TOKENS, WIDTH),  # in two parts, each of whole vectors or small
    *with_words(1, 50264, TOKENS, WIDTH),
    *with_words(50257, 50257, TOKENS, WIDTH),
    *with_words(50304, 50304, TOKENS, WIDTH),
    ("cube", "tf32", 8192, 8192, 8192, False, False),
    ("cube", "f32", 4096, 4096, 4096, False, False),
)
SMALL = (
    ("cube", "bf16", 32, 32, 32, False, False),
    *with_words(17, 17, 24, 8),
    *with_words(17, 24, 24, 8),
    *with_words(1, 24, 24, 8),
    ("cube", "f32", 16, 16, 16, False, False),
)


class Heuristic(ctypes.Structure):
    _fields_ = [
        ("algorithm", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t), ("status", ctypes.c_int),
        ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4),
    ]  # fmt: skip


def by_reference(kind, value):
    """What an attribute is set from: address and size."""
    one = kind(value)
    return ctypes.byref(one), ctypes.c_size_t(ctypes.sizeof(one))


class Library:
    """The calls of cuBLASLt; one that fails is an error that names it."""

    def __init__(self, library):
        self.library, self.handle = library, ctypes.c_void_p()
        self("cublasLtCreate", ctypes.byref(self.handle))

    def __call__(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} answers {status}")

    def made(self, name, *arguments):
        made = ctypes.c_void_p()
        self(name, ctypes.byref(made), *arguments)
        return made


@functools.lru_cache
def random_block(kind):
    """Bytes of random numbers from -1 to 1."""
    draw = random.Random(2)
    numbers = array.array("f", (draw.uniform(-1, 1) for _ in range(1 << 18)))
    if kind != "bf16":
        return numbers.tobytes()
    data, upper = numbers.tobytes(), bytearray(len(numbers) * 2)
    upper[0::2], upper[1::2] = data[2::4], data[3::4]  # the upper halves of f32
    return bytes(upper)


class Product:
    """One product, with memory for its operands."""

    def __init__(self, blas, launcher, product):
        _, self.type, rows, columns, depth, is_a_turned, is_b_turned, *padding = product
        self.blas, self.launcher, self.strides = blas, launcher, dict(padding)
        width = 2 if self.type == "bf16" else 4
        shapes = (
            (depth, rows) if is_a_turned else (rows, depth),
            (columns, depth) if is_b_turned else (depth, columns),
            (rows, columns),
        )
        sizes = [self.stride(shape[0]) * shape[1] for shape in shapes]
        self.memory = []
        for size in sizes:
            self.memory.append(launcher.allocate(width * size))
        for memory, size in zip(self.memory[:2], sizes):
            self.fill(memory.value, width * size)
        self.workspace = launcher.allocate(WORKSPACE_BYTES)
        self.desc = blas.made("cublasLtMatmulDescCreate", COMPUTE[self.type], REAL_F32)
        for attribute, value in ((TRANSPOSE_A, is_a_turned), (TRANSPOSE_B, is_b_turned)):
            blas("cublasLtMatmulDescSetAttribute", self.desc, attribute, *by_reference(ctypes.c_int32, int(value)))
        self.layouts = [self.layout(*shape) for shape in shapes]

    def stride(self, rows):
        """Elements from one column of so many rows to the next."""
        return self.strides.get(rows, rows)

    def layout(self, rows, columns):
        size, leading = (ctypes.c_uint64(rows), ctypes.c_uint64(columns)), ctypes.c_int64(self.stride(rows))
        return self.blas.made("cublasLtMatrixLayoutCreate", TYPES[self.type], *size, leading)

    def fill(self, address, count):
        """Random numbers, the same again and again."""
        block = bytearray(random_block(self.type)[:count])
        self.launcher.write(address, block)
        done = len(block)
        while done < count:  # twice as much each time
            size = min(done, count - done)
            arguments = (ctypes.c_uint64(address + done), ctypes.c_uint64(address), ctypes.c_size_t(size))
            self.launcher.driver("cuMemcpyDtoDAsync_v2", *arguments, self.launcher.stream)
            done += size
        self.launcher.driver("cuStreamSynchronize", self.launcher.stream)

    def algorithms(self):
        preference, a_b_d = self.blas.made("cublasLtMatmulPreferenceCreate"), self.layouts
        value = by_reference(ctypes.c_uint64, WORKSPACE_BYTES)
        self.blas("cublasLtMatmulPreferenceSetAttribute", preference, WORKSPACE, *value)
        if self.type == "bf16":
            value = by_reference(ctypes.c_uint32, COMPUTE_TYPE)
            self.blas("cublasLtMatmulPreferenceSetAttribute", preference, REDUCTIONS, *value)
        results, found = (Heuristic * ALGORITHMS)(), ctypes.c_int()
        order = (self.desc, *a_b_d, a_b_d[2], preference, ALGORITHMS, results, ctypes.byref(found))
        self.blas("cublasLtMatmulAlgoGetHeuristic", self.blas.handle, *order)
        self.blas("cublasLtMatmulPreferenceDestroy", preference)
        return [one for one in results[: found.value] if one.status == 0]

    def launch(self, algorithm):
        a, b, d = self.memory
        of_a, of_b, of_d = self.layouts
        one, none = ctypes.c_float(1), ctypes.c_float(0)
        self.blas(
            "cublasLtMatmul", self.blas.handle, self.desc, ctypes.byref(one), a, of_a, b, of_b, ctypes.byref(none),
            d, of_d, d, of_d, algorithm.algorithm, self.workspace, ctypes.c_size_t(WORKSPACE_BYTES),
            self.launcher.stream,
        )  # fmt: skip

    def fastest(self, end):
        """(seconds, how many algorithms were tried)"""
        seconds, tried = float("inf"), 0
        for algorithm in self.algorithms():
            try:
                self.launch(algorithm)  # what is loaded once does not count
                took = self.launcher.driver.seconds_of(lambda: self.launch(algorithm), self.launcher.stream, TIMES)
            except RuntimeError:
                continue
            seconds, tried = min(seconds, took), tried + 1
            if time.monotonic() > end:
                break
        if not tried:
            raise RuntimeError("cuBLASLt has no algorithm that runs")
        return seconds, tried

    def close(self):
        for memory in (*self.memory, self.workspace):
            self.launcher.driver("cuMemFree_v2", memory)


def measure(blas, launcher, product, end):
    name, kind, rows, columns, depth, *_ = product
    result = {"name": f"{name} {kind}", "type": kind, "size": [rows, columns, depth], "ok": False}
    try:
        one = Product(blas, launcher, product)
        try:
            seconds, tried = one.fastest(end)
        finally:
            one.close()
    except RuntimeError as error:
        return {**result, "problem": str(error)}
    flops = 2 * rows * columns * depth / seconds
    return {**result, "ok": True, "ms": round(seconds * 1e3, 5), "flops": round(flops), "algorithms": tried}


def main():
    parser = argparse.ArgumentParser(description="Times products of matrices by cuBLASLt, as JSON.")
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds")
    parser.add_argument("--small", action="store_true", help="sizes for an emulated GPU")
    options = parser.parse_args()
    end = time.monotonic() + options.limit
    driver, _ = kernel_run.open_device()
    library, _ = device.opened(device.CUBLASLT)
    if not library:
        raise SystemExit("libcublasLt.so.13 or 12, of the CUDA Toolkit, was not found")
    blas, launcher = Library(library), kernel_run.Launcher(driver)
    for product in SMALL if options.small else PRODUCTS:
        if time.monotonic() > end - LEAST:
            print(json.dumps({"late": True}), flush=True)
            break
        print(json.dumps(measure(blas, launcher, product, end)), flush=True)


if __name__ == "__main__":
    main()
