//===- BufferKinds.h - what the values in the arena are for ---------------===//

#ifndef TESSERA_PASSES_MEMORY_BUFFERKINDS_H
#define TESSERA_PASSES_MEMORY_BUFFERKINDS_H

#include "ir/dialect/Tsr.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace tessera {

/// The first of these that holds for a value. All follow from the state table, from the passes of the step that ops
/// belong to (`tsr.pass`) and from the dataflow.
enum class BufferKind : uint8_t {
  Parameter,  ///< the place of a `weight`, `bias` or `gain`
  Optimizer,  ///< that of a moment, counter or scale
  ModelState, ///< that of a `state` of the model file
  Input,      ///< what the runtime writes
  Output,     ///< what it reads
  WeightCopy, ///< computed from parameters and constants alone, in the forward or backward pass: a cast of weights
  Gradient,   ///< computed in the backward pass and read by the optimizer, or a term of a sum that is
  Saved,      ///< computed in the forward pass and read in the backward pass
  Temporary,  ///< all else
};
inline constexpr unsigned bufferKindCount = static_cast<unsigned>(BufferKind::Temporary) + 1;

/// "parameter", "model state", "weight copy" …
llvm::StringRef stringifyBufferKind(BufferKind kind);

/// That of the place of a state.
BufferKind kindOfState(StateOp state);

/// The kinds of the values of one entry function after `fuse`.
class BufferKinds {
public:
  explicit BufferKinds(mlir::func::FuncOp function);

  BufferKind of(mlir::Value value);

private:
  BufferKind find(mlir::Value value);
  bool isTermOfGradient(mlir::Value value);
  bool isTermOfGradient(KernelOp kernel, mlir::Value operand);
  /// What a value depends on: nothing but constants, counters and scales; also on parameters; also on data.
  enum class Source : uint8_t { Constants, Parameters, Data };
  Source sourceOf(mlir::Value value);
  Source findSource(mlir::Value value);
  Source sourceOfArgument(mlir::BlockArgument argument);
  Source sourceOfCarried(mlir::BlockArgument argument, mlir::Value start, mlir::Value next);
  Source sourceOfKernelResult(KernelOp kernel, unsigned result);

  mlir::func::FuncOp function;
  llvm::StringMap<StateOp> states;               ///< by path
  llvm::DenseMap<mlir::Value, BufferKind> known; ///< at first of the function's arguments and results
  llvm::DenseMap<mlir::Value, Source> sources;   ///< the same
  /// Of the carried values whose sources are being found, from the outermost on: what they depend on at least.
  llvm::SmallVector<std::pair<mlir::BlockArgument, Source>> open;
};

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_BUFFERKINDS_H
