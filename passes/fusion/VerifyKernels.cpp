//===- VerifyKernels.cpp - what holds after `fuse` -------------------------===//

#include "passes/fusion/VerifyKernels.h"
#include "passes/analysis/Views.h"
#include "passes/fusion/Groups.h"
#include "passes/gemm/Gemm.h"
#include "passes/kernel/ThreadMapping.h"

using namespace mlir;
using namespace tessera;

namespace {
/// The rules for one kernel.
class KernelChecker {
public:
  explicit KernelChecker(KernelOp kernel)
      : kernel(kernel), parallel(names(kernel.getParallel())), serial(names(kernel.getSerial())) {}
  LogicalResult check();

private:
  LogicalResult checkOp(Operation &op);
  LogicalResult checkYield(Value value);
  size_t countIn(NamedTensorType type, ArrayRef<StringRef> axes) const {
    return llvm::count_if(axes, [&](StringRef name) { return type.hasAxis(name); });
  }
  bool isInside(NamedTensorType type) const {
    return countIn(type, parallel) + countIn(type, serial) == static_cast<size_t>(type.getRank());
  }

  KernelOp kernel;
  LogicalResult checkSizes(Operation &op, NamedTensorType type);

  SmallVector<StringRef> parallel, serial;
  llvm::StringMap<int64_t> sizes; ///< of the loops
};
} // namespace

/// An axis has one size throughout the kernel, except in arguments that are read at other positions.
LogicalResult KernelChecker::checkSizes(Operation &op, NamedTensorType type) {
  for (AxisAttr axis : type.getAxes())
    if (sizes.try_emplace(axis.getName(), axis.getSize()).first->second != axis.getSize())
      return op.emitError("axis `") << axis.getName() << "` differs in size from the kernel's";
  return success();
}

LogicalResult KernelChecker::checkOp(Operation &op) {
  for (OpOperand &use : op.getOpOperands())
    if (readsFromMemory(use) && !isa<BlockArgument>(use.get()) && !isa<YieldOp>(op))
      return op.emitError("expected a stored value where it is read at other positions than the current point");
  if (isa<ScatterAddOp, YieldOp>(op)) return success();
  for (Value result : op.getResults()) {
    if (!isInside(tensorType(result))) return op.emitError("expected only axes of the kernel's loops");
    if (failed(checkSizes(op, tensorType(result)))) return failure();
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    if (failed(checkSizes(op, reduce.getX().getType()))) return failure();
    SmallVector<StringRef> over = names(reduce.getOver());
    bool same = over.size() == serial.size() &&
                llvm::all_of(over, [&](StringRef name) { return llvm::is_contained(serial, name); });
    if (!same) return op.emitError("expected to reduce the kernel's serial axes");
  }
  return success();
}

/// Several iterations would write a value that lacks axes.
LogicalResult KernelChecker::checkYield(Value value) {
  if (value.getDefiningOp<ScatterAddOp>()) return success();
  NamedTensorType type = tensorType(value);
  size_t inSerial = countIn(type, serial);
  if (countIn(type, parallel) != parallel.size() || (inSerial != 0 && inSerial != serial.size()))
    return kernel.emitError("result ") << type << " lacks axes of the kernel's loops";
  return success();
}

LogicalResult KernelChecker::check() {
  for (Operation &op : kernel.getBlock())
    if (failed(checkOp(op))) return failure();
  for (Value value : kernel.getBlock().getTerminator()->getOperands())
    if (failed(checkYield(value))) return failure();
  auto scatters = kernel.getBlock().getOps<ScatterAddOp>();
  if (!scatters.empty()) {
    bool alone =
        llvm::hasSingleElement(scatters) && kernel.getNumResults() == 1 && kernel.getBlock().getOps<ReduceOp>().empty();
    if (!alone) return kernel.emitError("expected only a scatter_add and the ops that compute its updates and indices");
  }
  if (auto vector = kernel.getVector();
      vector && !llvm::is_contained(parallel, *vector) && !llvm::is_contained(serial, *vector))
    return kernel.emitError("unknown vector axis `") << *vector << "`";
  return checkOrderOfSums(kernel);
}

static LogicalResult checkBlock(Block &block) {
  for (Operation &op : block) {
    if (auto kernel = dyn_cast<KernelOp>(op)) {
      if (failed(KernelChecker(kernel).check())) return failure();
    } else if (auto repeat = dyn_cast<RepeatOp>(op)) {
      if (failed(checkBlock(repeat.getBlock()))) return failure();
    } else if (auto contract = dyn_cast<ContractOp>(op)) {
      if (!describeGemm(contract)) return op.emitError("expected a GEMM");
      if (contract.getEpilogue() && !mayHaveEpilogue(contractTypes(contract)))
        return op.emitError("unsupported epilogue");
    } else if (auto tiled = dyn_cast<TiledOp>(op)) {
      if (failed(checkBlock(tiled.getBlock()))) return failure();
    } else if (auto reorder = dyn_cast<ReorderOp>(op)) {
      if (reorder.getX().getType() != reorder.getType())
        return op.emitError("expected a reorder to be inside a kernel");
    } else if (!isStorageView(&op) && !isa<JoinOp, StartOp, WaitOp>(op) && !op.hasTrait<OpTrait::IsTerminator>()) {
      return op.emitError("expected a kernel, a GEMM, a repeat, a join, an exchange or a view");
    }
  }
  return success();
}

LogicalResult tessera::verifyKernels(ModuleOp module) {
  WalkResult result = module.walk([&](func::FuncOp function) {
    return failed(checkBlock(function.getBody().front())) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
