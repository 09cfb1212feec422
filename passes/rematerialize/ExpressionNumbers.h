//===- ExpressionNumbers.h - values that are computed alike ---------------===//
//
// Two values with one number have the same bits: they are the same expression of the same operands, computed by the
// same code or element by element. Kernels are looked into, so that the forward pass of a layer and what the backward
// pass recomputes of it can be compared, whichever kernels they are in.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_REMATERIALIZE_EXPRESSIONNUMBERS_H
#define TESSERA_PASSES_REMATERIALIZE_EXPRESSIONNUMBERS_H

#include "ir/dialect/Tsr.h"
#include <map>
#include <vector>

namespace tessera {

class ExpressionNumbers {
public:
  /// Numbers the results of the ops of a block. Values from outside, and block arguments that have no number yet, are
  /// equal to nothing else.
  void add(mlir::Block &block);
  /// Has a value stand for another one, which has a number.
  void equate(mlir::Value value, mlir::Value other) { numbers[value] = numberOf(other); }
  unsigned numberOf(mlir::Value value);

private:
  using Key = std::vector<const void *>;
  void number(mlir::Operation *op);
  void numberKernel(KernelOp kernel);
  void numberResults(mlir::Operation *op, Key key);
  Key keyOf(mlir::Operation *op);

  std::map<Key, unsigned> numberOfKey;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  unsigned next = 1;
};

} // namespace tessera

#endif // TESSERA_PASSES_REMATERIALIZE_EXPRESSIONNUMBERS_H
