//===- Segments.h - a repeat as a repeat of repeats -----------------------===//

#ifndef TESSERA_PASSES_REMATERIALIZE_SEGMENTS_H
#define TESSERA_PASSES_REMATERIALIZE_SEGMENTS_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Replaces a repeat by one over so many segments of equal length, whose body repeats the layers of a segment. Returns
/// the outer one.
RepeatOp divideIntoSegments(RepeatOp repeat, int64_t segments);

/// The repeat that an outer repeat of `divideIntoSegments` consists of.
RepeatOp segmentOf(RepeatOp outer);

} // namespace tessera

#endif // TESSERA_PASSES_REMATERIALIZE_SEGMENTS_H
