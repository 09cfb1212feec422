//===- Positions.h - induction values of divided repeats ------------------===//
//
// What a layer's position decides, such as its random draws, must not change where a stack of layers is divided into
// spans and segments. So a repeat that is a part of another one notes, until all is divided, which position an
// iteration has in the whole: that of its first iteration, and how many positions lie between two iterations of each
// repeat around it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_REMATERIALIZE_POSITIONS_H
#define TESSERA_PASSES_REMATERIALIZE_POSITIONS_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// `part` has iterations of `whole`, from `start` on.
void notePart(RepeatOp whole, RepeatOp part, int64_t start);
/// `inner` has the iterations of `whole` that are in one iteration of the repeat around it.
void noteSegment(RepeatOp whole, RepeatOp inner);

/// Has the bodies of all repeats in an op read positions in the whole, and removes the notes.
void applyPositions(mlir::Operation *op);

} // namespace tessera

#endif // TESSERA_PASSES_REMATERIALIZE_POSITIONS_H
