//===- Prefetch.h - software prefetch of operands -------------------------===//
//
// Operands that are packed, or read once, come from memory. While a block is multiplied, what the next block reads is
// prefetched into the L2 cache: a share with each call of a micro-kernel, since the processor holds few outstanding
// loads.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_CONTRACTION_PREFETCH_H
#define TESSERA_CODEGEN_CPU_CONTRACTION_PREFETCH_H

#include "codegen/cpu/builder/CodeBuilder.h"

namespace tessera {

/// Bytes of a cache line.
inline constexpr int64_t lineBytes = 64;

/// Memory that will be read: `rows` times `cacheLines` consecutive cache lines, `strideBytes` apart.
struct PrefetchRegion {
  mlir::Value start;
  int64_t strideBytes, cacheLines;
  mlir::Value rows; ///< not negative
};

/// Share `index` of `count` shares of a region's rows. The last shares may be empty.
PrefetchRegion shareOf(CodeBuilder &code, const PrefetchRegion &region, mlir::Value index, mlir::Value count);
void prefetch(CodeBuilder &code, const PrefetchRegion &region);

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CONTRACTION_PREFETCH_H
