//===- EarlyParts.h - parts of sums are taken where the sums are made -----===//

#ifndef TESSERA_PASSES_SHARDING_EARLYPARTS_H
#define TESSERA_PASSES_SHARDING_EARLYPARTS_H

#include "ir/program/ProgramMesh.h"

namespace tessera {

/// In wide form: where all that reads a reduction over mesh axes wants the same part of an axis, the part is taken
/// directly behind the reduction, as far as it is along one of its mesh axes, which is a reduce-scatter then; else
/// before it, so that less is exchanged.
void takePartsEarly(mlir::func::FuncOp function, const ProgramMesh &mesh);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_EARLYPARTS_H
