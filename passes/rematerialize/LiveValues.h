//===- LiveValues.h - the values of a block that are live at a moment -----===//
//
// A part of CertainMoments.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_REMATERIALIZE_LIVEVALUES_H
#define TESSERA_PASSES_REMATERIALIZE_LIVEVALUES_H

#include "ir/dialect/Tsr.h"
#include "llvm/ADT/DenseSet.h"
#include <vector>

namespace tessera {

/// Bytes of the elements of a value.
int64_t elementBytes(mlir::Value value);

/// Values of the step whose storage may be that of state.
llvm::DenseSet<mlir::Value> valuesOfState(mlir::func::FuncOp step);

/// A value that a block has in storage of its own: no view, no stack of its repeat, no state.
struct LiveValue {
  struct Read {
    int position;
    mlir::OpOperand *use;
    /// Whether a repeat carries it, and may keep it in another place than before.
    bool isCarried() const;
  };
  mlir::Value root;
  int64_t bytes = 0;
  int definition = -1;           ///< the position of its op; -1: an argument
  llvm::SmallVector<Read> reads; ///< by ops of the block, also through views and joins

  /// Right before an op.
  bool isLiveBefore(int position) const;
  /// While a repeat runs that does not carry it.
  bool isLiveDuring(int position) const;
};

class LiveValues {
public:
  LiveValues(mlir::Block &block, const llvm::DenseSet<mlir::Value> &excluded);

  std::vector<LiveValue> values;
  int positionOf(mlir::Operation *op) const { return positions.lookup(op); }

private:
  void add(mlir::Value root, int definition);
  void addReads(mlir::Value value, LiveValue &of);

  llvm::DenseMap<mlir::Operation *, int> positions;
};

/// Bytes of the results of an op, no repeat, that are read and cannot take the place of an operand: they are live
/// beside the operands.
int64_t freshResultBytes(mlir::Operation *op, const LiveValues &live);

/// In the first iteration of a repeat: bytes of the slots that it fills.
int64_t filledSlotBytes(RepeatOp repeat, const llvm::DenseSet<mlir::Value> &excluded);

/// Most bytes that the body of a repeat has live in its first iteration, with these slots.
int64_t mostBytesInside(RepeatOp repeat, const llvm::DenseSet<mlir::Value> &excluded);

} // namespace tessera

#endif // TESSERA_PASSES_REMATERIALIZE_LIVEVALUES_H
