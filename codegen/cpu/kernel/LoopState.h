//===- LoopState.h - what is known inside the open loops of a kernel ------===//

#ifndef TESSERA_CODEGEN_CPU_KERNEL_LOOPSTATE_H
#define TESSERA_CODEGEN_CPU_KERNEL_LOOPSTATE_H

#include "passes/kernel/KernelPlan.h"

namespace tessera {

/// The iterations of the vector loop that are computed at once: several vectors, the chunks.
struct VectorTile {
  unsigned lanes = 0; ///< of a chunk; 0 for scalar code
  unsigned chunks = 1;

  int64_t width() const { return static_cast<int64_t>(lanes) * chunks; }
};

/// One vector of a tile: the lanes from `offset` on, of which the first `active` count.
struct TileChunk {
  int64_t offset;
  unsigned active;
};

/// Loop indices, and the values that have been emitted, while the code inside the open loops is emitted.
struct LoopState {
  using Value = mlir::Value;
  /// Values by item: one, or one a chunk where they vary along the vector loop.
  using Frame = llvm::DenseMap<Value, llvm::SmallVector<Value, 4>>;
  struct Row {
    llvm::SmallVector<Value> indices;
    std::vector<Frame> frames;
  };

  llvm::SmallVector<Value> indices;    ///< of the loops; for the vector loop: where the tile starts
  uint64_t openLoops = 0;              ///< those that have an index now, as a mask
  llvm::SmallVector<TileChunk> chunks; ///< of the current tile
  std::vector<Frame> frames;           ///< one for each open loop
  std::vector<Row> rows;               ///< those that are computed at once; empty if there is one

  /// Runs `body` for each row that is computed at once, with its indices and frames as the current ones.
  void forEachRow(llvm::function_ref<void(unsigned row)> body) {
    if (rows.empty()) return body(0);
    for (auto [i, row] : llvm::enumerate(rows)) {
      std::swap(indices, row.indices), std::swap(frames, row.frames);
      body(i);
      std::swap(indices, row.indices), std::swap(frames, row.frames);
    }
  }
  bool isEmitted(Value item) const {
    return llvm::any_of(frames, [&](const Frame &frame) { return frame.contains(item); });
  }
  /// The value of an item in a chunk. Operands are emitted before their users.
  Value lookup(Value item, unsigned chunk) const {
    for (const Frame &frame : llvm::reverse(frames))
      if (auto it = frame.find(item); it != frame.end())
        return it->second.size() == 1 ? it->second.front() : it->second[chunk];
    llvm_unreachable("operands are emitted before their users");
  }
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_KERNEL_LOOPSTATE_H
