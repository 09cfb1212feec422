//===- Positions.cpp - induction values of divided repeats ----------------===//

#include "passes/rematerialize/Positions.h"
#include "ir/dialect/Attributes.h"
#include "ir/dialect/GraphBuilder.h"
#include "passes/rematerialize/Edits.h"

using namespace mlir;
using namespace tessera;

/// The note: the position of the first iteration, then the distances for the repeats around, the innermost first.
static constexpr llvm::StringLiteral noted = "tsr.position";

static SmallVector<int64_t> positionOf(RepeatOp repeat) {
  auto note = repeat->getAttrOfType<DenseI64ArrayAttr>(noted);
  return note ? SmallVector<int64_t>(note.asArrayRef()) : SmallVector<int64_t>{0};
}

static void note(RepeatOp repeat, ArrayRef<int64_t> position) {
  repeat->setAttr(noted, DenseI64ArrayAttr::get(repeat.getContext(), position));
}

void tessera::notePart(RepeatOp whole, RepeatOp part, int64_t start) {
  SmallVector<int64_t> position = positionOf(whole);
  position.front() += start;
  note(part, position);
}

void tessera::noteSegment(RepeatOp whole, RepeatOp inner) {
  SmallVector<int64_t> position = positionOf(whole);
  position.insert(position.begin() + 1, inner.getAxis().getSize());
  note(inner, position);
}

/// The induction value of a repeat around `repeat`, in its body.
static Value inductionInside(RepeatOp repeat, RepeatOp around) {
  auto parent = repeat->getParentOfType<RepeatOp>();
  Value outside = parent == around ? Value(around.getInduction()) : inductionInside(parent, around);
  return invariantArgument(repeat, outside);
}

static void applyPosition(RepeatOp repeat, ArrayRef<int64_t> position) {
  BlockArgument induction = repeat.getInduction();
  bool isUnchanged = llvm::all_of(position, [](int64_t number) { return number == 0; });
  if (isUnchanged || induction.use_empty()) return;
  SmallVector<Value> inductions{induction};
  auto around = repeat->getParentOfType<RepeatOp>();
  for (size_t i = 1; i < position.size(); ++i, around = around->getParentOfType<RepeatOp>())
    inductions.push_back(inductionInside(repeat, around));

  OpBuilder b = OpBuilder::atBlockBegin(&repeat.getBlock());
  auto none = b.getStrArrayAttr({});
  auto kernel =
      KernelOp::create(b, repeat.getLoc(), induction.getType(), "position", inductions, none, none, StringAttr());
  copyNotes(repeat, kernel);
  induction.replaceAllUsesExcept(kernel->getResult(0), kernel);
  Block &block = kernel.getBody().emplaceBlock();
  for (Value value : inductions) block.addArgument(value.getType(), repeat.getLoc());
  GraphBuilder inside(kernel);
  inside.setInsertionPointToEnd(&block);
  Value sum = block.getArgument(0);
  for (size_t i = 1; i < position.size(); ++i)
    sum = inside.add(sum, inside.mul(block.getArgument(i), static_cast<double>(position[i])));
  if (position.front() != 0) sum = inside.add(sum, static_cast<double>(position.front()));
  YieldOp::create(inside, repeat.getLoc(), sum);
}

void tessera::applyPositions(Operation *op) {
  op->walk<WalkOrder::PreOrder>([](RepeatOp repeat) {
    if (!repeat->hasAttr(noted)) return;
    SmallVector<int64_t> position = positionOf(repeat);
    repeat->removeAttr(noted);
    applyPosition(repeat, position);
  });
}
