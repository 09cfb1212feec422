//===- Layout.cpp - the driver of `tsr-layout` ----------------------------===//
//
// 1. Decompose composites: their parts need memory orders too.
// 2. Fix the orders of state, inputs and outputs (layout/Orders.cpp).
// 3. In program order each result takes its order from its operands (elementwise ops: from the operand that has all
//    axes; views: each axis is replaced in its place; sources: the normal order).
// 4. A contraction chooses among a few orders of its result (layout/OrderChoice.h): dense batches of matrices, or an
//    operand's order with the other operand's axes in place of the summed ones. Orders that no GEMM can write are
//    excluded; among the others the uses decide, seen through elementwise ops, views and repeats. If none is left, an
//    operand is reordered.
// 5. Write the orders into all types; insert the reorders.
// 6. Give the parts of joined values the strides of the whole (join/Places.h).
// 7. Pad rows of matrices, where the target prefers aligned ones (layout/RowPadding.h).
//
//===----------------------------------------------------------------------===//

#include "ir/program/Program.h"
#include "ir/program/Target.h"
#include "passes/Passes.h"
#include "passes/join/Places.h"
#include "passes/layout/OrderChoice.h"
#include "passes/layout/Orders.h"
#include "passes/layout/RowPadding.h"

namespace tessera {
#define GEN_PASS_DEF_LAYOUTPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Decomposes composites until none is left; the parts carry the composite's name.
static void decomposeComposites(ModuleOp module) {
  while (true) {
    SmallVector<DecomposeOpInterface> composites;
    module.walk([&](DecomposeOpInterface op) { composites.push_back(op); });
    if (composites.empty()) return;
    for (DecomposeOpInterface op : composites) {
      GraphBuilder builder(op);
      Operation *before = op->getPrevNode();
      SmallVector<Value> values = op.decompose(builder);
      std::string name = userName(op).str();
      name += (name.empty() ? "" : ".") + op->getName().stripDialect().str();
      for (Operation *part = before ? before->getNextNode() : &op->getBlock()->front(); part != op;
           part = part->getNextNode()) {
        if (!part->hasAttr(attrs::name)) part->setAttr(attrs::name, builder.getStringAttr(name));
        if (isa<ContractOp>(part)) copyPrecision(op, part);
        copyNotes(op, part);
      }
      op->replaceAllUsesWith(values);
      op->erase();
    }
  }
}

/// Draws are numbered in canonical order, whatever the memory order.
static void recordCanonicalOrder(ModuleOp module) {
  module.walk([&](RandomOp op) {
    if (op.getCanonical() || op.getStrides()) return;
    SmallVector<StringRef> order = axisNames(op.getType());
    op.setCanonicalAttr(Builder(op).getStrArrayAttr(order));
  });
}

static void applyTypes(ModuleOp module, const LayoutPlan &plan) {
  auto retype = [&](Value value) {
    if (NamedTensorType type = plan.types.lookup(value)) value.setType(type);
  };
  module.walk([&](Operation *op) {
    for (Value result : op->getResults()) retype(result);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments()) retype(argument);
  });
  for (StateOp state : stateTable(module)) state.setType(plan.stateTypes.lookup(state.getPath()));
}

/// Reorders operands; one reorder serves all uses of a value that need the same order.
static void insertReorders(const LayoutPlan &plan, int64_t &count) {
  DenseMap<std::pair<Value, Type>, Value> moved;
  for (const OperandReorder &change : plan.reorders) {
    Value value = change.use->get();
    Value &reordered = moved[{value, change.type}];
    if (!reordered) {
      OpBuilder builder(value.getContext());
      builder.setInsertionPointAfterValue(value);
      auto reorder = ReorderOp::create(builder, change.use->getOwner()->getLoc(), change.type, value);
      if (Operation *op = value.getDefiningOp()) copyNotes(op, reorder);
      reordered = reorder;
      ++count;
    }
    change.use->set(reordered);
  }
}

static void updateSignatures(ModuleOp module) {
  for (func::FuncOp function : entryFunctions(module)) {
    Block &block = function.getBody().front();
    function.setType(
        FunctionType::get(module.getContext(), block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
  }
}

namespace {
struct LayoutPass : tessera::impl::LayoutPassBase<LayoutPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    decomposeComposites(module);
    recordCanonicalOrder(module);
    LayoutPlan plan = planLayout(module);
    applyTypes(module, plan);
    int64_t count = 0;
    insertReorders(plan, count);
    count += allocateParts(module);
    updateSignatures(module);
    reordersInserted += count;
    valuesPadded += padRows(module, Target::of(module).library.rowAlignment);
  }
};
} // namespace
