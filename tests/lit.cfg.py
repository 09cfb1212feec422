"""lit: tests of IR and of text, in .mlir and .test files.

With `--param roundtrip=1` only the .mlir files run, and tessera-opt prints and parses every module
again (`--verify-roundtrip`), as text and as bytecode.
"""

import ctypes
import os
import shutil
import subprocess

import lit.formats

roundtrip = lit_config.params.get("roundtrip") == "1"
folder = lit_config.params.get("folder", "roundtrip" if roundtrip else "lit")  # of outputs: lit empties it first

config.name = "tessera-roundtrip" if roundtrip else "tessera"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"] if roundtrip else [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.join(config.tessera_source, "tests")
config.test_exec_root = os.path.join(config.tessera_build, "tests", folder)

binaries = os.path.join(config.tessera_build, "bin")
config.environment["PATH"] = os.pathsep.join([binaries, config.llvm_tools, os.environ["PATH"]])
config.environment["HWLOC_HIDE_ERRORS"] = "2"  # Open MPI's hwloc says where there is no /sys
config.environment["TESSERA_CACHE_DIR"] = os.devnull  # no folder: programs are made, unless a test names a cache
if os.path.exists(os.path.join(binaries, "tessera")):
    config.available_features.add("tessera")

# A sanitizer reserves terabytes of addresses for its shadow, keeps freed memory and has a malloc of its own: tests of
# limits on memory and of what `malloc` serves cannot hold.
if config.sanitizer:
    config.available_features.add("sanitizer")


def has_nvrtc():
    """Whether `--target=cuda` finds the compiler for GPUs."""
    for version in ("13", "12"):
        for folder in ("", "/usr/local/cuda/lib64/"):
            try:
                ctypes.CDLL(f"{folder}libnvrtc.so.{version}")
                return True
            except OSError:
                pass
    return False


def can_make_hosts(script):
    """Whether network namespaces can be hosts: only root makes them, and not in every container."""
    if os.geteuid() != 0:
        return False
    command = [script, "1gbit", "1", "true"]
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


if shutil.which("chromium"):
    config.available_features.add("chromium")  # shows pages; `scripts/setup.sh chromium` installs it
if has_nvrtc():
    config.available_features.add("nvrtc")

config.substitutions.append(("%source", config.tessera_source))
config.substitutions.append(("%mpirun", "timeout -k 5 60 mpirun --allow-run-as-root --oversubscribe"))
torchrun = os.path.join(config.tessera_source, "tests", "runtime", "ranks", "torchrun.sh")
config.substitutions.append(("%torchrun", f"timeout -k 5 60 {torchrun}"))
two_hosts = os.path.join(config.tessera_source, "tests", "runtime", "ranks", "two-hosts.sh")
config.substitutions.append(("%two-hosts", f"timeout -k 5 120 {two_hosts}"))
if can_make_hosts(two_hosts):
    config.available_features.add("two-hosts")
fake_cuda = os.path.join(config.tessera_build, "tests", "fake-cuda")
config.substitutions.append(
    (
        "%fake-cuda",
        f"env CUDA_HOME={fake_cuda} TESSERA_CUDA_DRIVER={fake_cuda}/lib64 TESSERA_CUBLASLT={fake_cuda}/lib64 "
        f"TESSERA_NCCL={fake_cuda}/lib64",
    )
)
# Local scope: types stand at each op as they are, not as aliases whose names depend on the rest of the module.
tessera_opt = "tessera-opt --mlir-print-local-scope" + (" --verify-roundtrip" if roundtrip else "")
config.substitutions.append((r"\btessera-opt\b", tessera_opt))
