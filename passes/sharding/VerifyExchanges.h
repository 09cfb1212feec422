//===- VerifyExchanges.h - what ranks exchange fits the mesh --------------===//

#ifndef TESSERA_PASSES_SHARDING_VERIFYEXCHANGES_H
#define TESSERA_PASSES_SHARDING_VERIFYEXCHANGES_H

#include "mlir/IR/BuiltinOps.h"

namespace tessera {

/// An error where a `tsr.start` names no axis of the mesh, or one of another size, or where not exactly one `tsr.wait`
/// reads it. All ranks run one program without branches that depend on a value, and repeats have a fixed number of
/// iterations. So with this, all ranks begin the same exchanges in the same order, and each is waited for.
llvm::LogicalResult verifyExchanges(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_VERIFYEXCHANGES_H
