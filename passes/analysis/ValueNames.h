//===- ValueNames.h - what a value holds, for a person --------------------===//
//
// Buffers and kernels have names of the compiler: that of a `let`, or of an op. Plans and profiles name them by what
// makes the value, in the words of the model:
//
//   contraction with a parameter       h.mlp.up out            its path
//   any other op of the forward pass   h.attn.score mul        the user's name, and the op
//   op of an adjoint                   gradient in h.attn      the user's name of the op that it belongs to
//   contraction of an adjoint
//     with a parameter                 gradient of h.mlp.up in the parameter's path
//   what an update reads               gradient of h.mlp.up
//   value of a repeat                  what the body yields
//   what has no name of the user       contract for gradient of wte
//   what is computed again             recompute of h.mlp.up out
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_ANALYSIS_VALUENAMES_H
#define TESSERA_PASSES_ANALYSIS_VALUENAMES_H

#include "ir/dialect/Tsr.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <string>

namespace tessera {

/// The names of the values of one entry function after `fuse`.
class ValueNames {
public:
  explicit ValueNames(mlir::func::FuncOp function);

  /// "h.mlp.up out".
  std::string nameOf(mlir::Value value) const;
  /// The line that makes the value, as "model.tsr:31:7"; empty if no line of the user does.
  std::string lineOf(mlir::Value value) const;
  /// What an op computes: the names of its results, the first few of them.
  std::string nameOf(mlir::Operation *op) const;

private:
  void noteGradient(mlir::Value value, llvm::StringRef parameter);
  void findGradients();
  /// Without saying that it is computed again.
  std::string nameOfMade(mlir::Value value) const;
  std::string nameOfArgument(mlir::BlockArgument argument) const;
  /// The path of the parameter in an operand, before views and casts; empty if it is none.
  std::string parameterIn(mlir::Value value) const;
  std::string nameOfContraction(ContractOp op) const;
  /// The gradient, or new value, that is computed from a value; empty if there is none.
  std::string nameOfReader(mlir::Value value) const;

  /// Whether a state entry is a parameter.
  bool isParameter(llvm::StringRef path) const {
    auto found = states.find(path);
    return found != states.end() && StateOp(found->second).isParameter();
  }

  mutable mlir::func::FuncOp function;            // ops have no const methods
  llvm::StringMap<StateOp> states;                ///< by path
  llvm::DenseMap<mlir::Value, std::string> found; ///< names of gradients and new values of states
};

/// "[batch: 8, seq: 128, ff: 768] f32".
std::string describeType(NamedTensorType type);

} // namespace tessera

#endif // TESSERA_PASSES_ANALYSIS_VALUENAMES_H
