//===- BufferList.h - every buffer of the arena ---------------------------===//

#ifndef TESSERA_PASSES_MEMORY_BUFFERLIST_H
#define TESSERA_PASSES_MEMORY_BUFFERLIST_H

#include "passes/memory/BufferKinds.h"
#include <string>
#include <vector>

namespace tessera {

/// A buffer as `info` lists it.
struct BufferInfo {
  std::string name;  ///< what it holds (passes/analysis/ValueNames.h)
  std::string entry; ///< entry function that uses it; "*": all of them
  BufferKind kind = BufferKind::Temporary;
  std::string type; ///< "[batch: 8, ff: 768] f32"; axes in memory order, outermost first
  std::string line; ///< of the model, "model.tsr:31:7"; may be empty
  int64_t offset = 0, bytes = 0;
};

/// The buffers of a scheduled module, largest first; equal sizes by offset.
std::vector<BufferInfo> listBuffers(mlir::ModuleOp module);

/// The end of the highest place that an entry function of a scheduled module uses beside state; 0 if it has none.
int64_t plannedBytes(mlir::ModuleOp module, llvm::StringRef entry);

/// Peak live memory of a scheduled module's entry functions, state included: a lower bound of the arena's size.
int64_t arenaLowerBound(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_BUFFERLIST_H
