//===- Layout.cpp ---===//

#include "ir/GraphBuilder.h"
#include "passes/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_LAYOUTPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct LayoutPass : tessera::impl::LayoutPassBase<LayoutPass> {
  void runOnOperation() override {}
};
} // namespace
