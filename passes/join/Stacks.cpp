//===- Stacks.cpp - stacks of joined values -------------------------------===//
//
// A forward repeat saves queries, keys and values for the backward one, and a backward repeat stacks the gradients of
// weights. As stacks of their own, parts would have to be copied. So a repeat stacks the joined value, and the part is
// taken where it is read: after the repeat, or in the body of a repeat that slices the stack.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/Attributes.h"
#include "ir/program/Repeats.h"
#include "passes/join/Join.h"
#include "passes/simplify/Patterns.h"

using namespace mlir;
using namespace tessera;

namespace {
/// A stacked value that is a part of another one.
struct StackedPart {
  unsigned result;
  Value whole;
  SmallVector<Operation *> path; ///< from the whole to the part, in order
};
} // namespace

static std::optional<StackedPart> stackedPart(RepeatOp repeat, unsigned result) {
  StackedPart part{result, {}, {}};
  for (Operation *op = repeat.getYield().getValues()[result].getDefiningOp(); op;
       op = op->getOperand(0).getDefiningOp()) {
    if (!isa<SliceOp, SplitOp, MergeOp, RenameOp>(op)) break;
    part.path.insert(part.path.begin(), op);
    if (!op->hasAttr(partAttr)) continue;
    part.whole = op->getOperand(0);
    return part;
  }
  return std::nullopt;
}

/// The part of `whole`, which may have further axes.
static Value takePart(GraphBuilder &b, Value whole, const StackedPart &part) {
  Value value = whole;
  for (Operation *op : part.path) {
    if (auto slice = dyn_cast<SliceOp>(op)) {
      value = slicePart(b, value, slice.getAxis(), slice.getOffset(), slice.getType().getSize(slice.getAxis()));
    } else if (auto split = dyn_cast<SplitOp>(op)) {
      NamedTensorType type = split.getType();
      SmallVector<AxisAttr> into;
      for (StringRef name : names(split.getInto())) into.push_back(type.getAxes()[type.findAxis(name)]);
      value = b.split(value, split.getAxis(), into);
    } else if (auto merge = dyn_cast<MergeOp>(op)) {
      value = b.merge(value, names(merge.getAxes()), merge.getInto());
    } else {
      auto rename = cast<RenameOp>(op);
      value = b.rename(value, names(rename.getFrom()), names(rename.getTo()));
    }
    copyNotes(op, value.getDefiningOp());
  }
  return value;
}

/// Where a repeat slices `stack`, its body takes the part of a slice of `whole`.
static void readWhole(Value stack, Value whole, const StackedPart &part) {
  SmallVector<std::pair<RepeatOp, unsigned>> readers;
  for (OpOperand &use : stack.getUses()) {
    auto repeat = dyn_cast<RepeatOp>(use.getOwner());
    unsigned number = use.getOperandNumber(), carried = repeat ? repeat.getCarried().size() : 0;
    if (repeat && number >= carried && number < carried + repeat.getSliced().size())
      readers.push_back({repeat, number});
  }
  for (auto [repeat, number] : readers) {
    BlockArgument slice = repeat.getBlock().getArgument(1 + number);
    auto sliced = repeat.getSliced();
    auto known = llvm::find(sliced, whole);
    Value wholeSlice =
        known != sliced.end() ? repeat.getSlicedArgs()[known - sliced.begin()] : addSliced(repeat, whole);
    GraphBuilder b(&repeat.getBlock().front());
    slice.replaceAllUsesWith(takePart(b, wholeSlice, part));
  }
}

static void stackWholes(RepeatOp repeat) {
  SmallVector<StackedPart> parts;
  SmallVector<Value> wholes;
  for (unsigned i = repeat.getCarried().size(); i < repeat.getNumResults(); ++i)
    if (auto part = stackedPart(repeat, i)) {
      parts.push_back(*part);
      if (!llvm::is_contained(wholes, part->whole)) wholes.push_back(part->whole);
    }
  if (parts.empty()) return;
  unsigned first = repeat.getNumResults();
  repeat = addStacked(repeat, wholes);
  for (const StackedPart &part : parts) {
    Value stack = repeat.getResult(part.result);
    Value whole = repeat.getResult(first + (llvm::find(wholes, part.whole) - wholes.begin()));
    readWhole(stack, whole, part);
    GraphBuilder b(repeat);
    b.setInsertionPointAfter(repeat);
    Value outside = takePart(b, whole, part);
    stack.replaceUsesWithIf(outside, [&](OpOperand &use) {
      auto reader = dyn_cast<RepeatOp>(use.getOwner());
      unsigned number = use.getOperandNumber();
      return !reader || number < reader.getCarried().size() ||
             number >= reader.getCarried().size() + reader.getSliced().size();
    });
    // Without other uses than the slices, it is gone after pruning.
    for (Operation *op = outside.getDefiningOp(); op && op != repeat && op->use_empty();) {
      Operation *producer = op->getOperand(0).getDefiningOp();
      op->erase();
      op = producer;
    }
  }
}

void tessera::stackWholes(ModuleOp module) {
  SmallVector<RepeatOp> repeats; // inner ones first
  module.walk([&](RepeatOp repeat) { repeats.push_back(repeat); });
  for (RepeatOp repeat : repeats) ::stackWholes(repeat);
  // A stack is used as long as a repeat has it as an operand.
  while (pruneRepeats(module)) {
  }
}
