//===- LeafRepeat.cpp - the repeat over the leaves of a batch -------------===//

#include "passes/sharding/LeafRepeat.h"
#include "ir/program/Program.h"

using namespace mlir;
using namespace tessera;

int64_t tessera::leafCount(ModuleOp module) {
  auto count = module->getAttrOfType<IntegerAttr>(attrs::leaves);
  return count ? count.getInt() : 0;
}

/// The axis that a value was split along, as the outer of two parts; empty if it is no such value.
static StringRef batchOf(Value value, StringRef outer) {
  while (auto cast = value.getDefiningOp<CastOp>()) value = cast.getX();
  auto split = value.getDefiningOp<SplitOp>();
  if (!split) return "";
  SmallVector<StringRef> into = names(split.getInto());
  bool isCut = into.size() == 2 && into.front() == outer && into.back() == split.getAxis();
  return isCut ? split.getAxis() : "";
}

std::optional<LeafRepeat> tessera::findLeafRepeat(func::FuncOp function) {
  int64_t count = leafCount(function->getParentOfType<ModuleOp>());
  for (auto repeat : function.getBody().front().getOps<RepeatOp>()) {
    if (repeat.getAxis().getSize() != count) continue;
    for (Value operand : repeat.getSliced())
      if (StringRef batch = batchOf(operand, repeat.getAxis().getName()); !batch.empty())
        return LeafRepeat{repeat, batch};
  }
  return std::nullopt;
}

/// Adds the ops of a block that depend on some values, and their results to these.
static void addDependent(Block &block, DenseSet<Value> &values, DenseSet<Operation *> &ops) {
  for (Operation &op : block.without_terminator()) {
    if (llvm::none_of(op.getOperands(), [&](Value operand) { return values.contains(operand); })) continue;
    ops.insert(&op);
    values.insert(op.result_begin(), op.result_end());
    auto repeat = dyn_cast<RepeatOp>(op);
    if (!repeat) continue;
    values.insert(repeat.getCarriedArgs().begin(), repeat.getCarriedArgs().end());
    for (auto [operand, argument] : llvm::zip(repeat.getOperands(), repeat.getBlock().getArguments().drop_front()))
      if (values.contains(operand)) values.insert(argument);
    addDependent(repeat.getBlock(), values, ops);
  }
}

DenseSet<Operation *> tessera::opsOfLeaf(RepeatOp repeat) {
  DenseSet<Value> values{repeat.getInduction()};
  values.insert(repeat.getSlicedArgs().begin(), repeat.getSlicedArgs().end());
  DenseSet<Operation *> ops;
  addDependent(repeat.getBlock(), values, ops);
  return ops;
}

SmallVector<func::FuncOp> tessera::functionsWithLeaves(ModuleOp module) {
  if (leafCount(module) == 0) return {};
  return llvm::filter_to_vector(entryFunctions(module), [](func::FuncOp function) {
    return llvm::is_contained({"step", "shadow"}, function.getName());
  });
}
