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

SmallVector<func::FuncOp> tessera::functionsWithLeaves(ModuleOp module) {
  if (leafCount(module) == 0) return {};
  return llvm::filter_to_vector(entryFunctions(module), [](func::FuncOp function) {
    return llvm::is_contained({"step", "shadow"}, function.getName());
  });
}
