//===- ContractionCodegen.h - contractions as generated functions ---------===//

#ifndef TESSERA_CODEGEN_CPU_CONTRACTION_CONTRACTIONCODEGEN_H
#define TESSERA_CODEGEN_CPU_CONTRACTION_CONTRACTIONCODEGEN_H

#include "codegen/cpu/contraction/ContractionPlan.h"

namespace tessera {

/// Emits a function of type TsrKernel that computes a contraction. Its arguments are a, b, bias (null if there is none)
/// and c. For horizontally fused GEMMs they are all a (one if it is shared), all b likewise, a bias for each b, and all
/// c.
void emitContraction(mlir::ModuleOp module, llvm::StringRef symbol, const ContractionPlan &plan,
                     MatrixFunctions &functions);

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CONTRACTION_CONTRACTIONCODEGEN_H
