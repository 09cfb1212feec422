//===- Fuse.cpp ---===//

#include "ir/GraphBuilder.h"
#include "passes/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_FUSEPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct FusePass : tessera::impl::FusePassBase<FusePass> {
  void runOnOperation() override {}
};
} // namespace
