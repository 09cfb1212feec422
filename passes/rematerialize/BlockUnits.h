//===- BlockUnits.h - values outside of stacks of layers ------------------===//
//
// In the block of a step (the body of `step`, or of its repeat of micro-batches) the forward pass comes before the
// backward pass. A unit of the forward pass that the backward pass reads can be computed again there, before its first
// reader, so that its results need not be kept in between.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_REMATERIALIZE_BLOCKUNITS_H
#define TESSERA_PASSES_REMATERIALIZE_BLOCKUNITS_H

#include "passes/cost/OpTimes.h"
#include "passes/rematerialize/LayerPair.h"

namespace tessera {

/// The units of a block that may be recomputed: of the forward pass, with readers in the backward pass or in other such
/// units.
class BlockUnits {
public:
  explicit BlockUnits(mlir::Block &block);

  mlir::Block &block;
  std::vector<RecomputeUnit> units;    ///< in program order
  llvm::SetVector<mlir::Value> needed; ///< roots that the backward pass reads

  /// Live bytes of the block where they are most, if the units of a set are recomputed. The peak of a repeat's body is
  /// not part of it.
  int64_t peakWith(const llvm::BitVector &recomputed) const;

private:
  struct Op {
    llvm::SmallVector<unsigned> reads; ///< values
    /// Of a kernel: an operand, and a result that may take its place if nothing reads it later.
    llvm::SmallVector<std::pair<unsigned, unsigned>> inPlace;
    int unit = -1;       ///< that it belongs to
    bool isLate = false; ///< of the backward pass or the optimizer
  };
  struct StoredValue {
    int64_t bytes = 0;
    int definition = 0; ///< the op
    int unit = -1;
    bool isOfKernel = false; ///< which loses it if nothing reads it
  };
  class Lifetimes;
  void findOps();
  void findUnits();

  std::vector<Op> ops;
  std::vector<StoredValue> values;
  std::vector<llvm::SmallVector<unsigned>> readsOfUnit; ///< values
  std::vector<llvm::SmallVector<unsigned>> readersOf;   ///< ops, for each value
  std::vector<llvm::SmallVector<unsigned>> opsOfUnit;
};

/// Has the backward pass recompute units of a block.
void recompute(const BlockUnits &block, const llvm::BitVector &units);

/// Sets of units, from none to the one with the least peak, that no other set beats in time and `peakWith`. All sets
/// are tried if there are few units; else those that save bytes for little time (`findPolicies`), and their neighbours.
struct BlockPolicy {
  llvm::BitVector recomputed;
  int64_t peak = 0;
  double seconds = 0;
};
std::vector<BlockPolicy> findBlockPolicies(const BlockUnits &block, const OpTimes &times);

} // namespace tessera

#endif // TESSERA_PASSES_REMATERIALIZE_BLOCKUNITS_H
