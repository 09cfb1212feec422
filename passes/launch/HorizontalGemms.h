//===- Merges.h - contractions that are computed as one --------------------===//
//
// Projections of one input to queries, keys and values are narrow products that each read all of the input, and so are their gradients.
// Computed as one they read it once, and share what is packed of it. For that no matrices need to lie side by side: the product's columns
// (or rows) come from several. Such contractions of a block are put next to each other and marked with one number, `tsr.launch`.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_LAUNCH_HORIZONTALGEMMS_H
#define TESSERA_PASSES_LAUNCH_HORIZONTALGEMMS_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Merges contractions in all blocks of a function's body, moving them. `isGood` is asked about the function when contractions have
/// moved; what it refuses is undone. Returns the number of contractions that are computed with another.
unsigned fuseGemmsHorizontally(mlir::func::FuncOp function, llvm::function_ref<bool()> isGood);

} // namespace tessera

#endif // TESSERA_PASSES_LAUNCH_HORIZONTALGEMMS_H
