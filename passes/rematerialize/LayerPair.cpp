//===- LayerPair.cpp - a stack of layers and its backward pass ------------===//

#include "passes/rematerialize/LayerPair.h"
#include "ir/dialect/Attributes.h"
#include "passes/analysis/LaunchGroups.h"
#include "passes/analysis/Views.h"
#include "passes/rematerialize/ExpressionNumbers.h"

using namespace mlir;
using namespace tessera;

/// The results of a kernel that are computed from an argument of its region.
static SmallVector<Value, 2> resultsFrom(KernelOp kernel, BlockArgument argument) {
  llvm::DenseSet<Value> reached{argument};
  for (Operation &op : kernel.getBlock().without_terminator())
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return reached.contains(operand); }))
      reached.insert(op.result_begin(), op.result_end());
  SmallVector<Value, 2> results;
  for (auto [value, result] : llvm::zip(kernel.getBlock().getTerminator()->getOperands(), kernel.getResults()))
    if (reached.contains(value)) results.push_back(result);
  return results;
}

void RecomputeUnit::addInput(Value root, OpOperand &operand) {
  Operation *op = operand.getOwner();
  auto kernel = dyn_cast<KernelOp>(op);
  SmallVector<Value, 2> results(op->getResults());
  if (kernel) results = resultsFrom(kernel, kernel.getBlock().getArgument(operand.getOperandNumber()));
  llvm::append_range(inputs[root], results);
}

LayerPair::LayerPair(RepeatOp forward, RepeatOp backward) : forward(forward), backward(backward) {
  findUnits();
  findNeeded();
  findDuplicates();
}

int LayerPair::unitOf(Value root) const {
  auto found = unitOfOp.find(root.getDefiningOp());
  return found == unitOfOp.end() ? -1 : found->second;
}

void LayerPair::findUnits() {
  Block &block = forward.getBlock();
  for (Operation &op : block.without_terminator()) {
    if (isStorageView(&op) || isa<StartOp, WaitOp>(op)) continue; // what is received is saved
    if (units.empty() || !isSameLaunch(units.back().ops.back(), &op)) units.emplace_back();
    units.back().ops.push_back(&op);
    unitOfOp[&op] = static_cast<int>(units.size()) - 1;
  }
  ValueRange carried = forward.getCarriedArgs();
  for (RecomputeUnit &unit : units)
    for (Operation *op : unit.ops)
      for (OpOperand &operand : op->getOpOperands()) {
        Value root = viewRoot(operand.get());
        bool isSaved = llvm::is_contained(carried, root) || root.getDefiningOp<WaitOp>();
        if (unitOf(root) >= 0 || isSaved) unit.addInput(root, operand);
      }
}

/// The value of the forward body whose slices an operand of the backward repeat is; null if it is none.
static Value stackedValue(RepeatOp forward, Value operand) {
  auto result = dyn_cast<OpResult>(operand);
  unsigned carried = forward.getCarried().size();
  if (!result || result.getOwner() != forward || result.getResultNumber() < carried) return {};
  return forward.getYield().getValues()[result.getResultNumber()];
}

void LayerPair::findNeeded() {
  for (Value operand : backward.getSliced())
    if (Value value = stackedValue(forward, operand)) needed.insert(viewRoot(value));
}

void LayerPair::findDuplicates() {
  ExpressionNumbers numbers;
  Block &block = forward.getBlock();
  numbers.add(block);
  numbers.equate(backward.getInduction(), forward.getInduction());
  auto equate = [&](ValueRange operands, ValueRange arguments, ValueRange others, ValueRange otherArguments) {
    for (auto [operand, argument] : llvm::zip(operands, arguments))
      for (auto [other, otherArgument] : llvm::zip(others, otherArguments))
        if (operand == other) numbers.equate(argument, otherArgument);
  };
  equate(backward.getInvariants(), backward.getInvariantArgs(), forward.getInvariants(), forward.getInvariantArgs());
  equate(backward.getSliced(), backward.getSlicedArgs(), forward.getSliced(), forward.getSlicedArgs());
  for (auto [operand, argument] : llvm::zip(backward.getSliced(), backward.getSlicedArgs()))
    if (Value value = stackedValue(forward, operand)) numbers.equate(argument, value);
  numbers.add(backward.getBlock());

  llvm::DenseMap<unsigned, Value> forwardValue;
  for (const RecomputeUnit &unit : units)
    for (Operation *op : unit.ops)
      for (Value result : op->getResults()) forwardValue.try_emplace(numbers.numberOf(result), result);
  for (Operation &op : backward.getBlock().without_terminator()) {
    if (isStorageView(&op)) continue;
    for (OpResult result : op.getResults())
      if (Value value = forwardValue.lookup(numbers.numberOf(result))) duplicates.push_back({result, value});
  }
}

llvm::SetVector<Value> LayerPair::savedWith(llvm::BitVector &recomputed) const {
  llvm::DenseSet<Value> wanted(needed.begin(), needed.end());
  llvm::SetVector<Value> saved;
  for (int i = static_cast<int>(units.size()) - 1; i >= 0; --i) {
    if (!recomputed[i]) continue;
    auto isWanted = [&](Operation *op) {
      return llvm::any_of(op->getResults(), [&](Value result) { return wanted.contains(result); });
    };
    // Contractions that are computed together are recomputed together: one by one they may add in another order.
    if (!llvm::all_of(units[i].ops, isWanted)) recomputed.reset(i);
    if (!recomputed[i]) continue;
    for (const auto &[input, results] : units[i].inputs)
      if (llvm::any_of(results, [&](Value result) { return wanted.contains(result); })) wanted.insert(input);
  }
  RepeatOp repeat = forward;
  for (Value argument : repeat.getBlock().getArguments())
    if (wanted.contains(argument)) saved.insert(argument);
  for (const auto &[i, unit] : llvm::enumerate(units)) {
    if (recomputed[i]) continue;
    for (Operation *op : unit.ops)
      for (Value result : op->getResults())
        if (wanted.contains(result)) saved.insert(result);
  }
  return saved;
}

std::vector<std::pair<RepeatOp, RepeatOp>> tessera::findLayerPairs(Block &block) {
  std::vector<std::pair<RepeatOp, RepeatOp>> pairs;
  for (auto backward : block.getOps<RepeatOp>())
    for (Value operand : backward.getSliced()) {
      auto forward = operand.getDefiningOp<RepeatOp>();
      bool isPair = forward && forward != backward && forward->getBlock() == &block &&
                    forward.getAxis() == backward.getAxis() && forward.getReverse() != backward.getReverse() &&
                    stepPass(forward) == StepPass::Forward && stepPass(backward) == StepPass::Backward &&
                    stackedValue(forward, operand);
      if (!isPair) continue;
      pairs.emplace_back(forward, backward);
      break;
    }
  return pairs;
}
