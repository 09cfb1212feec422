//===- DividedLines.h - what each line of the model is divided along ------===//

#ifndef TESSERA_PASSES_SHARDING_DIVIDEDLINES_H
#define TESSERA_PASSES_SHARDING_DIVIDEDLINES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera {

/// Of a module: what `describeDividedLines` says of the function that decides.
inline constexpr llvm::StringLiteral dividedLinesAttr = "tsr.divided_lines";

/// Of the ops of a function that a line of the model stands for, those of its gradients too: how many of them each mesh
/// axis divides along which axis, after `shard`. A list of dictionaries {at = "gpt.tsr:33", ops = 4,
/// divided = {tensor = {ff = 3}}}, in the order of lines. Ops without axes, and what all ranks compute, such as
/// constants, do not count.
mlir::ArrayAttr describeDividedLines(mlir::func::FuncOp function);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_DIVIDEDLINES_H
