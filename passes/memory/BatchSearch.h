//===- BatchSearch.h - the largest batch that fits into memory --------------===//

#ifndef TESSERA_PASSES_MEMORY_BATCHSEARCH_H
#define TESSERA_PASSES_MEMORY_BATCHSEARCH_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>
#include <optional>

namespace tessera {

/// A number of rows, and the bytes that an entry function needs with it.
struct BatchMemory {
  int64_t rows = 0, bytes = 0;
};

/// The largest number of rows below `tooLarge` with which no more than `limit` bytes are needed; 0 if there is none.
/// `bytesWith` plans a number of rows, which takes long; none if it has no plan. Memory grows with the rows, almost
/// linearly.
int64_t largestBatch(BatchMemory tooLarge, int64_t limit,
                     llvm::function_ref<std::optional<int64_t>(int64_t rows)> bytesWith);

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_BATCHSEARCH_H
