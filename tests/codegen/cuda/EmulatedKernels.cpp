//===- EmulatedKernels.cpp - generated CUDA kernels in this process ---------===//

#include "tests/codegen/cuda/EmulatedKernels.h"
#include "codegen/cuda/device/DeviceHeaders.h"
#include "tests/codegen/cuda/Emulator.h"
#include "tests/codegen/cuda/KernelRecorder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <dlfcn.h>

using namespace tessera;
using namespace tessera::test;

/// A function that receives its arguments in the form of a launch.
static std::string trampoline(const cuda::CudaKernel &kernel) {
  std::string text = "extern \"C\" void emulated_" + kernel.symbol + "(void **arguments) {\n  " + kernel.symbol + "(";
  if (kernel.isHorizontallyFused)
    return text + "*(tsr::pointers<" + std::to_string(kernel.parameterTypes.size()) + "> *)arguments);\n}\n";
  for (size_t i = 0; i < kernel.parameterTypes.size(); ++i)
    text += (i ? ", (" : "(") + kernel.parameterTypes[i] + ")arguments[" + std::to_string(i) + "]";
  return text + ");\n}\n";
}

EmulatedKernels::EmulatedKernels(llvm::ArrayRef<const cuda::CudaKernel *> kernels, llvm::StringRef threads) {
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("tessera-cuda", folder)) {
    errors = "cannot create a folder for temporary files";
    return;
  }
  std::string base = folder.str().str(), source = base + "/kernels.cpp", shared = base + "/kernels.so",
              log = base + "/log";
  std::error_code error;
  for (const cuda::DeviceHeader &header : cuda::deviceHeaders())
    llvm::raw_fd_ostream(base + "/" + header.name.str(), error)
        << (header.name == "threads.cuh" && !threads.empty() ? threads : llvm::StringRef(header.text));
  llvm::raw_fd_ostream out(source, error);
  for (const cuda::CudaKernel *kernel : kernels) out << kernel->source << "\n" << trampoline(*kernel) << "\n";
  out.close();
  std::string includes = "-I" + base;
  llvm::StringRef arguments[] = {TESSERA_CXX,
                                 "-std=c++20",
                                 "-O1",
                                 "-ffp-contract=off",
                                 "-fPIC",
                                 "-shared",
                                 "-w",
                                 includes,
                                 "-I" TESSERA_SOURCE_DIR "/tests/codegen/cuda",
                                 source,
                                 "-o",
                                 shared};
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, llvm::StringRef(log), llvm::StringRef(log)};
  if (llvm::sys::ExecuteAndWait(TESSERA_CXX, arguments, std::nullopt, redirects) != 0) {
    auto text = llvm::MemoryBuffer::getFile(log);
    errors = text ? (*text)->getBuffer().take_front(4000).str() : "cannot run the compiler";
  } else if (!(library = dlopen(shared.c_str(), RTLD_NOW | RTLD_LOCAL))) {
    errors = dlerror();
  }
  llvm::sys::fs::remove_directories(folder);
}

EmulatedKernels::~EmulatedKernels() {
  if (library) dlclose(library);
}

std::string EmulatedKernels::run(const cuda::CudaKernel &kernel, llvm::ArrayRef<void *> arguments) {
  auto function = reinterpret_cast<void (*)(void *const *)>(dlsym(library, ("emulated_" + kernel.symbol).c_str()));
  if (!function) return "no function " + kernel.symbol;
  KernelRecorder *recorder = KernelRecorder::get();
  KernelRecorder::Before before;
  if (recorder) before = recorder->snapshot(kernel, arguments);
  std::string error = emulate(kernel.blocks, static_cast<int>(kernel.threads), [&] { function(arguments.data()); });
  if (recorder && error.empty()) recorder->record(kernel, arguments, before);
  return error;
}
