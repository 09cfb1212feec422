//===- CudaProgram.cpp - from a scheduled module to a program for GPUs ------===//
//
//  1. Kernels: one CUDA function each, as text, equal ones once.
//  2. Entry functions, which launch them and call cuBLASLt. They run on the host; the runtime records what they ask for.
//  3. NVRTC: machine code of each kernel for each architecture, on all cores.
//  4. Both as one shared object, and the manifest.
//
//===----------------------------------------------------------------------===//

#include "codegen/program/CudaProgram.h"
#include "codegen/cpu/object/Link.h"
#include "codegen/cpu/object/ObjectCode.h"
#include "codegen/cuda/nvrtc/Nvrtc.h"
#include "codegen/program/EntryCode.h"
#include "codegen/program/Observer.h"
#include "ir/program/Program.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/launch/Launches.h"
#include "passes/precision/Policy.h"
#include <atomic>
#include <mutex>
#include <thread>

using namespace mlir;
using namespace tessera;

/// Alignment of the library's workspace, in bytes.
static constexpr int64_t workspaceAlignment = 256;

using Kernels = std::vector<std::shared_ptr<const cuda::CudaKernel>>;

/// Kernels that are compiled together: reading the header and starting the compiler takes half of the time of one alone.
static constexpr size_t kernelsOfImage = 8;

/// The source of an image.
static std::string sourceOf(const DeviceImage &image, const Kernels &kernels) {
  std::string source;
  for (uint32_t i = 0; i < image.kernels; ++i) source += kernels[image.firstKernel + i]->source + "\n";
  return source;
}

/// Where one launch cannot run all kernels of one moment, several do.
static void splitLaunches(func::FuncOp function, const cuda::CudaKernels &kernels) {
  std::vector<SmallVector<KernelOp>> launches;
  function.walk([&](KernelOp kernel) {
    if (!kernel->hasAttr(attrs::launch)) return;
    if (!kernel->getPrevNode() || !isSameLaunch(kernel->getPrevNode(), kernel)) launches.emplace_back();
    launches.back().push_back(kernel);
  });
  Builder builder(function.getContext());
  int64_t number = 0;
  for (ArrayRef<KernelOp> left : launches)
    while (!left.empty()) {
      size_t count = kernels.countTogether(left);
      for (KernelOp kernel : left.take_front(count)) {
        kernel->removeAttr(attrs::launch);
        if (count > 1) kernel->setAttr(attrs::launch, builder.getI64IntegerAttr(number));
      }
      ++number;
      left = left.drop_front(count);
    }
}

/// What the kernels of a launch do together.
static KernelWork workTogether(ArrayRef<KernelOp> kernels) {
  KernelWork sum;
  for (KernelOp kernel : kernels) {
    KernelWork own = workOf(kernel);
    sum.flops += own.flops, sum.read += own.read, sum.written += own.written;
  }
  return sum;
}

/// Machine code of all kernels for all architectures.
static FailureOr<std::vector<DeviceImage>> compileKernels(ModuleOp module, const Kernels &kernels,
                                                          const CudaOptions &options) {
  std::string problem;
  const cuda::Nvrtc *nvrtc = cuda::Nvrtc::get(problem);
  if (!nvrtc) return module.emitError(problem);
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
        problem = "NVRTC refuses kernels for " + image.architecture + "\n" + cuda::explain(result.log, source);
      else if (options.keepCode && !result.code.empty())
        options.keepCode(description, result.code);
      image.code = std::move(result.code);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < runtime::availableCores(); ++i) threads.emplace_back(work);
  work();
  for (std::thread &thread : threads) thread.join();
  if (!problem.empty()) return module.emitError(problem);
  return images;
}

/// The kernels as files, with the header that they include.
static LogicalResult dumpKernels(const Kernels &kernels, Observer &observer) {
  if (!observer.isDumping()) return success();
  for (const cuda::DeviceHeader &header : cuda::deviceHeaders())
    if (failed(observer.dump(("cuda/" + header.name).str(), header.text))) return failure();
  for (const auto &kernel : kernels)
    if (failed(observer.dump("cuda/" + kernel->symbol + ".cu", kernel->source))) return failure();
  return success();
}

FailureOr<CompiledProgram> tessera::generateForCuda(ModuleOp module, const CodegenOptions &options) {
  MLIRContext *context = module.getContext();
  context->loadDialect<LLVM::LLVMDialect>();
  FailureOr<CpuTarget> host = CpuTarget::get(options.march, llvm::errs());
  auto planned = module->getAttrOfType<IntegerAttr>(attrs::arena);
  if (failed(host)) return failure();
  if (!planned) return module.emitError("expected the arena's size in `tsr.arena`; has `schedule` run?");
  if (options.cuda->architectures.empty())
    return module.emitError("NVRTC compiles for none of the usual GPUs; name one: --target=cuda:sm_90a");
  Observer observer(options);

  OwningOpRef<ModuleOp> code = ModuleOp::create(UnknownLoc::get(context));
  GemmTable gemms = GemmTable::forDevice(ComputeSettings::of(module).tf32);
  cuda::CudaKernels kernels(options.cuda->device);
  ProgramFacts facts;
  llvm::StringMap<uint32_t> numbers; // of kernels, by symbol
  emitAbiVersion(*code);
  for (func::FuncOp function : entryFunctions(module)) {
    splitLaunches(function, kernels);
    auto callOf = [&](const cuda::CudaKernel &kernel, const KernelWork &work, int64_t runs, bool isPart) {
      auto [number, isNew] = numbers.try_emplace(kernel.symbol, facts.kernels.size());
      if (isNew)
        facts.kernels.push_back(
            {kernel.symbol, work, {}, kernel.blocks, kernel.threads, kernel.arguments, isPart, kernel.line});
      facts.kernels[number->second].calls[function.getName()] += runs;
      return KernelCall{kernel.symbol, {}, number->second};
    };
    auto emitKernel = [&](ArrayRef<Operation *> ops,
                          ArrayRef<SmallVector<int64_t>> alignments) -> FailureOr<SmallVector<KernelCall>> {
      SmallVector<KernelCall> calls;
      Operation *op = ops.front();
      if (isa<KernelOp>(op)) {
        auto members = llvm::map_to_vector(ops, [](Operation *op) { return cast<KernelOp>(op); });
        FailureOr<const cuda::CudaKernel *> written = kernels.emit(members, alignments);
        if (failed(written)) return failure();
        calls.push_back(callOf(**written, workTogether(members), runsPerCall(op), false));
        return calls;
      }
      auto tiled = cast<TiledOp>(op);
      FailureOr<SmallVector<const cuda::CudaKernel *>> launches = kernels.emit(tiled, alignments.front());
      if (failed(launches)) return failure();
      KernelWork share = workOf(tiled); // what they compute alike is shared in the same parts
      auto count = static_cast<int64_t>(launches->size());
      share.flops /= count, share.read /= count, share.written /= count;
      for (auto [i, launch] : llvm::enumerate(*launches))
        calls.push_back(callOf(*launch, share, runsPerCall(op), i + 1 < launches->size()));
      return calls;
    };
    auto emitContraction = [](ArrayRef<ContractOp>, const GemmDescription &, const MergedProducts &) {
      return std::optional<KernelCall>();
    };
    if (failed(emitEntry(function, *code, gemms, emitKernel, emitContraction, /*onDevice=*/true))) return failure();
  }
  observer.step("kernels and entries");
  if (failed(dumpKernels(kernels.getKernels(), observer))) return failure();

  if (options.cuda->compiles) {
    FailureOr<std::vector<DeviceImage>> images = compileKernels(module, kernels.getKernels(), *options.cuda);
    if (failed(images)) return failure();
    emitImageTable(*code, *images);
    observer.step("nvrtc");
  }
  FailureOr<std::vector<std::string>> objects = compileToObjects(*code, *host, runtime::availableCores(), nullptr);
  if (failed(objects)) return failure();
  FailureOr<std::string> shared = linkSharedObject(*objects, llvm::errs());
  if (failed(shared)) return failure();
  observer.step("host code");

  facts.target = {options.cuda->architectures, host->cpu, host->instructionSets, options.threads};
  facts.gemms = &gemms;
  facts.workspaceOffset = llvm::alignTo(planned.getInt(), workspaceAlignment);
  facts.arenaBytes = facts.scratchOffset = facts.workspaceOffset + gemms.workspaceBytes();
  CompiledProgram program{std::move(*shared), writeManifest(module, facts), kernels.getKernels(),
                          gemms.getEntries().vec()};
  if (failed(observer.dump("manifest.json", program.manifest))) return failure();
  observer.step("manifest");
  return program;
}
