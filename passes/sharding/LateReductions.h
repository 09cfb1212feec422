//===- LateReductions.h - fewer reductions over mesh axes -----------------===//

#ifndef TESSERA_PASSES_SHARDING_LATEREDUCTIONS_H
#define TESSERA_PASSES_SHARDING_LATEREDUCTIONS_H

#include "ir/program/ProgramMesh.h"

namespace tessera {

/// In wide form: sums over mesh axes that are added to each other become one sum over them. The gradient of an
/// activation that several projections read is reduced once, and so is that of a weight that is used twice. What a
/// repeat accumulates is reduced once, after the repeat: with micro-batches the gradient of each parameter.
void delayReductions(mlir::func::FuncOp function, const ProgramMesh &mesh);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_LATEREDUCTIONS_H
