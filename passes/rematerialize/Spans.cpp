//===- Spans.cpp - layers of a stack with different policies --------------===//
//
//   before   %y, %s = tsr.repeat [layer: 12] carry (%x) slice (%w)
//            …
//            %dx, %dw = tsr.repeat [layer: 12] reverse carry (%dy) slice (%w, %s)
//   after    %w0 = tsr.slice %w layer from 0                       views
//            %w8 = tsr.slice %w layer from 8
//            %x8, %s0 = tsr.repeat [layer: 8] carry (%x) slice (%w0)
//            %y, %s8 = tsr.repeat [layer: 4] carry (%x8) slice (%w8)
//            …
//            %dx8, %dw8 = tsr.repeat [layer: 4] reverse carry (%dy) slice (%w8, %s8)
//            %dx, %dw0 = tsr.repeat [layer: 8] reverse carry (%dx8) slice (%w0, %s0)
//            %dw = tsr.join %dw0, %dw8 along layer
//
//===----------------------------------------------------------------------===//

#include "passes/rematerialize/Spans.h"
#include "ir/dialect/Attributes.h"
#include "ir/dialect/GraphBuilder.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Views.h"
#include "passes/rematerialize/Edits.h"
#include "passes/rematerialize/Positions.h"
#include "passes/rematerialize/Segments.h"

using namespace mlir;
using namespace tessera;

/// Of a pair whose layers are one span.
static void applySpan(RepeatOp forward, RepeatOp backward, const LayerSpan &span) {
  if (span.segments == 0) {
    LayerPair pair(forward, backward);
    llvm::BitVector units = span.recomputed;
    pair.savedWith(units); // leaves what is needed
    return recompute(pair, units);
  }
  // A segment is a layer of the outer pair, and its forward repeat the unit that the backward pass computes again.
  RepeatOp segments = divideIntoSegments(forward, span.segments);
  LayerPair outer(segments, divideIntoSegments(backward, span.segments));
  for (Operation *view : llvm::make_early_inc_range(segments->getUsers()))
    if (view->use_empty() && isStorageView(view)) view->erase(); // of stacks that are read as they are
  recompute(outer, llvm::BitVector(outer.units.size(), true));
  withoutUnused(segmentOf(outer.forward));
  RepeatOp inner = segmentOf(outer.backward);
  for (auto again : outer.backward.getBlock().getOps<RepeatOp>())
    if (again != inner) return applySpans(again, inner, span.inside);
}

namespace {

class Division {
public:
  Division(RepeatOp forward, RepeatOp backward, ArrayRef<LayerSpan> spans)
      : forward(forward), backward(backward), spans(spans), axis(forward.getAxis()),
        startsAtTheEnd(forward.getReverse()) {}

  void run();

private:
  Value part(Value whole, size_t span);
  int64_t start(size_t span) const;
  RepeatOp clonePart(RepeatOp whole, size_t span, ValueRange carried, IRMapping &sliced);
  void replaceResults(RepeatOp whole, ArrayRef<RepeatOp> parts, RepeatOp last);

  RepeatOp forward, backward;
  ArrayRef<LayerSpan> spans;
  AxisAttr axis;
  bool startsAtTheEnd; ///< the first span has the last positions along the axis
  DenseMap<std::pair<Value, size_t>, Value> parts;
};

} // namespace

/// The least position along the axis that a span has.
int64_t Division::start(size_t span) const {
  int64_t layers = 0;
  for (const LayerSpan &before : spans.take_front(span)) layers += before.layers;
  return startsAtTheEnd ? axis.getSize() - layers - spans[span].layers : layers;
}

/// The slices that a span reads, as a view after the value.
Value Division::part(Value whole, size_t span) {
  Value &view = parts[{whole, span}];
  if (view) return view;
  GraphBuilder b(forward);
  b.setInsertionPointAfterValue(whole);
  view = b.slice(whole, axis.getName(), start(span), spans[span].layers);
  copyNotes(forward, view.getDefiningOp());
  return view;
}

RepeatOp Division::clonePart(RepeatOp whole, size_t span, ValueRange carried, IRMapping &sliced) {
  OpBuilder b(whole);
  auto clone = cast<RepeatOp>(b.clone(*whole));
  AxisAttr size = tessera::axis(b.getContext(), axis.getName(), spans[span].layers);
  clone.setAxisAttr(size);
  clone.getCarriedMutable().assign(carried);
  for (OpOperand &operand : clone.getSlicedMutable()) {
    Value known = sliced.lookupOrNull(operand.get());
    operand.set(known ? known : part(operand.get(), span));
  }
  for (Value stack : clone.getStackedResults()) {
    SmallVector<AxisAttr> axes(tensorType(stack).getAxes());
    axes.front() = size;
    stack.setType(tensorType(stack).withAxes(axes));
  }
  notePart(whole, clone, start(span));
  return clone;
}

void Division::replaceResults(RepeatOp whole, ArrayRef<RepeatOp> parts, RepeatOp last) {
  unsigned carried = whole.getCarried().size();
  GraphBuilder b(whole);
  for (unsigned i = 0; i < whole->getNumResults(); ++i) {
    Value result = whole->getResult(i);
    if (result.use_empty()) continue;
    if (i < carried) {
      result.replaceAllUsesWith(last->getResult(i));
      continue;
    }
    SmallVector<Value> stacks;
    for (RepeatOp part : parts) stacks.push_back(part->getResult(i));
    if (startsAtTheEnd) std::reverse(stacks.begin(), stacks.end());
    Value joined = b.join(stacks, axis.getName());
    copyNotes(whole, joined.getDefiningOp());
    result.replaceAllUsesWith(joined);
  }
  whole.erase();
}

void Division::run() {
  SmallVector<RepeatOp> forwards, backwards(spans.size());
  SmallVector<IRMapping> stacks(spans.size());
  IRMapping none;
  SmallVector<Value> carried(forward.getCarried());
  for (size_t i = 0; i < spans.size(); ++i) {
    forwards.push_back(clonePart(forward, i, carried, none));
    carried.assign(forwards[i].getCarriedResults().begin(), forwards[i].getCarriedResults().end());
    for (unsigned result = carried.size(); result < forward->getNumResults(); ++result)
      stacks[i].map(forward->getResult(result), forwards[i]->getResult(result));
  }
  carried.assign(backward.getCarried().begin(), backward.getCarried().end());
  for (size_t i = spans.size(); i-- > 0;) {
    backwards[i] = clonePart(backward, i, carried, stacks[i]);
    carried.assign(backwards[i].getCarriedResults().begin(), backwards[i].getCarriedResults().end());
  }
  replaceResults(backward, backwards, backwards.front());
  replaceResults(forward, forwards, forwards.back());
  for (size_t i = 0; i < spans.size(); ++i) applySpan(forwards[i], backwards[i], spans[i]);
}

void tessera::applySpans(RepeatOp forward, RepeatOp backward, ArrayRef<LayerSpan> spans) {
  if (spans.size() == 1) return applySpan(forward, backward, spans.front());
  Division(forward, backward, spans).run();
}
