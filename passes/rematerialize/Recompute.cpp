//===- Recompute.cpp - units of the forward body in the backward body -----===//
//
// 1. Clone the units at the beginning of the backward body, in program order. What a clone reads is a clone, a slice of
//    what the forward repeat slices or stacks, or an invariant. Values that are saved only now are stacked.
// 2. Read the clones instead of the stacks, and instead of what the backward body computes alike.
// 3. Move each clone, and each view, before its first reader, the last one first.
// 4. Remove what nothing reads any more, from both bodies.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/Attributes.h"
#include "ir/program/Program.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/LaunchGroups.h"
#include "passes/analysis/Views.h"
#include "passes/rematerialize/Edits.h"
#include "passes/rematerialize/LayerPair.h"

using namespace mlir;
using namespace tessera;

namespace {

class Recomputation {
public:
  Recomputation(LayerPair &pair, const llvm::BitVector &chosen)
      : pair(pair), chosen(chosen), builder(pair.backward.getContext()) {}

  void run();

private:
  Value inBackward(Value value);
  Value argumentInBackward(BlockArgument argument);
  Value savedInBackward(Value value);
  void cloneUnit(const RecomputeUnit &unit);
  void cloneUnits();
  void replaceSlices();
  void replaceDuplicates();
  void sinkClones();
  void cleanUp();

  LayerPair &pair;
  const llvm::BitVector &chosen;
  OpBuilder builder;
  IRMapping map;                                ///< values of the forward body → values of the backward body
  SmallVector<SmallVector<Operation *>> clones; ///< units and views, in program order
  int64_t nextGroup = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// 1. Clones
//===----------------------------------------------------------------------===//

/// The value of the backward body for one of the forward body.
Value Recomputation::inBackward(Value value) {
  if (Value known = map.lookupOrNull(value)) return known;
  Value result;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    result = argumentInBackward(argument);
  } else if (Operation *op = value.getDefiningOp(); isStorageView(op)) {
    inBackward(op->getOperand(0));
    Operation *clone = builder.clone(*op, map);
    setStepPass(clone, StepPass::Backward);
    clones.push_back({clone});
    result = clone->getResult(0);
  } else {
    result = savedInBackward(value); // the clones of chosen units are known
  }
  map.map(value, result);
  return result;
}

Value Recomputation::argumentInBackward(BlockArgument argument) {
  RepeatOp forward = pair.forward;
  if (argument == forward.getInduction()) return pair.backward.getInduction();
  unsigned operand = argument.getArgNumber() - 1, carried = forward.getCarried().size();
  if (operand < carried) return savedInBackward(argument);
  Value outside = forward->getOperand(operand);
  bool isSliced = operand < carried + forward.getSliced().size();
  return isSliced ? sliceArgument(pair.backward, outside) : invariantArgument(pair.backward, outside);
}

Value Recomputation::savedInBackward(Value value) {
  unsigned carried = pair.forward.getCarried().size();
  auto yielded = pair.forward.getYield().getValues().drop_front(carried);
  auto found = llvm::find(yielded, value);
  unsigned stack = carried + static_cast<unsigned>(found - yielded.begin());
  if (found == yielded.end()) pair.forward = withStacks(pair.forward, value);
  return sliceArgument(pair.backward, pair.forward->getResult(stack));
}

void Recomputation::cloneUnit(const RecomputeUnit &unit) {
  for (Operation *op : unit.ops)
    for (Value operand : op->getOperands()) inBackward(operand);
  clones.emplace_back();
  for (Operation *op : unit.ops) {
    Operation *clone = builder.clone(*op, map);
    markRecomputed(clone);
    if (clone->hasAttr(attrs::fusionGroup)) clone->setAttr(attrs::fusionGroup, builder.getI64IntegerAttr(nextGroup));
    clones.back().push_back(clone);
  }
  ++nextGroup;
}

void Recomputation::cloneUnits() {
  nextGroup = nextFusionGroup(pair.backward->getParentOfType<func::FuncOp>());
  builder.setInsertionPointToStart(&pair.backward.getBlock());
  for (auto [i, unit] : llvm::enumerate(pair.units))
    if (chosen[i]) cloneUnit(unit);
}

//===----------------------------------------------------------------------===//
// 2. Readers
//===----------------------------------------------------------------------===//

/// Slices of what is recomputed. A slice of a view is replaced by the view of a slice, if the value itself is read too,
/// so that it is stacked once.
void Recomputation::replaceSlices() {
  unsigned carried = pair.forward.getCarried().size();
  for (unsigned i = 0; i < pair.backward.getSliced().size(); ++i) {
    auto stack = dyn_cast<OpResult>(pair.backward.getSliced()[i]);
    if (!stack || stack.getOwner() != pair.forward || stack.getResultNumber() < carried) continue;
    Value value = pair.forward.getYield().getValues()[stack.getResultNumber()], root = viewRoot(value);
    int unit = pair.unitOf(root);
    bool isRecomputed = unit >= 0 && chosen[unit];
    bool isViewOfSaved = value != root && map.contains(root);
    if (!isRecomputed && !isViewOfSaved) continue;
    Value replacement = inBackward(value);
    pair.backward.getSlicedArgs()[i].replaceAllUsesWith(replacement);
  }
}

/// The ops that computed them go at once: a clone must not stay before one of them because that reads it.
void Recomputation::replaceDuplicates() {
  llvm::SetVector<Operation *> ops;
  for (auto [backward, forward] : pair.duplicates)
    if (Value known = map.lookupOrNull(forward)) {
      backward.replaceAllUsesWith(known);
      ops.insert(backward.getOwner());
    }
  for (Operation *op : llvm::reverse(ops.getArrayRef())) {
    if (auto kernel = dyn_cast<KernelOp>(op))
      withoutUnused(kernel);
    else if (op->use_empty())
      op->erase();
  }
}

//===----------------------------------------------------------------------===//
// 3. Order
//===----------------------------------------------------------------------===//

/// The op of the block that reads a result of `ops` first, or the first op of its launch; null if none does.
static Operation *firstReader(ArrayRef<Operation *> ops) {
  Block *block = ops.front()->getBlock();
  Operation *first = nullptr;
  for (Operation *op : ops)
    for (Operation *user : op->getUsers()) {
      Operation *reader = launchOf(block->findAncestorOpInBlock(*user)).front();
      if (!first || reader->isBeforeInBlock(first)) first = reader;
    }
  return first;
}

/// Views too: one at the beginning of the body would have what it views computed there.
static void sinkViews(Block &block) {
  SmallVector<Operation *> views;
  for (Operation &op : block)
    if (isStorageView(&op)) views.push_back(&op);
  for (Operation *view : llvm::reverse(views))
    if (Operation *reader = firstReader(view)) view->moveBefore(reader);
}

void Recomputation::sinkClones() {
  sinkViews(pair.backward.getBlock());
  llvm::DenseMap<Operation *, Operation *> firstBefore; // of the clones before a reader; they keep their order
  for (ArrayRef<Operation *> ops : llvm::reverse(clones)) {
    Operation *reader = firstReader(ops);
    if (!reader) continue;
    Operation *&next = firstBefore.try_emplace(reader, reader).first->second;
    for (Operation *op : ops) op->moveBefore(next);
    next = ops.front();
  }
}

//===----------------------------------------------------------------------===//
// 4. What is left
//===----------------------------------------------------------------------===//

void Recomputation::cleanUp() {
  for (RepeatOp *repeat : {&pair.backward, &pair.forward}) {
    *repeat = withoutUnused(*repeat); // values that are no longer stacked
    trimKernels(repeat->getBlock());
    *repeat = withoutUnused(*repeat); // operands that only these kernels read
  }
}

void Recomputation::run() {
  cloneUnits();
  replaceSlices();
  replaceDuplicates();
  sinkClones();
  cleanUp();
}

void tessera::recompute(LayerPair &pair, const llvm::BitVector &units) { Recomputation(pair, units).run(); }
