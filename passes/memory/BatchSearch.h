//===- BatchSearch.h - the largest batch that fits into memory --------------===//

#ifndef TESSERA_PASSES_MEMORY_BATCHSEARCH_H
#define TESSERA_PASSES_MEMORY_BATCHSEARCH_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>
#include <optional>

namespace tessera {

/// A number of rows, and the bytes that are needed with it; none if it has no plan.
struct BatchMemory {
  int64_t rows = 0;
  std::optional<int64_t> bytes = 0;
};

/// Plans a number of rows, which takes long.
using BytesOfRows = llvm::function_ref<std::optional<int64_t>(int64_t rows)>;

/// A number of rows between two with which no more than `limit` bytes are needed, while one more row has no plan or
/// needs more; the rows of `fits`, which may be 0, if there is none. It is the largest one where memory grows with the
/// rows, and is found with few plans where it grows almost linearly.
int64_t largestBatch(BatchMemory fits, BatchMemory tooLarge, int64_t limit, BytesOfRows bytesWith);

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_BATCHSEARCH_H
