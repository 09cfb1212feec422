//===- ReducedPrecisionWeights.cpp - parameters without a master copy -----===//
//
// Under `compute(bf16, weights = bf16)` weights are stored in bf16: two bytes each, without an f32 master copy. The
// optimizer computes in f32; its result is rounded stochastically, so that updates smaller than the spacing of bf16
// values count on average. Gains and biases are few, and stay in f32.
//
//   before   %w1 = tsr.update "adamw" @w %w …
//            return %w1
//   after    %w.f = tsr.cast %w : bf16 to f32
//            %w1 = tsr.update "adamw" @w %w.f …
//            %noise = tsr.random uniform site … seed %seed step %step
//            return tsr.stochastic_round %w1, %noise
//
//===----------------------------------------------------------------------===//

#include "passes/precision/ReducedPrecisionWeights.h"
#include "ir/dialect/GraphBuilder.h"
#include "ir/program/Program.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace tessera;

namespace {
class WeightReduction {
public:
  explicit WeightReduction(ModuleOp module) : module(module), reduced(BFloat16Type::get(module.getContext())) {
    for (StateOp state : stateTable(module))
      if (state.getKind() == "weight" && state.getTensorType().getElementType().isF32()) paths.insert(state.getPath());
  }
  LogicalResult run();

private:
  void reduceArguments(func::FuncOp function);
  LogicalResult reduceResults(func::FuncOp function);
  Value drawFor(GraphBuilder &b, func::FuncOp step, StringRef path, NamedTensorType type);

  ModuleOp module;
  Type reduced;
  llvm::StringSet<> paths; ///< of weights
};
} // namespace

void WeightReduction::reduceArguments(func::FuncOp function) {
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    if (!paths.contains(argumentState(function, argument.getArgNumber()))) continue;
    GraphBuilder b(module, argument.getLoc());
    b.setInsertionPointToStart(&block);
    NamedTensorType type = tensorType(argument);
    argument.setType(type.withElementType(reduced));
    Value wide = b.cast(argument, type.getElementType());
    argument.replaceAllUsesExcept(wide, wide.getDefiningOp());
  }
}

/// The argument of `step` that holds a counter; added if only the state table has it.
static Value counterOf(func::FuncOp step, StringRef path) {
  unsigned behind = 0; // the state's arguments
  for (BlockArgument argument : step.getArguments()) {
    StringRef state = argumentState(step, argument.getArgNumber());
    if (state == path) return argument;
    if (!state.empty()) behind = argument.getArgNumber() + 1;
  }
  StateOp state = statesByPath(step->getParentOfType<ModuleOp>()).lookup(path);
  if (!state) return {};
  Builder b(step.getContext());
  auto tag = b.getDictionaryAttr(b.getNamedAttr(attrs::state, FlatSymbolRefAttr::get(step.getContext(), path)));
  if (failed(step.insertArgument(behind, state.getTensorType(), tag, step.getLoc()))) return {};
  return step.getArgument(behind);
}

/// Random numbers for one parameter. The site is a hash of its path, different from the sites of the model's draws.
Value WeightReduction::drawFor(GraphBuilder &b, func::FuncOp step, StringRef path, NamedTensorType type) {
  Value count = counterOf(step, "step"), seed = counterOf(step, "seed");
  if (!count || !seed) return {};
  auto site = static_cast<int32_t>(llvm::xxh3_64bits(("round " + path).str()) & 0x7fffffff);
  return b.random(Distribution::Uniform, site, seed, count, {}, type);
}

LogicalResult WeightReduction::reduceResults(func::FuncOp function) {
  Operation *end = function.getBody().front().getTerminator();
  for (OpOperand &use : end->getOpOperands()) {
    StringRef path = resultState(function, use.getOperandNumber());
    if (!paths.contains(path)) continue;
    NamedTensorType type = tensorType(use.get());
    GraphBuilder b(end);
    if (Operation *maker = use.get().getDefiningOp()) b.setLoc(maker->getLoc());
    if (function.getName() != "step") {
      use.set(b.cast(use.get(), reduced));
      continue;
    }
    Value noise = drawFor(b, function, path, type);
    if (!noise)
      return end->emitOpError("expected the counters `step` and `seed` in the state table, for stochastic rounding");
    use.set(StochasticRoundOp::create(b, b.getLoc(), type.withElementType(reduced), use.get(), noise));
  }
  return success();
}

LogicalResult WeightReduction::run() {
  for (StateOp state : stateTable(module))
    if (paths.contains(state.getPath())) state.setType(state.getTensorType().withElementType(reduced));
  for (func::FuncOp function : entryFunctions(module)) {
    reduceArguments(function);
    if (failed(reduceResults(function))) return failure();
    Block &block = function.getBody().front();
    function.setType(
        FunctionType::get(module.getContext(), block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
  }
  return success();
}

LogicalResult tessera::reduceWeightPrecision(ModuleOp module) { return WeightReduction(module).run(); }
