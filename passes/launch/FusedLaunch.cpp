//===- FusedLaunch.cpp - which kernels one launch of a GPU can run --------===//

#include "passes/launch/FusedLaunch.h"
#include "ir/program/KernelFingerprint.h"
#include <set>

using namespace mlir;
using namespace tessera;

/// Blocks of a grid.
static constexpr int64_t mostBlocks = (int64_t(1) << 31) - 1;

llvm::FailureOr<MappedKernel> MappedKernel::of(KernelOp kernel, const Target &target, ArrayRef<int64_t> alignments) {
  FailureOr<KernelPlan> plan = planKernel(kernel, /*placement=*/nullptr, /*onlineSoftmax=*/true);
  if (failed(plan)) return failure();
  ThreadMapping mapping = mapThreads(*plan, target, alignments);
  return MappedKernel{std::move(*plan), std::move(mapping)};
}

/// The largest block that a kernel with serial loops asks for. Kernels without serial loops run in blocks of any size,
/// but slowly in small ones.
int64_t tessera::commonBlock(ArrayRef<MappedKernel> kernels) {
  int64_t block = 0;
  for (const MappedKernel &kernel : kernels)
    if (kernel.plan.loops.hasSerial()) block = std::max(block, kernel.mapping.block);
  bool hasOthers = llvm::any_of(kernels, [](const MappedKernel &kernel) { return !kernel.plan.loops.hasSerial(); });
  return hasOthers ? std::max(block, defaultBlock) : block;
}

/// Whether no kernel with serial loops gets much larger blocks than it asks for, and the shared memory holds that of
/// all kernels.
static bool fitTogether(ArrayRef<MappedKernel> kernels) {
  int64_t block = commonBlock(kernels), scratch = 0, blocks = 0;
  std::set<KernelFingerprint> distinct;
  for (const MappedKernel &kernel : kernels) {
    bool hasSerial = kernel.plan.loops.hasSerial();
    if (kernel.plan.scatter || (block > defaultBlock && hasSerial && kernel.mapping.block != block)) return false;
    ThreadMapping mapping = withBlock(kernel.mapping, block);
    if (distinct.insert(fingerprint(kernel.plan.kernel)).second) scratch += scratchBytes(kernel.plan, mapping);
    blocks += mapping.blocks();
  }
  return scratch <= sharedBytes && blocks <= mostBlocks;
}

size_t tessera::countFusible(ArrayRef<KernelOp> kernels, const Target &target) {
  std::vector<MappedKernel> mapped;
  for (KernelOp kernel : kernels) {
    SmallVector<int64_t> alignments(kernel->getNumOperands() + kernel->getNumResults(), vectorBytes);
    FailureOr<MappedKernel> own = MappedKernel::of(kernel, target, alignments);
    if (failed(own)) break; // code generation reports it
    mapped.push_back(std::move(*own));
    if (fitTogether(mapped)) continue;
    mapped.pop_back();
    break;
  }
  return std::max<size_t>(mapped.size(), 1);
}
