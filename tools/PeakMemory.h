//===- PeakMemory.h - what a step holds where it holds most ----------------===//

#ifndef TESSERA_TOOLS_PEAKMEMORY_H
#define TESSERA_TOOLS_PEAKMEMORY_H

#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace tessera {

/// The live bytes of `step` by kind of buffer, at the moment when most are live.
struct PeakMemory {
  std::string pass, running; ///< the pass of the step, and what runs; empty: the step has no ops
  std::vector<std::pair<std::string, int64_t>> kinds; ///< those that are not 0
};

/// Empty for a module without `step`.
PeakMemory peakMemory(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_TOOLS_PEAKMEMORY_H
