//===- AccessEmitter.h - addresses, loads and stores of a kernel ----------===//
//
// Along the vector loop an access is constant (one scalar load), contiguous (a vector load) or neither (a gather).
// Lanes past the end of a row, and elements that a pad adds, are masked: they read as zero and are not written.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_KERNEL_ACCESSEMITTER_H
#define TESSERA_CODEGEN_CPU_KERNEL_ACCESSEMITTER_H

#include "codegen/cpu/builder/CodeBuilder.h"
#include "codegen/cpu/kernel/LoopState.h"

namespace tessera {

/// Emits accesses at the point, and the chunk of its tile, that the loop state describes.
class AccessEmitter {
public:
  using Value = mlir::Value;

  /// `lanes`: of a chunk; 0 for scalar code.
  AccessEmitter(const KernelPlan &plan, CodeBuilder &code, unsigned lanes, const LoopState &state)
      : plan(plan), code(code), lanes(lanes), state(state) {}

  /// Loads the addresses of operands, then of results, from the kernel's argument list.
  void loadArguments(Value list);
  Value getArgument(unsigned number) const { return arguments[number]; }

  /// `base` is the address of the argument.
  Value emitLoad(const Access &access, Value base, unsigned chunk, bool isVector);
  void emitStore(const Access &access, Value base, Value value, unsigned chunk, Value extraOffset = {});

  /// The expression at lane 0 of a chunk, without the terms that vary along the vector loop.
  Value scalarPart(const LinearIndex &expr, unsigned chunk);
  /// The whole expression; a vector if it varies along the vector loop.
  Value emitExpression(const LinearIndex &expr, unsigned chunk);
  int64_t vectorStride(const LinearIndex &expr) const {
    return plan.loops.vector < 0 ? 0 : expr.coefficients[plan.loops.vector];
  }
  /// The active lanes of a chunk; null for all.
  Value chunkMask(unsigned chunk);

private:
  bool variesAlongVector(const LinearIndex &expr) const;
  bool variesAlongVector(const NonlinearTerm &term) const;
  Value emitTerm(const NonlinearTerm &term, unsigned chunk);
  /// The sum of the terms that vary along the vector loop, a vector; null if there are none.
  Value vectorTerms(const LinearIndex &expr, unsigned chunk);
  /// Where the access exists: a scalar, a vector, or null for everywhere.
  Value rangeMask(const Access &access, unsigned chunk);

  const KernelPlan &plan;
  CodeBuilder &code;
  unsigned lanes;
  const LoopState &state;
  llvm::SmallVector<Value> arguments; ///< addresses of operands and results
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_KERNEL_ACCESSEMITTER_H
