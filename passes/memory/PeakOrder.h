//===- PeakOrder.h - an order of ops with a lower peak --------------------===//

#ifndef TESSERA_PASSES_MEMORY_PEAKORDER_H
#define TESSERA_PASSES_MEMORY_PEAKORDER_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Moves ops of an entry function within their blocks where that lowers its peak live memory by more than a little, and
/// the size of its packed buffers too. Fused ops stay where they are, and no move costs a copy. Returns the number of
/// moves.
unsigned lowerPeak(mlir::func::FuncOp function);

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_PEAKORDER_H
