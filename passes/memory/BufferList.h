//===- BufferList.h - every buffer of the arena ---------------------------===//

#ifndef TESSERA_PASSES_MEMORY_BUFFERLIST_H
#define TESSERA_PASSES_MEMORY_BUFFERLIST_H

#include "ir/dialect/Tsr.h"
#include <string>
#include <vector>

namespace tessera {

/// A buffer as `info` lists it.
struct BufferInfo {
  std::string name;  ///< the user's name where there is one
  std::string entry; ///< entry function that uses it; "*": all of them
  std::string kind;  ///< state, input, output, temporary, saved
  int64_t offset = 0, bytes = 0;
};

/// The buffers of a scheduled module, largest first; equal sizes by offset.
std::vector<BufferInfo> listBuffers(mlir::ModuleOp module);

/// Peak live memory of a scheduled module's entry functions, state included: a lower bound of the arena's size.
int64_t arenaLowerBound(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_BUFFERLIST_H
