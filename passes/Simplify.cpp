//===- Simplify.cpp ---===//

#include "ir/GraphBuilder.h"
#include "passes/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_SIMPLIFYPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct SimplifyPass : tessera::impl::SimplifyPassBase<SimplifyPass> {
  void runOnOperation() override {}
};
} // namespace
