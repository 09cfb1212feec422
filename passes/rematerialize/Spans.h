//===- Spans.h - layers of a stack with different policies ----------------===//

#ifndef TESSERA_PASSES_REMATERIALIZE_SPANS_H
#define TESSERA_PASSES_REMATERIALIZE_SPANS_H

#include "passes/rematerialize/LayerPair.h"

namespace tessera {

/// Layers that follow each other.
///
/// They have one policy; or they are segments of equal length, of which the forward pass saves the first input only.
/// Then the backward pass computes each segment again before it goes through it, as `inside` says.
struct LayerSpan {
  int64_t layers = 0;
  llvm::BitVector recomputed;    ///< units, of a span without segments
  int64_t segments = 0;          ///< each of layers / segments layers; 0: none
  std::vector<LayerSpan> inside; ///< the spans of a segment
};

/// Divides both repeats of a pair into spans, in the order in which the forward pass runs them. What they stack for
/// others is joined again.
void applySpans(RepeatOp forward, RepeatOp backward, llvm::ArrayRef<LayerSpan> spans);

} // namespace tessera

#endif // TESSERA_PASSES_REMATERIALIZE_SPANS_H
