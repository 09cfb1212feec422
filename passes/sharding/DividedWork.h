//===- DividedWork.h - how much of a step ranks divide ------------------------===//

#ifndef TESSERA_PASSES_SHARDING_DIVIDEDWORK_H
#define TESSERA_PASSES_SHARDING_DIVIDEDWORK_H

#include "ir/program/ProgramMesh.h"

namespace tessera {

/// The part of a function's contractions, by operations and from 0 to 1, that ranks along a mesh axis divide; the rest
/// each of them computes in full. Counts ops with `CostOpInterface`; nullopt if there are none. Reads `tsr.sharding`.
std::optional<double> dividedWork(mlir::func::FuncOp function, llvm::StringRef along);

/// What decided how a program is divided: the user, or the search for the least time, or the memory within which it
/// searched.
enum class ShardingDecision { User, Time, Memory };

/// Warns of mesh axes along which ranks divide less than half of a step, and says why if it is known: they cost time
/// and machines, and a typo in --shard is enough.
void warnOfUndividedWork(mlir::ModuleOp module, const ProgramMesh &mesh,
                         ShardingDecision decision = ShardingDecision::User);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_DIVIDEDWORK_H
