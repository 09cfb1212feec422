//===- CudaBackend.cpp - kernels as CUDA C++, compiled by NVRTC -----------===//

#include "codegen/cuda/CudaBackend.h"
#include "codegen/cuda/ImageTable.h"
#include "codegen/cuda/device/DeviceHeaders.h"
#include "codegen/cuda/nvrtc/Nvrtc.h"
#include "passes/precision/Policy.h"
#include "runtime/machine/AvailableCores.h"
#include <atomic>
#include <mutex>
#include <thread>

using namespace mlir;
using namespace tessera;

using Kernels = std::vector<std::shared_ptr<const cuda::CudaKernel>>;

/// Kernels that are compiled together: if a kernel is compiled alone, half of the time is for the device header and the
/// start of the compiler.
static constexpr size_t kernelsOfImage = 8;

/// The source of an image.
static std::string sourceOf(const DeviceImage &image, const Kernels &kernels) {
  std::string source;
  for (uint32_t i = 0; i < image.kernels; ++i) source += kernels[image.firstKernel + i]->source + "\n";
  return source;
}

/// Machine code of all kernels for all architectures.
static FailureOr<std::vector<DeviceImage>> compileKernels(Location loc, const Kernels &kernels,
                                                          const CudaOptions &options) {
  std::string problem;
  const cuda::Nvrtc *nvrtc = cuda::Nvrtc::get(problem);
  if (!nvrtc) return emitError(loc) << problem;
  std::vector<DeviceImage> images;
  for (size_t i = 0; i < kernels.size(); i += kernelsOfImage)
    for (const std::string &architecture : options.architectures)
      images.push_back({architecture, static_cast<uint32_t>(i),
                        static_cast<uint32_t>(std::min(kernelsOfImage, kernels.size() - i)), ""});
  std::mutex mutex; // of the cache and of `problem`
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < images.size(); i = next++) {
      DeviceImage &image = images[i];
      std::string source = sourceOf(image, kernels), name = kernels[image.firstKernel]->symbol;
      std::string description = "nvrtc " + nvrtc->getIdentity() + " " + image.architecture + "\n" + source;
      for (const cuda::DeviceHeader &header : cuda::deviceHeaders()) description += header.text;
      if (std::lock_guard lock(mutex); options.findCode)
        if (std::optional<std::string> found = options.findCode(description)) {
          image.code = std::move(*found);
          continue;
        }
      cuda::Compilation result = nvrtc->compile(source, name, image.architecture);
      std::lock_guard lock(mutex);
      if (result.code.empty() && problem.empty())
        problem = "NVRTC rejects kernels for " + image.architecture + "\n" + cuda::explain(result.log, source);
      else if (options.storeCode && !result.code.empty())
        options.storeCode(description, result.code);
      image.code = std::move(result.code);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < runtime::availableCores(); ++i) threads.emplace_back(work);
  work();
  for (std::thread &thread : threads) thread.join();
  if (!problem.empty()) return emitError(loc) << problem;
  return images;
}

/// Writes the kernels to files, with the headers that they include.
static LogicalResult dumpKernels(const Kernels &kernels, StageLog &log) {
  if (!log.isDumping()) return success();
  for (const cuda::DeviceHeader &header : cuda::deviceHeaders())
    if (failed(log.dump(("cuda/" + header.name).str(), header.text))) return failure();
  for (const auto &kernel : kernels)
    if (failed(log.dump("cuda/" + kernel->symbol + ".cu", kernel->source))) return failure();
  return success();
}

ContractionLibrary CudaBackend::getLibrary(ModuleOp module) const { return {true, ComputeSettings::of(module).tf32}; }

static EmittedKernel emitted(const cuda::CudaKernel &kernel) {
  return {kernel.symbol, {}, LaunchShape{kernel.blocks, kernel.threads, kernel.arguments, kernel.line}};
}

FailureOr<SmallVector<EmittedKernel>> CudaBackend::emitKernels(ArrayRef<Operation *> ops,
                                                               ArrayRef<SmallVector<int64_t>> alignments) {
  if (auto tiled = dyn_cast<TiledOp>(ops.front())) {
    FailureOr<SmallVector<const cuda::CudaKernel *>> launches = kernels.emit(tiled, alignments.front());
    if (failed(launches)) return failure();
    return llvm::map_to_vector(*launches, [](const cuda::CudaKernel *kernel) { return emitted(*kernel); });
  }
  auto members = llvm::map_to_vector(ops, [](Operation *op) { return cast<KernelOp>(op); });
  FailureOr<const cuda::CudaKernel *> written = kernels.emit(members, alignments);
  if (failed(written)) return failure();
  return SmallVector<EmittedKernel>{emitted(**written)};
}

void CudaBackend::describe(TargetDescription &description) const {
  description.architectures = options.architectures;
  std::string problem;
  if (const cuda::Nvrtc *nvrtc = options.compiles ? cuda::Nvrtc::get(problem) : nullptr)
    description.toolkit = nvrtc->getVersion();
}

LogicalResult CudaBackend::finish(StageLog &log) {
  if (failed(dumpKernels(getKernels(), log))) return failure();
  if (!options.compiles) return success();
  FailureOr<std::vector<DeviceImage>> images = compileKernels(code.getLoc(), getKernels(), options);
  if (failed(images)) return failure();
  emitImageTable(code, *images);
  log.finishStage("nvrtc");
  return success();
}
