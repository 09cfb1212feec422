//===- Optimize.cpp ---===//

#include "ir/GraphBuilder.h"
#include "passes/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_OPTIMIZEPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct OptimizePass : tessera::impl::OptimizePassBase<OptimizePass> {
  void runOnOperation() override {}
};
} // namespace
