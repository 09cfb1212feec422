//===- Differentiate.cpp ---===//

#include "ir/GraphBuilder.h"
#include "passes/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct DifferentiatePass : tessera::impl::DifferentiatePassBase<DifferentiatePass> {
  void runOnOperation() override {}
};
} // namespace
