//===- Roundings.h - the roundings of a program, for people ---------------===//

#ifndef TESSERA_PASSES_PRECISION_ROUNDINGS_H
#define TESSERA_PASSES_PRECISION_ROUNDINGS_H

#include "ir/dialect/Tsr.h"
#include <string>
#include <vector>

namespace tessera {

/// An op that rounds to a low-precision type: a cast, or a contraction with a low-precision result.
struct RoundingSite {
  std::string name; ///< the user's
  std::string line; ///< "file:line:column", or empty
  std::string op;   ///< that computes the elements
  NamedTensorType type;
  std::string why;
  int64_t times = 1;      ///< in one step
  int64_t bytesSaved = 0; ///< in memory, of all slots where the value is stacked
};

/// Of a function after the phase `precision`, in program order.
std::vector<RoundingSite> listRoundings(mlir::func::FuncOp function);

/// Bytes that forward repeats save for the backward pass, and what they would be in f32.
struct SavedBytes {
  int64_t bytes = 0, inF32 = 0;
};
SavedBytes countSaved(mlir::func::FuncOp function);

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_ROUNDINGS_H
