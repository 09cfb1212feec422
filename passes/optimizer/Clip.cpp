//===- Clip.cpp - the global norm of all gradients ------------------------===//
//
//   norm = unscale * sqrt(sum over gradients of sum of squares)
//   clipped = gradient * unscale * limit / max(norm, limit)
//
// The sum over a whole tensor is two reductions, first along rows, then over the sums of the rows, so that the first
// one is a parallel loop.
//
//===----------------------------------------------------------------------===//

#include "passes/optimizer/Optimizer.h"

using namespace mlir;
using namespace tessera;

/// Rows of the first reduction: enough for the threads of a GPU, few enough that the second reduction is cheap.
static constexpr int64_t enoughRows = 1024;

/// Sum of the squares of all elements.
static Value sumOfSquares(GraphBuilder &b, Value x) {
  NamedTensorType type = tensorType(x);
  SmallVector<StringRef> rows, inner;
  int64_t count = 1;
  // Leading axes make the rows; the last axis is always summed first.
  for (auto [i, axis] : llvm::enumerate(type.getAxes())) {
    bool isRow = inner.empty() && count < enoughRows && i + 1 < type.getAxes().size();
    (isRow ? rows : inner).push_back(axis.getName());
    if (isRow) count *= axis.getSize();
  }
  return b.sum(b.sum(b.mul(x, x), inner), rows);
}

void tessera::expandClip(ClipOp clip) {
  GraphBuilder b(clip);
  Operation *previous = clip->getPrevNode();
  Value total;
  for (Value gradient : clip.getGradients()) {
    Value square = sumOfSquares(b, gradient);
    total = total ? b.add(total, square) : square;
  }
  Value norm = total ? b.sqrt(total) : b.constant(0, clip.getNorm().getType());
  if (clip.getUnscale()) norm = b.mul(norm, clip.getUnscale());
  Value scale = clip.getLimit() ? b.div(clip.getLimit(), b.max(norm, clip.getLimit())) : Value();
  if (clip.getUnscale()) scale = scale ? b.mul(scale, clip.getUnscale()) : clip.getUnscale();
  for (auto [gradient, result] : llvm::zip(clip.getGradients(), clip.getClipped()))
    result.replaceAllUsesWith(scale ? b.mul(gradient, scale) : gradient);
  clip.getNorm().replaceAllUsesWith(norm);
  setStepPassBetween(previous, clip, StepPass::Optimizer);
  clip.erase();
}
