//===- ContractionPlan.h - blocking and packing of a contraction ----------===//
//
// c [batch, M, N] += a [batch, M, K] · b [batch, K, N]. Threads share the rows or the columns of c, whichever leaves
// the smaller operand for every thread to pack for itself. Each thread runs
//
//   for block of columns, so many that c stays in the cache between two blocks of K
//     for block of K: pack the block of b, if several blocks of rows read it
//       for block of rows, whose part of a fits into the L2 cache: pack it
//         for panel of b, which fits into the L1 cache: pack it, unless its block is packed
//           for tile of rows: micro-kernel
//
// If all of b fits into the L2 cache, the two inner loops are interchanged (`CacheBlocks::rowTilesOutside`), so that c
// is traversed by rows and not by panels.
//
// A c of a low-precision type is written once, with complete sums. If there are several blocks of K, a thread
// accumulates in f32 in its scratch memory, for as many rows as fit into the L2 cache. The loops over blocks of K and
// of rows then run inside a loop over these.
//
// b is read in place if it is read a few times only and its rows are contiguous. a is read in place if few panels read
// each of its rows; or, however often it is read, if its columns are contiguous and the processor prefetches from one k
// to the next. What the next block reads is prefetched (OperandPrefetch.h).
//
// AMX multiplies ten times as fast, so packing and reading again cost more. Blocks of b are a quarter of the L2 cache
// or more, a tile of rows is multiplied by all of their panels, and a is read in place if its rows are whole blocks
// along K.
//
// Horizontally fused GEMMs, which share a (or b), are one GEMM with the columns (or rows) of all of them: one GEMM
// after the other, each padded to whole tiles. Only addresses depend on the GEMM that a column (or row) belongs to
// (ContractionOperands.h).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_CONTRACTION_CONTRACTIONPLAN_H
#define TESSERA_CODEGEN_CPU_CONTRACTION_CONTRACTIONPLAN_H

#include "codegen/WorkSharing.h"
#include "codegen/cpu/contraction/MatrixFunctions.h"
#include "passes/gemm/Gemm.h"

namespace tessera {

/// The rows, or the columns, of c. Those of horizontally fused GEMMs follow each other, each GEMM's padded to whole
/// tiles, so that no tile has rows of two GEMMs.
struct FusedAxis {
  int64_t size;   ///< of one GEMM
  int64_t padded; ///< from the first index of one GEMM to that of the next; `size` if there is one only
  int64_t gemms;  ///< how many are fused along this axis

  FusedAxis(int64_t size, int64_t tile, int64_t gemms)
      : size(size), padded(gemms > 1 ? llvm::alignTo(size, tile) : size), gemms(gemms) {}
  bool isFused() const { return gemms > 1; }
  int64_t total() const { return padded * gemms; }
};

/// The GEMM that a plan is for. Strides are in elements.
struct PlannedGemm {
  ContractionGemm each; ///< of the horizontally fused ones
  FusedAxis rows, columns;
  int64_t k, batch; ///< `batch`: of all batch dimensions together
  int64_t aRow, aK; ///< strides of a, from row to row and from k to k
  int64_t bK, bColumn, cRow;

  PlannedGemm(const ContractionGemm &gemm, const FusedGemms &fused, const RegisterTile &tile);
};

/// Which operands are copied into panels, and when. An operand that is not packed has the strides that the micro-kernel
/// needs.
struct OperandPacking {
  PanelFormat formatA, formatB;
  bool a = false, b = false;   ///< whether the operand is packed
  bool allOfA = false;         ///< before the first block of columns, for all of them; else block by block
  bool wholeBlocksOfB = false; ///< a block of columns at once; else panel by panel, just before use
};

/// Sizes of the blocks that loops go through (MC, NC and KC in the literature), in rows, columns and elements along K.
/// Rows and columns are whole tiles.
struct CacheBlocks {
  int64_t rows = 0, columns = 0, depth = 0;
  int64_t partialRows = 0;      ///< rows of c whose partial sums are in scratch memory; 0: c holds them itself
  bool rowTilesOutside = false; ///< the loop over tiles of rows is outside the loop over panels of b
};

/// How threads share c. An iteration is a tile of rows or a panel of columns of one GEMM of the batch, or all of them
/// in a large batch.
struct ThreadPartition {
  bool splitsRows = false; ///< iterations are rows; else columns
  int64_t perGemm = 1;     ///< iterations in one GEMM of the batch
  int64_t extent = 0;      ///< rows or columns of one iteration
  WorkSharing sharing;
};

/// Offsets in the scratch memory of a thread, in bytes. It starts with a row of zeros.
struct ScratchLayout {
  int64_t panelsOfB = 0, panelsOfA = 0, partialSums = 0;
  int64_t bytes = 0; ///< of all
};

struct ContractionPlan {
  bool amx; ///< micro-kernels are MatrixFunctions::amxMicroKernel
  RegisterTile tile;
  PlannedGemm gemm;
  OperandPacking packing;
  CacheBlocks blocks;
  ThreadPartition threads;
  ScratchLayout scratch;

  ContractionPlan(const ContractionGemm &description, const FusedGemms &fused, const CpuTarget &target);

private:
  int64_t panels() const { return llvm::divideCeil(gemm.columns.total(), tile.columns()); }
  int64_t rowTiles() const { return llvm::divideCeil(gemm.rows.total(), tile.rows); }
  bool writesLowPrecisionInBlocks() const { return gemm.each.c.type != ElementType::F32 && gemm.k > blocks.depth; }
  void choosePacking(bool prefetchesAcrossPages);
  void chooseBlocks(bool prefetchesAcrossPages);
  void chooseForAmx();
  void shareWork();
  void layOutScratch();
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CONTRACTION_CONTRACTIONPLAN_H
