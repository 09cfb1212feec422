//===- Ahead.h - reading memory before it is needed -------------------------===//
//
// Operands that are packed or read once come from far away, while the processor multiplies what it has. So the next
// block's are fetched into the second level cache meanwhile, a part with each product.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_CONTRACTION_AHEAD_H
#define TESSERA_CODEGEN_CPU_CONTRACTION_AHEAD_H

#include "codegen/cpu/builder/CodeBuilder.h"

namespace tessera {

/// Bytes of a line of the caches.
inline constexpr int64_t lineBytes = 64;

/// Memory that will be read: `pieces` times as many lines of the caches, at a distance of `stride` bytes.
struct Ahead {
  mlir::Value start;
  int64_t stride, lines;
  mlir::Value pieces; ///< not negative
};

/// Part `number` of `parts` of it, counted from 0.
Ahead partOf(CodeBuilder &code, const Ahead &ahead, mlir::Value number, mlir::Value parts);
void prefetch(CodeBuilder &code, const Ahead &ahead);

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CONTRACTION_AHEAD_H
