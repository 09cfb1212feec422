#!/usr/bin/env python3
"""What the GPU is, and how fast it copies, asked of the driver itself. Prints one JSON object.

usage: device.py [--copy-bytes BYTES]
"""

import argparse
import ctypes
import glob
import json
import os
import platform
import shutil
import subprocess
import sys
import time

# Names of the libraries, the variable that names their folder to our programs, and folders that no loader knows of.
DRIVER = ("TESSERA_CUDA_DRIVER", ("libcuda.so.1",))
CUBLASLT = ("TESSERA_CUBLASLT", ("libcublasLt.so.13", "libcublasLt.so.12"))
NVRTC = ("CUDA_HOME", ("libnvrtc.so.13", "libnvrtc.so.12"))  # names the toolkit's folder: the library lies in its lib64
PLACES = (
    "/usr/local/cuda/lib64", "/usr/local/cuda-*/lib64", "/usr/local/cuda-*/targets/x86_64-linux/lib",
    "/usr/local/nvidia/lib*",
    "/usr/lib/x86_64-linux-gnu", "/opt/cuda/lib64", "/opt/nvidia/*/lib*",
)  # fmt: skip
INSIDE_PYTHON = ("nvidia/*/lib", "nvidia/lib")  # as pip installs them beside PyTorch

# By a word of the name: bytes a second from data sheets, then operations a second: 16 bits, tf32 and f32, dense.
DATA_SHEETS = (
    ("H200", 4.8e12, {"bf16": 989e12, "tf32": 495e12, "f32": 67e12}),
    ("H100 NVL", 3.9e12, {"bf16": 835e12, "tf32": 417e12, "f32": 60e12}),
    ("H100 PCIe", 2.0e12, {"bf16": 756e12, "tf32": 378e12, "f32": 51e12}),
    ("H100", 3.35e12, {"bf16": 989e12, "tf32": 495e12, "f32": 67e12}),
    ("A100-SXM4-80GB", 2.039e12, {"bf16": 312e12, "tf32": 156e12, "f32": 19.5e12}),
    ("A100", 1.555e12, {"bf16": 312e12, "tf32": 156e12, "f32": 19.5e12}),
)
COPIES = 20


def data_sheet(name):
    for word, copy, operations in DATA_SHEETS:
        if all(part in name for part in word.split()):
            return {"memory_bytes": copy, "flops": {**operations, "fp16": operations["bf16"]}}
    return None


def opened(library):
    """(the library, the folder that our programs must be told of, or None)"""
    variable, names = library
    told = os.environ.get(variable)
    if told and variable == NVRTC[0]:
        told = os.path.join(told, "lib64")
    inside = [os.path.join(path, pattern) for path in sys.path if "-packages" in path for pattern in INSIDE_PYTHON]
    for pattern in [told] if told else ["", *PLACES, *inside]:
        for folder in sorted(glob.glob(pattern), reverse=True) if pattern else [""]:
            for name in names:
                try:
                    return ctypes.CDLL(os.path.join(folder, name)), folder or None
                except OSError:
                    pass
    return None, None


class Driver:
    def __init__(self, library):
        self.library = library

    def __call__(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} answers {self.error_text(status)}")

    def error_text(self, status):
        text = ctypes.c_char_p()
        is_known = self.library.cuGetErrorName(status, ctypes.byref(text)) == 0 and text.value
        return f"{status} ({text.value.decode()})" if is_known else str(status)

    def number(self, name, *arguments):
        value = ctypes.c_int()
        self(name, ctypes.byref(value), *arguments)
        return value.value

    def open(self):
        self("cuInit", 0)
        if self.number("cuDeviceGetCount") == 0:
            raise RuntimeError("there is no NVIDIA GPU here")
        self.device, context, text = self.number("cuDeviceGet", 0), ctypes.c_void_p(), ctypes.create_string_buffer(256)
        self("cuDeviceGetName", text, 256, self.device)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self("cuCtxSetCurrent", context)
        return text.value.decode()

    def architecture(self):
        """10 times the major number plus the minor one."""
        major, minor = (self.number("cuDeviceGetAttribute", attribute, self.device) for attribute in (75, 76))
        return 10 * major + minor

    def memory(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return total.value

    def stream(self):
        stream = ctypes.c_void_p()
        self("cuStreamCreate", ctypes.byref(stream), 1)
        return stream

    def allocate(self, count):
        memory = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(max(count, 1)))
        return memory

    def seconds_of(self, work, stream, times):
        """Of what `work` puts into the stream: the mean of some, and of three such means the least."""
        fastest = float("inf")
        for _ in range(3):
            self("cuStreamSynchronize", stream)
            started = time.perf_counter()
            for _ in range(times):
                work()
            self("cuStreamSynchronize", stream)
            fastest = min(fastest, (time.perf_counter() - started) / times)
        return fastest

    def copy_speed(self, count):
        """Bytes read and written in a second, of a copy of `count` bytes inside of the device."""
        stream, memory = self.stream(), [self.allocate(count), self.allocate(count)]
        size = ctypes.c_size_t(count)
        seconds = self.seconds_of(lambda: self("cuMemcpyDtoDAsync_v2", *memory, size, stream), stream, COPIES)
        for one in memory:
            self("cuMemFree_v2", one)
        return 2 * count / seconds

    def host_copy_speeds(self, count):
        """Bytes a second from pinned memory of the host to the device, and back."""
        stream, memory, host = self.stream(), self.allocate(count), ctypes.c_void_p()
        self("cuMemHostAlloc", ctypes.byref(host), ctypes.c_size_t(count), 0)
        size, speeds = ctypes.c_size_t(count), {}
        for name, call in (
            ("to_device", lambda: self("cuMemcpyHtoDAsync_v2", memory, host, size, stream)),
            ("from_device", lambda: self("cuMemcpyDtoHAsync_v2", host, memory, size, stream)),
        ):
            speeds[name] = round(count / self.seconds_of(call, stream, 4))
        self("cuMemFreeHost", host)
        self("cuMemFree_v2", memory)
        return speeds


def measured(measure, count):
    """None where it was not asked for, or there is no room for it."""
    try:
        return measure(count) if count else None
    except RuntimeError:
        return None


def version_text(number):
    return f"{number // 1000}.{number % 1000 // 10}"


def driver_version():
    if not shutil.which("nvidia-smi"):
        return None
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    lines = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.split()
    return lines[0] if lines else None


def facts(copy_bytes):
    found = {"name": None, "problem": "", "folders": {}, "python": platform.python_version()}
    library, folder = opened(DRIVER)
    if not library:
        return {**found, "problem": "libcuda.so.1, the driver of an NVIDIA GPU, is not here"}
    if folder:
        found["folders"][DRIVER[0]] = folder
    driver = Driver(library)
    try:
        found["name"] = driver.open()
        found["architecture"] = f"sm_{driver.architecture()}"
        found["memory_bytes"] = driver.memory()
        found["driver"] = driver_version()
        if hasattr(library, "cuDriverGetVersion"):
            found["cuda"] = version_text(driver.number("cuDriverGetVersion"))
    except RuntimeError as error:
        return {**found, "problem": str(error)}
    if copy_bytes:
        found["copy_bytes_per_second"] = measured(lambda count: round(driver.copy_speed(count)), copy_bytes)
        found["host_copies"] = measured(driver.host_copy_speeds, copy_bytes // 4)
    found["data_sheet"] = data_sheet(found["name"])
    products, folder = opened(CUBLASLT)
    if not products:
        found["note"] = (
            "libcublasLt.so.13 or 12, of the CUDA Toolkit, was not found: set TESSERA_CUBLASLT to its folder"
        )
    elif hasattr(products, "cublasLtGetVersion"):
        products.cublasLtGetVersion.restype = ctypes.c_size_t
        number = products.cublasLtGetVersion()
        found["cublaslt"] = f"{number // 10000}.{number // 100 % 100}.{number % 100}"
    if folder:
        found["folders"][CUBLASLT[0]] = folder
    return found


def main():
    parser = argparse.ArgumentParser(description="What the GPU is, as JSON.")
    parser.add_argument("--copy-bytes", type=int, default=0, help="measures copies of so many bytes")
    print(json.dumps(facts(parser.parse_args().copy_bytes)))


if __name__ == "__main__":
    main()
