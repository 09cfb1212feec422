"""NVRTC, as codegen/cuda/nvrtc/Nvrtc.cpp calls it: CUDA C++ to machine code, or to PTX for GPUs newer than NVRTC."""

import ctypes
import glob
import os

import device

OPTIONS = [b"--std=c++17", b"--fmad=false"]
CUBIN_OPTIONS = [b"--ptxas-options=-v", b"--device-as-default-execution-space"]


def headers_in(folder):
    """(text, name) of what kernels include."""
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "*.cuh"))):
        with open(path, "rb") as file:
            found.append((file.read(), os.path.basename(path).encode()))
    return found


class Nvrtc:
    """Many threads may compile at once."""

    def __init__(self, library, headers):
        self.library, self.headers = library, headers
        count = ctypes.c_int()
        self.architectures = []
        if library.nvrtcGetNumSupportedArchs(ctypes.byref(count)) == 0 and count.value > 0:
            numbers = (ctypes.c_int * count.value)()
            library.nvrtcGetSupportedArchs(numbers)
            self.architectures = sorted(numbers)

    def target(self, number):
        """What to compile for, on a GPU of this number; None if none of it can run there."""
        if number in self.architectures:
            return f"sm_{number}{'a' if number >= 90 else ''}"
        older = [one for one in self.architectures if one < number]
        return f"compute_{older[-1]}" if older else None

    def compile(self, source, target):
        """(the code, or None where it does not compile; what NVRTC says)"""
        program, call = ctypes.c_void_p(), self.library
        texts = (ctypes.c_char_p * len(self.headers))(*[text for text, _ in self.headers])
        names = (ctypes.c_char_p * len(self.headers))(*[name for _, name in self.headers])
        count = len(self.headers)
        if call.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", count, texts, names) != 0:
            return None, "NVRTC takes no source"
        is_ptx = target.startswith("compute")
        options = [f"--gpu-architecture={target}".encode(), *OPTIONS, *([] if is_ptx else CUBIN_OPTIONS)]
        status = call.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        log = self.fetch("nvrtcGetProgramLog", program).rstrip(b"\0").decode(errors="replace")
        code = None
        if status == 0:  # PTX with the zero behind it
            code = self.fetch("nvrtcGetPTX" if is_ptx else "nvrtcGetCUBIN", program)
        call.nvrtcDestroyProgram(ctypes.byref(program))
        return code, log or (f"NVRTC error {status}" if status != 0 else "")

    def fetch(self, name, program):
        size = ctypes.c_size_t()
        if getattr(self.library, f"{name}Size")(program, ctypes.byref(size)) != 0 or size.value == 0:
            return b""
        text = ctypes.create_string_buffer(size.value)
        getattr(self.library, name)(program, text)
        return text.raw


def opened(headers, cuda=None):
    """None without NVRTC. `cuda` is 1000 times the driver's version of CUDA: it may refuse code of a later one."""
    variable, names = device.NVRTC
    library = device.NVRTC
    if cuda and cuda < 13000:
        library = (variable, tuple(reversed(names)))
    found, _ = device.opened(library)
    return Nvrtc(found, headers) if found else None
