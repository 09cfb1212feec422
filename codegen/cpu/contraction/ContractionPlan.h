//===- ContractionPlan.h - how a contraction is cut into tiles ------------===//
//
// c [batch, M, N] += a [batch, M, K] · b [batch, K, N]. Threads share rows or columns of c, whichever leaves them the smaller
// operand to pack each for itself. A thread goes over its part as
//
//   for block of columns, as many as stay in the cache of c between two blocks of K
//     for block of K: pack b's part, if several blocks of rows read it
//       for block of rows, of which a's part stays in the second level cache: pack it
//         for panel of b, which stays in the first level: pack it, if no other block of rows does
//           for tile of rows: product
//
// Where all of b stays in the second level cache the two inner loops change places (`rowsFirst`), so that c is passed row
// by row and not in pieces of a panel's width.
//
// A c of a low type takes its sums when they are complete. If there are several blocks of K, a thread adds up in its scratch
// memory, for as many rows as stay in the second level cache, and the two loops over blocks of K and of rows run inside one over
// these.
//
// b is read where it lies if that is seldom and its rows are contiguous; a also if few panels meet its rows, or if its columns are
// contiguous, however often, where the processor fetches ahead from one k to the next.
// What comes next is fetched meanwhile (Ahead.h).
//
// With AMX, which multiplies ten times as fast, packing and reading again cost more: blocks of b are a quarter of the second
// level cache or more, tiles of rows meet all of their panels, and a is read in place wherever its rows are whole blocks along K.
//
// Merged products, which share a (or b), are one product with the columns (or rows) of all of them, one behind the other and each
// filled up to whole tiles: only addresses know to which one a column (or row) belongs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_CONTRACTION_CONTRACTIONPLAN_H
#define TESSERA_CODEGEN_CPU_CONTRACTION_CONTRACTIONPLAN_H

#include "codegen/WorkSharing.h"
#include "codegen/cpu/contraction/MatrixFunctions.h"
#include "passes/gemm/Gemm.h"

namespace tessera {

struct ContractionPlan {
  ContractionGemm gemm; ///< of each of the merged products
  FusedGemms merged;
  PanelFormat formatA, formatB;
  bool amx; ///< products are MatrixFunctions::amxProduct
  RegisterTile tile;
  int64_t m, n, k, batch;                      ///< sizes, of merged products together; `batch` of all batch dimensions
  int64_t aRow, aStep, bStep, bColumn, cRow;   ///< strides in elements
  int64_t blockRows, blockColumns, blockSteps; ///< of the loops above
  bool splitRows;                              ///< threads share rows; else columns
  bool packsA, packsB;
  int64_t sumRows = 0; ///< rows whose sums stand in the scratch memory; 0: c takes them up itself
  bool rowsFirst;      ///< all panels for a tile of rows, then the next tile
  bool packsAllOfA;    ///< before the first block of columns, for all of them
  bool packsBlockOfB;  ///< b's part of a whole block of columns at once; else panel by panel, where it is used
  int64_t parts;       ///< iterations in one product of the batch: tiles of rows or panels of columns
  int64_t partSize;    ///< rows or columns of one
  WorkSharing sharing;
  int64_t scratchBytes; ///< of one thread

  ContractionPlan(const ContractionGemm &gemm, const FusedGemms &merged, const CpuTarget &target);

  /// Rows, or columns, from one of the merged products to the next.
  int64_t rowsOfOne() const { return m / (merged.mergesRows() ? merged.count : 1); }
  int64_t columnsOfOne() const { return n / (merged.mergesColumns() ? merged.count : 1); }

  // Offsets in the scratch memory, in bytes.
  int64_t panelOffset() const { return llvm::alignTo(int64_t(tile.columns()) * 4, 64); } ///< behind a row of zeros
  int64_t blockOffset() const;
  int64_t sumsOffset() const;

private:
  void cut(bool prefetchesAcrossPages);
  void cutForAmx();
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CONTRACTION_CONTRACTIONPLAN_H
