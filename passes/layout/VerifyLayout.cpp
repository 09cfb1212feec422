//===- VerifyLayout.cpp - what holds after `layout` --------------------------------===//

#include "passes/layout/VerifyLayout.h"
#include "ir/program/Program.h"
#include "passes/analysis/Views.h"
#include "passes/gemm/Gemm.h"
#include "passes/join/Places.h"

using namespace mlir;
using namespace tessera;

static LogicalResult checkState(ModuleOp module) {
  llvm::StringMap<StateOp> states = statesByPath(module);
  for (func::FuncOp function : entryFunctions(module)) {
    auto check = [&](StringRef path, Type type) -> LogicalResult {
      StateOp state = states.lookup(path);
      if (!state || state.getTensorType() == type) return success();
      return function.emitError("state `")
             << path << "` has type " << type << " here, " << state.getTensorType() << " in the table";
    };
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (failed(check(argumentState(function, i), function.getArgumentTypes()[i]))) return failure();
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (failed(check(resultState(function, i), function.getResultTypes()[i]))) return failure();
  }
  return success();
}

/// Allocated sizes exist in memory between the ops of a function only: inputs, outputs and states are dense.
static LogicalResult checkBoundary(ModuleOp module) {
  for (func::FuncOp function : entryFunctions(module))
    for (Type type : llvm::concat<const Type>(function.getArgumentTypes(), function.getResultTypes()))
      if (auto tensor = dyn_cast<NamedTensorType>(type); tensor && !tensor.isDense())
        return function.emitError("expected dense arguments and results, got ") << type;
  for (StateOp state : stateTable(module))
    if (!state.getTensorType().isDense())
      return state.emitError("expected a dense state, got ") << state.getTensorType();
  return success();
}

static LogicalResult checkRepeat(RepeatOp repeat) {
  auto isOutermost = [&](Value value) {
    NamedTensorType type = tensorType(value);
    return type.getAxes().front() == repeat.getAxis() && type.getAllocatedSizes().front() == repeat.getAxis().getSize();
  };
  for (Value value : repeat.getSliced())
    if (!isOutermost(value))
      return repeat.emitError("expected `") << repeat.getAxis().getName() << "` outermost in " << value.getType();
  for (Value value : repeat.getStackedResults())
    if (!isOutermost(value))
      return repeat.emitError("expected `") << repeat.getAxis().getName() << "` outermost in " << value.getType();
  return success();
}

LogicalResult tessera::verifyLayout(ModuleOp module) {
  if (failed(checkState(module)) || failed(checkBoundary(module))) return failure();
  WalkResult result = module.walk([&](Operation *op) {
    if (auto repeat = dyn_cast<RepeatOp>(op); repeat && failed(checkRepeat(repeat))) return WalkResult::interrupt();
    if (auto contract = dyn_cast<ContractOp>(op);
        contract && isGemmShaped(contractTypes(contract)) && !describeGemm(contract)) {
      contract.emitError("expected a GEMM on operands in their memory order");
      return WalkResult::interrupt();
    }
    if (isa<RenameOp, SplitOp, MergeOp>(op) && !isStorageView(op)) {
      op->emitError("expected a view of its operand");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted() || failed(verifyParts(module)));
}
