//===- OpTimes.cpp - predicted times of ops that have no place yet --------===//

#include "passes/cost/OpTimes.h"
#include "passes/analysis/Views.h"
#include "passes/gemm/ContractionSpeeds.h"

using namespace mlir;
using namespace tessera;

double OpTimes::secondsOf(Operation *op) const {
  if (auto repeat = dyn_cast<RepeatOp>(op)) {
    double seconds = 0;
    for (Operation &inner : repeat.getBlock()) seconds += secondsOf(&inner);
    return seconds * static_cast<double>(repeat.getAxis().getSize());
  }
  if (auto start = dyn_cast<StartOp>(op)) return secondsOfExchange(start);
  bool isCall = isa<KernelOp, TiledOp, ContractOp>(op) || (isa<ReorderOp>(op) && !isStorageView(op));
  return isCall ? secondsOfCall(op) : 0;
}

double OpTimes::secondsOfExchange(StartOp start) const {
  CallWork work;
  if (!links) links = RankLinks::of(start->getParentOfType<ModuleOp>());
  work.kind = CallKind::Exchange, work.exchange = links->workOf(start);
  return model.secondsOf(work);
}

/// Whether the library computes a contraction.
static bool isLibraryCall(ContractOp contract, const Target &target) {
  std::optional<ContractionGemm> gemm = describeGemm(contract);
  return gemm && (target.isGpu() || !isFasterGenerated(*gemm, target));
}

double OpTimes::secondsOfCall(Operation *op) const {
  auto tiled = dyn_cast<TiledOp>(op);
  if (!tiled || !target.isGpu()) return secondsOfCall(op, tiled ? workOf(tiled) : KernelWork());
  double seconds = 0;
  for (const KernelWork &launch : workOfLaunches(tiled)) seconds += secondsOfCall(op, launch);
  return seconds;
}

double OpTimes::secondsOfCall(Operation *op, KernelWork done) const {
  CallWork work;
  if (auto kernel = dyn_cast<KernelOp>(op)) done = workOf(kernel);
  if (auto contract = dyn_cast<ContractOp>(op)) {
    done = workOf(ArrayRef<ContractOp>(contract));
    if (isLibraryCall(contract, target)) work.kind = CallKind::Gemm;
  }
  if (isa<ReorderOp>(op)) work.kind = CallKind::Copy;
  work.ops = done.ops, work.gemms = done.gemms;
  SmallVector<int64_t, 4> caches = model.cacheBytes();
  work.traffic.assign(caches.size() + 1, 0.0);
  auto access = [&](int64_t bytes, double times) {
    size_t level = llvm::find_if(caches, [&](int64_t cache) { return 2 * bytes <= cache; }) - caches.begin();
    work.traffic[level] += times * static_cast<double>(bytes);
  };
  for (unsigned i = 0; i < op->getNumOperands(); ++i) access(bytesRead(op, i), 1);
  for (unsigned i = 0; i < op->getNumResults(); ++i) access(bytesWritten(op, i), model.readsLinesToWrite() ? 2 : 1);
  return model.secondsOf(work);
}
