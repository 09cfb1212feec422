//===- ContractionPlan.cpp - blocking and packing of a contraction --------===//

#include "codegen/cpu/contraction/ContractionPlan.h"
#include "codegen/cpu/contraction/Prefetch.h"

using namespace mlir;
using namespace tessera;

// Sizes of blocks are in units of 32 bits, for caches of 48 KiB (L1) and 1 MiB and more (L2). They were measured on one
// processor; the speed changes little around them.

/// Depth of a long block of K. Long blocks read and write c less often than short ones, whose panel of b stays in the
/// L1 cache. The second value is for processors whose hardware prefetcher stops at the end of a page.
static constexpr int64_t longDepth = 1024, longDepthWithinPages = 512;
/// Of a, with short and with long blocks of K.
static constexpr int64_t rowBlock = 96 * 1024, longRowBlock = 192 * 1024;
/// Of c, between two blocks of K.
static constexpr int64_t columnBlock = 256 * 1024;
/// A whole b that stays in the L2 cache.
static constexpr int64_t smallB = 96 * 1024;
/// Columns of b, not units, where it is packed for several blocks of rows.
static constexpr int64_t packedColumns = 1024;
/// Packing a pays from so many panels of b that read a row of it: if rows have conflict misses, and if not. Packing b
/// pays from so many tiles of rows that read a panel.
static constexpr int64_t fewPanels = 4, manyPanels = 32, fewRowTiles = 8;
/// Bytes from one k to the next, half a page, that are too many for a hardware prefetcher that stops at the end of a
/// page.
static constexpr int64_t farApart = 2048;
/// A thread that steals iterations packs the operand that all of c shares once more: a few percent (estimated) of the
/// work on so many rows or columns.
static constexpr int64_t worthPacking = 128;
/// With so many GEMMs in a batch, threads share whole ones.
static constexpr int64_t manyGemms = 16;

// For AMX, with an L2 cache of 2 MiB.

/// How many times as fast as vectors it is.
static constexpr int64_t amxSpeed = 8;
/// Depth of a block of K. Deeper blocks read and write c less often, where a is not packed again for each block of
/// columns.
static constexpr int64_t amxDepth = 512, amxDepthInPlace = 1024;
/// Of b; of b where a is packed again for each block of columns; and of a whole b that stays in the cache.
static constexpr int64_t amxBlock = 128 * 1024, amxWideBlock = 256 * 1024, amxSmallB = 320 * 1024;
/// Of a that is packed, and of partial sums.
static constexpr int64_t amxRowBlock = 128 * 1024, amxSums = 128 * 1024;

/// The size of blocks: as few blocks as `most` allows, all of the same size, rounded up to `multiple`.
static int64_t evenBlocks(int64_t size, int64_t most, int64_t multiple) {
  int64_t blocks = llvm::divideCeil(size, std::max(most, multiple));
  return llvm::alignTo(llvm::divideCeil(size, blocks), multiple);
}

PlannedGemm::PlannedGemm(const ContractionGemm &gemm, const FusedGemms &fused, const RegisterTile &tile)
    : each(gemm), rows(gemm.m(), tile.rows, fused.fusesRows() ? fused.count : 1),
      columns(gemm.n(), tile.columns(), fused.fusesColumns() ? fused.count : 1), k(gemm.k()), batch(gemm.batch()) {
  size_t row = gemm.c.dims.size() - 2, column = row + 1;
  aRow = gemm.a.strides[row], aK = gemm.a.strides[column];
  bK = gemm.b.strides[row], bColumn = gemm.b.strides[column];
  cRow = gemm.c.strides[row];
}

ContractionPlan::ContractionPlan(const ContractionGemm &description, const FusedGemms &fused, const CpuTarget &target)
    : amx(target.hasAmx && PanelFormat::of(target, description.a.type).pairs),
      tile(amx ? RegisterTile::ofAmx() : RegisterTile::of(target, description.n())), gemm(description, fused, tile) {
  packing.formatA = PanelFormat::of(target, description.a.type);
  packing.formatB = PanelFormat::of(target, description.b.type);
  packing.formatA.amx = packing.formatB.amx = amx;
  if (amx) {
    chooseForAmx();
  } else {
    choosePacking(target.prefetchesAcrossPages);
    chooseBlocks(target.prefetchesAcrossPages);
  }
  shareWork();
  layOutScratch();
}

void ContractionPlan::choosePacking(bool prefetchesAcrossPages) {
  const PanelFormat &format = packing.formatA;
  int64_t units = format.units(gemm.k), perUnit = format.perUnit(), bytes = bytesOf(gemm.each.a.type);
  // If the elements of a column are contiguous, a tile reads one or two cache lines for each k, as it would from a
  // panel; but these are far apart from one k to the next.
  bool hasConflicts = gemm.aK != 1 || gemm.aRow * bytes % conflictStride == 0;
  if (gemm.aRow == 1)
    packing.a = !prefetchesAcrossPages && (panels() > fewPanels || (panels() > 1 && gemm.aK * bytes >= farApart));
  else
    packing.a = panels() > manyPanels || (hasConflicts && (panels() > fewPanels || units > shortDepth));
  packing.b = gemm.bColumn != 1 || units > shortDepth || rowTiles() > fewRowTiles;
  // An operand that is not packed must consist of whole units, which may be pairs along K.
  if (gemm.each.a.type != ElementType::F32) {
    packing.a |= !format.isLikeMemory() || gemm.aK != 1 || gemm.aRow % perUnit != 0 || gemm.k % perUnit != 0;
    packing.b = true;
  }
}

void ContractionPlan::chooseBlocks(bool prefetchesAcrossPages) {
  int64_t m = gemm.rows.total(), n = gemm.columns.total(), units = packing.formatA.units(gemm.k);
  // Long blocks pay if c does not stay in the L2 cache, and if what is packed is contiguous along K. They do not pay
  // for an a that is read in place across its rows.
  bool isLong = gemm.aK == 1 && (gemm.bColumn != 1 || m > rowBlock / shortDepth);
  int64_t most = !isLong ? shortDepth : prefetchesAcrossPages ? longDepth : longDepthWithinPages;
  int64_t blockUnits = evenBlocks(units, most, tile.lanes);
  int64_t allColumns = llvm::alignTo(n, tile.columns());
  blocks.depth = blockUnits * packing.formatA.perUnit();
  blocks.rows = evenBlocks(m, std::max<int64_t>((isLong ? longRowBlock : rowBlock) / blockUnits, tile.rows), tile.rows);
  blocks.columns =
      gemm.k > blocks.depth ? evenBlocks(n, columnBlock / std::min(m, blocks.rows), tile.columns()) : allColumns;
  blocks.rowTilesOutside = blocks.depth >= gemm.k && allColumns * units <= smallB && rowTiles() > fewRowTiles;
  packing.wholeBlocksOfB = packing.b && (m > blocks.rows || blocks.rowTilesOutside);
  if (packing.wholeBlocksOfB) blocks.columns = std::min(blocks.columns, evenBlocks(n, packedColumns, tile.columns()));
  if (writesLowPrecisionInBlocks())
    blocks.partialRows = std::min<int64_t>(
        llvm::alignTo(m, tile.rows), std::max(blocks.rows, columnBlock / blocks.columns / blocks.rows * blocks.rows));
}

void ContractionPlan::chooseForAmx() {
  int64_t m = gemm.rows.total(), n = gemm.columns.total(), rowBytes = gemm.aRow * bytesOf(gemm.each.a.type);
  // Read in place, a must consist of whole tiles. Rows that map to the same cache sets are slow to read.
  packing.a = packing.formatA.type != ElementType::BF16 || gemm.aK != 1 || gemm.k % (2 * amxUnits) != 0 ||
              gemm.each.m() % amxRows != 0 || rowBytes % lineBytes != 0 || rowBytes % conflictStride == 0;
  packing.b = packing.wholeBlocksOfB = blocks.rowTilesOutside = true;
  int64_t blockUnits = evenBlocks(packing.formatA.units(gemm.k), packing.a ? amxDepth : amxDepthInPlace, amxUnits);
  blocks.depth = blockUnits * packing.formatA.perUnit();
  blocks.rows = packing.a ? evenBlocks(m, amxRowBlock / blockUnits, tile.rows) : tile.rows;
  packing.allOfA = packing.a && blocks.depth >= gemm.k && blocks.rows >= m;
  int64_t blockOfB = llvm::alignTo(n, tile.columns()) * blockUnits <= amxSmallB ? amxSmallB
                     : packing.a && !packing.allOfA                             ? amxWideBlock
                                                                                : amxBlock;
  blocks.columns = evenBlocks(n, blockOfB / blockUnits, tile.columns());
  if (writesLowPrecisionInBlocks())
    blocks.partialRows = std::min<int64_t>(llvm::alignTo(m, tile.rows),
                                           llvm::alignTo(std::max(blocks.rows, amxSums / blocks.columns), blocks.rows));
}

void ContractionPlan::shareWork() {
  int64_t m = gemm.rows.total(), n = gemm.columns.total(), speed = amx ? amxSpeed : 1;
  threads.splitsRows = m > n;
  threads.extent = threads.splitsRows ? tile.rows : tile.columns();
  threads.perGemm = threads.splitsRows ? rowTiles() : panels();
  if (gemm.batch >= manyGemms) threads.extent *= threads.perGemm, threads.perGemm = 1;
  int64_t iterations = gemm.batch * threads.perGemm;
  int64_t work = std::max<int64_t>(1, gemm.batch * m * n * gemm.k / iterations);
  int64_t grain = std::clamp<int64_t>(speed * leastWork / work, 1, iterations);
  bool packsShared = threads.perGemm > 1 && (threads.splitsRows ? packing.b : packing.a);
  int64_t leastStolen = packsShared ? llvm::divideCeil(speed * worthPacking, threads.extent) : 1;
  threads.sharing = {iterations, grain, std::max(grain, leastStolen)};
}

void ContractionPlan::layOutScratch() {
  constexpr int64_t unitBytes = 4;
  // Packing writes up to a vector beyond the last panel.
  auto panelUnits = [&](const PanelFormat &format, int64_t lines) {
    return format.units(blocks.depth) * lines + int64_t(tile.lanes);
  };
  int64_t b = packing.b ? panelUnits(packing.formatB, packing.wholeBlocksOfB ? blocks.columns : tile.columns()) : 0;
  int64_t a = packing.a ? panelUnits(packing.formatA, blocks.rows) : 0;
  scratch.panelsOfB = llvm::alignTo(tile.columns() * unitBytes, lineBytes);
  scratch.panelsOfA = llvm::alignTo(scratch.panelsOfB + b * unitBytes, lineBytes);
  scratch.partialSums = llvm::alignTo(scratch.panelsOfA + a * unitBytes, lineBytes);
  scratch.bytes = scratch.partialSums + blocks.partialRows * blocks.columns * unitBytes;
}
