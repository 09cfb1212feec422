//===- Fuse.cpp - ops into kernels ------------------------------------------------===//
//
// A kernel is a set of ops that run as one loop nest over named axes; what lies between them stays in registers.
//
//   before   %a = tsr.exp %x
//            %s = tsr.reduce sum %a over ["key"]
//            %y = tsr.div %a, %s
//   after    %y, %s = tsr.kernel "softmax" (%0 = %x) parallel ["batch"] serial ["key"] {
//              %a = tsr.exp %0
//              %s = tsr.reduce sum %a over ["key"]
//              %y = tsr.div %a, %s
//              tsr.yield %y, %s
//            }
//
//   1. Prepare: axis ops of constants fold; contractions that no library call computes become a product and a sum;
//      additions go into contractions (accumulators into `init`, biases into `bias`), and so do rounding and, for a GPU, GELU and its
//      gradient; sums of much to little are split in two steps, by shape alone, so that the first runs in parallel and the order of addition depends on nothing
//      else.
//   2. Every op of a block that computes is a cluster of its own. Sources (constants, positions, draws), broadcasts,
//      pads and inner slices are no clusters: they are recomputed in each kernel that uses them, and stored only where
//      a library call, a repeat, a view or the end of the block wants them.
//   3. Merge, never making a cycle: (a) elementwise ops that only a reduction uses go into it; (b) producers and
//      consumers over the same space, and row values with the reduction along the row; (c) reductions over the same
//      space that read the same tensor. A reduction of outer axes (a bias gradient) takes nothing that others use too:
//      it walks down columns.
//   4. Order the steps topologically and build the kernels: parallel axes are those not reduced; axes stand as most
//      operands lie in memory; the vector axis is the one along which most bytes are contiguous.
//
// Before: `layout`. Afterwards every op of a block is a kernel that keeps the rules of docs/ir.md, a contraction that
// `describeGemm` describes, a repeat, a view or the terminator.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/fusion/Kernels.h"
#include "passes/fusion/Prepare.h"

namespace tessera {
#define GEN_PASS_DEF_FUSEPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct FusePass : tessera::impl::FusePassBase<FusePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    foldSources(module);
    sinkWideningCasts(module);
    expandSmallContractions(module);
    absorbAdditions(module);
    absorbRoundings(module);
    absorbGelus(module);
    splitLargeReductions(module);
    separateStoredConstants(module);
    SmallVector<Block *> blocks;
    module.walk([&](Operation *op) {
      if (isa<RepeatOp, func::FuncOp>(op)) blocks.push_back(&op->getRegion(0).front());
    });
    KernelNames names;
    for (Block *block : blocks)
      for (KernelOp kernel : applyFusion(*block, planFusion(*block), names)) {
        ++kernelsMade;
        opsFused += kernel.getBlock().getOperations().size() - 1;
      }
  }
};
} // namespace
