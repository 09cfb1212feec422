//===- Join.cpp - the driver of `tsr-join` --------------------------------===//
//
// For each block, outer ones first: sums of contractions, then contractions with a common operand. So the gradients
// that a sum has joined are joined in the same order where they are multiplied by the common input. Forward passes come
// before backward ones; they decide the order of the weights.
//
//===----------------------------------------------------------------------===//

#include "passes/join/Join.h"
#include "ir/program/Program.h"
#include "ir/program/Target.h"
#include "passes/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_JOINPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct JoinPass : tessera::impl::JoinPassBase<JoinPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    // An audit pairs the contractions of two functions.
    if (!Target::of(module).library.joinsContractions || hasShadow(module)) return;
    JoinedValues joined(module);
    SmallVector<Block *> blocks;
    for (func::FuncOp function : entryFunctions(module)) {
      blocks.push_back(&function.getBody().front());
      function.walk<WalkOrder::PreOrder>([&](RepeatOp repeat) { blocks.push_back(&repeat.getBlock()); });
    }
    int64_t saved = 0;
    for (Block *block : blocks) {
      saved += joinSums(*block, joined);
      saved += joinProducts(*block, joined);
    }
    if (saved > 0) stackWholes(module);
    contractionsSaved += saved;
  }
};
} // namespace
