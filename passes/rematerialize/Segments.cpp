//===- Segments.cpp - a repeat as a repeat of repeats ---------------------===//
//
//   before   %y, %s = tsr.repeat [layer: 12] carry (%x) slice (%w)
//   after    %ws = tsr.split %w layer into [layer_segment: 3, layer: 4]                           views
//            %y, %ss = tsr.repeat [layer_segment: 3] carry (%x) slice (%ws) {
//              %2, %3 = tsr.repeat [layer: 4] carry (%a) slice (%b)
//            }
//            %s = tsr.merge %ss [layer_segment, layer] into layer
//
//===----------------------------------------------------------------------===//

#include "passes/rematerialize/Segments.h"
#include "ir/dialect/Attributes.h"
#include "ir/dialect/GraphBuilder.h"
#include "ir/program/Program.h"
#include "passes/rematerialize/Positions.h"

using namespace mlir;
using namespace tessera;

namespace {

class Segmentation {
public:
  Segmentation(RepeatOp repeat, int64_t segments);
  RepeatOp run();

private:
  Value divided(Value whole);
  NamedTensorType withOutermost(NamedTensorType type, ArrayRef<AxisAttr> outermost) const;

  RepeatOp repeat;
  AxisAttr whole, layers, segments;
};

} // namespace

/// An axis of values in the repeat may have the first name already.
static std::string segmentAxis(RepeatOp repeat) {
  return freshName((repeat.getAxis().getName() + "_segment").str(), "_segment", [&](StringRef name) {
    auto hasName = [&](ValueRange values) {
      return llvm::any_of(values, [&](Value value) { return tensorType(value).hasAxis(name); });
    };
    WalkResult found = repeat->walk([&](Operation *op) {
      auto inner = dyn_cast<RepeatOp>(op);
      bool isTaken =
          hasName(op->getOperands()) || hasName(op->getResults()) || (inner && inner.getAxis().getName() == name);
      return isTaken ? WalkResult::interrupt() : WalkResult::advance();
    });
    for (auto around = repeat->getParentOfType<RepeatOp>(); around; around = around->getParentOfType<RepeatOp>())
      if (around.getAxis().getName() == name) return true;
    return found.wasInterrupted();
  });
}

Segmentation::Segmentation(RepeatOp repeat, int64_t count) : repeat(repeat), whole(repeat.getAxis()) {
  MLIRContext *context = repeat.getContext();
  layers = tessera::axis(context, whole.getName(), whole.getSize() / count);
  segments = tessera::axis(context, segmentAxis(repeat), count);
}

/// `type` with other axes in place of the outermost one.
NamedTensorType Segmentation::withOutermost(NamedTensorType type, ArrayRef<AxisAttr> outermost) const {
  SmallVector<AxisAttr> axes(outermost);
  llvm::append_range(axes, type.getAxes().drop_front());
  return type.withAxes(axes);
}

/// The slices by segments.
Value Segmentation::divided(Value stack) {
  // What segments stacked is divided already.
  if (auto merge = stack.getDefiningOp<MergeOp>())
    if (tensorType(merge.getX()).getAxes().take_front(2) == ArrayRef<AxisAttr>{segments, layers}) return merge.getX();
  OpBuilder b(repeat);
  auto split =
      SplitOp::create(b, repeat.getLoc(), withOutermost(tensorType(stack), {segments, layers}), stack,
                      b.getStringAttr(whole.getName()), b.getStrArrayAttr({segments.getName(), layers.getName()}));
  copyNotes(repeat, split);
  return split;
}

RepeatOp Segmentation::run() {
  OpBuilder b(repeat);
  Location loc = repeat.getLoc();
  SmallVector<Value> sliced;
  for (Value stack : repeat.getSliced()) sliced.push_back(divided(stack));
  SmallVector<Type> types(ValueRange(repeat.getCarriedResults()).getTypes());
  for (Value stack : repeat.getStackedResults()) types.push_back(withOutermost(tensorType(stack), {segments, layers}));
  auto outer = RepeatOp::create(b, loc, types, segments, repeat.getReverseAttr(), repeat.getCarried(), sliced,
                                repeat.getInvariants(), ArrayAttr());
  outer->setDiscardableAttrs(repeat->getDiscardableAttrDictionary());
  Block &block = outer.getBody().emplaceBlock();
  block.addArgument(repeat.getInduction().getType(), loc);
  for (Value value : repeat.getCarried()) block.addArgument(value.getType(), loc);
  for (Value value : sliced)
    block.addArgument(withOutermost(tensorType(value).withAxes(tensorType(value).getAxes().drop_front()), layers), loc);
  for (Value value : repeat.getInvariants()) block.addArgument(value.getType(), loc);

  b.setInsertionPointToEnd(&block);
  auto inner = cast<RepeatOp>(b.clone(*repeat));
  inner.setAxisAttr(layers);
  inner->setOperands(block.getArguments().drop_front());
  for (Value stack : inner.getStackedResults()) stack.setType(withOutermost(tensorType(stack), layers));
  YieldOp::create(b, loc, inner->getResults());
  noteSegment(repeat, inner);

  b.setInsertionPointAfter(outer);
  unsigned carried = repeat.getCarried().size();
  for (auto [from, to] : llvm::zip(repeat.getResults(), outer.getResults())) {
    if (from.use_empty()) continue;
    if (from.getResultNumber() < carried) {
      from.replaceAllUsesWith(to);
      continue;
    }
    auto merge = MergeOp::create(b, loc, from.getType(), to, b.getStrArrayAttr({segments.getName(), layers.getName()}),
                                 b.getStringAttr(whole.getName()));
    copyNotes(repeat, merge);
    from.replaceAllUsesWith(merge);
  }
  repeat.erase();
  return outer;
}

RepeatOp tessera::divideIntoSegments(RepeatOp repeat, int64_t segments) { return Segmentation(repeat, segments).run(); }

RepeatOp tessera::segmentOf(RepeatOp outer) {
  for (auto inner : outer.getBlock().getOps<RepeatOp>())
    if (inner.getReverse() == outer.getReverse()) return inner;
  return {};
}
