//===- Passes.h - the phases of the compiler ------------------------------===//

#ifndef TESSERA_PASSES_PASSES_H
#define TESSERA_PASSES_PASSES_H

#include "ir/dialect/Tsr.h"
#include "mlir/Pass/Pass.h"

namespace tessera {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

class FrontierMemory;
class SearchMemory;
/// With a memory, which may be null, plans are found only if it does not have them.
std::unique_ptr<mlir::Pass> createRematerializePass(RematerializePassOptions options, FrontierMemory *memory);
/// The same for searches.
std::unique_ptr<mlir::Pass> createShardPass(ShardPassOptions options, SearchMemory *searches);

} // namespace tessera

#endif // TESSERA_PASSES_PASSES_H
