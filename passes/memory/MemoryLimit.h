//===- MemoryLimit.h - no more memory than before -------------------------===//

#ifndef TESSERA_PASSES_MEMORY_MEMORYLIMIT_H
#define TESSERA_PASSES_MEMORY_MEMORYLIMIT_H

#include "passes/memory/Storage.h"

namespace tessera {

/// Whether a function whose ops have moved needs no more memory than before, or hardly more.
class MemoryLimit {
public:
  /// `stateBytes`: of the arena, before the function's buffers. With a limit of the arena no more than that is allowed.
  MemoryLimit(mlir::func::FuncOp function, const StoragePlan &before, int64_t stateBytes,
              std::optional<int64_t> arena = std::nullopt);

  /// Compares peak live memory; with `isPacked`, which takes longer, the size of the packed arena too.
  bool holds(bool isPacked) const;
  int64_t getMost() const { return most; }

private:
  mlir::func::FuncOp function;
  int64_t most, packedBefore, more;
};

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_MEMORYLIMIT_H
