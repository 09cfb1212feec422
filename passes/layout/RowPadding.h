//===- RowPadding.h - rows of matrices that begin at aligned addresses -------===//
//
// Libraries compute a GEMM fastest if every row of its matrices begins at a multiple of some bytes. Rows of an odd size
// (a vocabulary of 50,257) get an allocated size that makes it so. What cannot be padded keeps its size, and the
// contraction records why:
//
//   input       a value that the program receives, which is dense
//   output      a value that the program returns
//   state       state: dense, as in files
//   short rows  padding would take more than an eighth of the memory
//   view        a view of the value, or of what it is a view of, has no strides for it
//   shape       with padded rows another contraction of the value would not be one GEMM
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_LAYOUT_ROWPADDING_H
#define TESSERA_PASSES_LAYOUT_ROWPADDING_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Pads rows of values that GEMMs read or write, and of values that elementwise ops connect with them. `alignment`: of
/// rows, in bytes. Returns the number of padded values.
int64_t padRows(mlir::ModuleOp module, int64_t alignment);

} // namespace tessera

#endif // TESSERA_PASSES_LAYOUT_ROWPADDING_H
