//===- ContractionPlan.cpp - how a contraction is cut into tiles ----------===//

#include "codegen/cpu/contraction/ContractionPlan.h"
#include "codegen/cpu/contraction/Ahead.h"

using namespace mlir;
using namespace tessera;

// Sizes of blocks in units, which have 32 bits, for caches of 48 KiB, 1 MiB and more: measured on one processor, and flat around these.

/// Steps of K in a long block: those go over c less often than short ones, whose panel of b stays in the first level cache. The
/// second number is of processors that fetch ahead within a page only.
static constexpr int64_t longSteps = 1024, longStepsInPages = 512;
/// Of a, with short and with long blocks of K.
static constexpr int64_t rowBlock = 96 * 1024, longRowBlock = 192 * 1024;
/// Of c, between two blocks of K.
static constexpr int64_t columnBlock = 256 * 1024;
/// A whole b that stays in the second level cache.
static constexpr int64_t smallB = 96 * 1024;
/// Columns of b, not elements, where it is packed for several blocks of rows.
static constexpr int64_t packedColumns = 1024;
/// Packing a pays from so many panels of b that meet a row of it, if rows collide and if not; packing b from so many tiles of
/// rows that meet a panel.
static constexpr int64_t fewPanels = 4, manyPanels = 32, fewRowTiles = 8;
/// Bytes from one k to the next, half a page, that are too many to be fetched ahead where that stays within a page.
static constexpr int64_t farApart = 2048;
/// Who takes over a piece of c packs the operand that all of c shares for it again: a few percent (estimated) of the
/// work on so many rows or columns.
static constexpr int64_t worthPacking = 128;
/// With so many products in a batch, threads share whole ones.
static constexpr int64_t manyProducts = 16;

// For AMX, and 2 MiB in the second level cache.

/// Times as fast as vectors.
static constexpr int64_t amxSpeed = 8;
/// Steps of K in a block: longer ones go over c less often, where a is not packed again for each block of columns.
static constexpr int64_t amxSteps = 512, amxStepsInPlace = 1024;
/// Of b; where a is packed again for each block of columns; and of a whole b that stays in the cache.
static constexpr int64_t amxBlock = 128 * 1024, amxWideBlock = 256 * 1024, amxSmallB = 320 * 1024;
/// Of a that is packed, and of sums.
static constexpr int64_t amxRowBlock = 128 * 1024, amxSums = 128 * 1024;

/// As many blocks as `most` asks for, of equal size but for rounding up to `multiple`.
static int64_t evenBlocks(int64_t size, int64_t most, int64_t multiple) {
  int64_t blocks = llvm::divideCeil(size, std::max(most, multiple));
  return llvm::alignTo(llvm::divideCeil(size, blocks), multiple);
}

ContractionPlan::ContractionPlan(const ContractionGemm &gemm, const FusedGemms &merged, const CpuTarget &target)
    : gemm(gemm), merged(merged), formatA(PanelFormat::of(target, gemm.typeA)),
      formatB(PanelFormat::of(target, gemm.typeB)), amx(target.hasAmx && formatA.pairs),
      tile(amx ? RegisterTile::ofAmx() : RegisterTile::of(target, gemm.n())), packsAllOfA(false) {
  formatA.amx = formatB.amx = amx;
  size_t rank = gemm.dimsC.size(), rows = rank - 2, columns = rank - 1;
  m = gemm.m(), n = gemm.n(), k = gemm.k(), batch = gemm.batch();
  if (merged.mergesRows()) m = llvm::alignTo(m, tile.rows) * merged.count;
  if (merged.mergesColumns()) n = llvm::alignTo(n, tile.columns()) * merged.count;
  aRow = gemm.stridesA[rows], aStep = gemm.stridesA[columns];
  bStep = gemm.stridesB[rows], bColumn = gemm.stridesB[columns], cRow = gemm.stridesC[rows];

  int64_t panels = llvm::divideCeil(n, tile.columns()), rowTiles = llvm::divideCeil(m, tile.rows);
  splitRows = m > n;
  amx ? cutForAmx() : cut(target.prefetchesAcrossPages);
  partSize = splitRows ? tile.rows : tile.columns();
  parts = splitRows ? rowTiles : panels;
  if (batch >= manyProducts) partSize *= parts, parts = 1;
  int64_t iterations = batch * parts, work = std::max<int64_t>(1, batch * m * n * k / iterations);
  int64_t grain = std::clamp<int64_t>((amx ? amxSpeed : 1) * leastWork / work, 1, iterations);
  bool packsShared = parts > 1 && (splitRows ? packsB : packsA);
  int64_t leastParts = packsShared ? llvm::divideCeil((amx ? amxSpeed : 1) * worthPacking, partSize) : 1;
  sharing = {iterations, grain, std::max(grain, leastParts)};
  scratchBytes = sumsOffset() + sumRows * blockColumns * 4;
}

void ContractionPlan::cut(bool prefetchesAcrossPages) {
  int64_t panels = llvm::divideCeil(n, tile.columns()), rowTiles = llvm::divideCeil(m, tile.rows);
  int64_t units = formatA.units(k), perUnit = formatA.perUnit(), bytes = bytesOf(gemm.typeA);
  // Where neighbours in a column are neighbours in memory, a tile reads one or two lines of the cache for each k, as it would from
  // a panel; but from one k to the next they are far apart.
  bool collides = aStep != 1 || aRow * bytes % worstStride == 0;
  if (aRow == 1)
    packsA = !prefetchesAcrossPages && (panels > fewPanels || (panels > 1 && aStep * bytes >= farApart));
  else
    packsA = panels > manyPanels || (collides && (panels > fewPanels || units > shortSteps));
  packsB = bColumn != 1 || units > shortSteps || rowTiles > fewRowTiles;
  // In memory only whole pairs along K are units.
  if (gemm.typeA != ElementType::F32) {
    packsA |= !formatA.isLikeMemory() || aStep != 1 || aRow % perUnit != 0 || k % perUnit != 0;
    packsB = true;
  }
  // Long blocks pay where c does not wait in the second level cache, and where what is packed lies along K. Not for a that is
  // read in place across its rows.
  bool isLong = aStep == 1 && (bColumn != 1 || m > rowBlock / shortSteps);
  int64_t most = !isLong ? shortSteps : prefetchesAcrossPages ? longSteps : longStepsInPages;
  int64_t blockUnits = evenBlocks(units, most, tile.lanes);
  blockSteps = blockUnits * perUnit;
  blockRows = evenBlocks(m, std::max<int64_t>((isLong ? longRowBlock : rowBlock) / blockUnits, tile.rows), tile.rows);
  blockColumns = k > blockSteps ? evenBlocks(n, columnBlock / std::min(m, blockRows), tile.columns())
                                : llvm::alignTo(n, tile.columns());
  rowsFirst = blockSteps >= k && llvm::alignTo(n, tile.columns()) * units <= smallB && rowTiles > fewRowTiles;
  packsBlockOfB = packsB && (m > blockRows || rowsFirst);
  if (packsBlockOfB) blockColumns = std::min(blockColumns, evenBlocks(n, packedColumns, tile.columns()));
  if (gemm.resultType != ElementType::F32 && k > blockSteps)
    sumRows = std::min<int64_t>(llvm::alignTo(m, tile.rows),
                                std::max(blockRows, columnBlock / blockColumns / blockRows * blockRows));
}

void ContractionPlan::cutForAmx() {
  int64_t bytes = bytesOf(gemm.typeA);
  // In memory only whole tiles are tiles; rows that meet in the same lines of the cache are slow to read.
  packsA = formatA.type != ElementType::BF16 || aStep != 1 || k % (2 * amxUnits) != 0 || gemm.m() % amxRows != 0 ||
           aRow * bytes % lineBytes != 0 || aRow * bytes % worstStride == 0;
  packsB = packsBlockOfB = rowsFirst = true;
  int64_t blockUnits = evenBlocks(formatA.units(k), packsA ? amxSteps : amxStepsInPlace, amxUnits);
  blockSteps = blockUnits * formatA.perUnit();
  blockRows = packsA ? evenBlocks(m, amxRowBlock / blockUnits, tile.rows) : tile.rows;
  packsAllOfA = packsA && blockSteps >= k && blockRows >= m;
  int64_t blockOfB = llvm::alignTo(n, tile.columns()) * blockUnits <= amxSmallB ? amxSmallB
                     : packsA && !packsAllOfA                                   ? amxWideBlock
                                                                                : amxBlock;
  blockColumns = evenBlocks(n, blockOfB / blockUnits, tile.columns());
  if (gemm.resultType != ElementType::F32 && k > blockSteps)
    sumRows = std::min<int64_t>(llvm::alignTo(m, tile.rows),
                                llvm::alignTo(std::max(blockRows, amxSums / blockColumns), blockRows));
}

int64_t ContractionPlan::blockOffset() const {
  // A pack writes up to a vector behind its panel.
  int64_t panel = packsB ? formatB.units(blockSteps) * (packsBlockOfB ? blockColumns : tile.columns()) + tile.lanes : 0;
  return llvm::alignTo(panelOffset() + panel * 4, 64);
}

int64_t ContractionPlan::sumsOffset() const {
  int64_t block = packsA ? formatA.units(blockSteps) * blockRows + tile.lanes : 0;
  return llvm::alignTo(blockOffset() + block * 4, 64);
}
