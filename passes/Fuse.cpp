//===- Fuse.cpp - the driver of `tsr-fuse` --------------------------------===//
//
// 1. Prepare (fusion/Prepare.h, fusion/Residuals.cpp, fusion/Epilogues.cpp): fold axis ops of constants; expand
//    contractions that are no GEMMs; move additions, roundings and, where the target has such epilogues, GELU and its
//    gradient into contractions; split large reductions.
// 2. Make a cluster of each op of a block that computes (fusion/Groups.cpp). Sources, broadcasts, pads and inner slices
//    have none: each kernel that uses them recomputes them. They are stored only where a GEMM, a repeat, a view or the
//    terminator reads them.
// 3. Merge clusters, never creating a cycle: (a) elementwise ops that only a reduction uses go into it; (b) producers
//    and consumers over the same space, and row values with the reduction along the row; (c) reductions over the same
//    space that read the same tensor. Ops with other users are not merged into a reduction of outer axes (the gradient
//    of a bias), since it accesses memory column by column; on a GPU they are where this saves bytes
//    (fusion/ColumnSums.h).
// 4. Order the groups topologically and build the kernels (fusion/Kernels.cpp): parallel axes are those not reduced;
//    axes are in the order in which most operands are stored; the vector axis is the one along which most bytes are
//    contiguous.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/StepPasses.h"
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
    accumulateInRepeats(module);
    absorbAdditions(module);
    absorbRoundings(module);
    absorbResiduals(module);
    absorbGelus(module);
    splitLargeReductions(module);
    separateEarlySums(module);
    separateStoredConstants(module);
    inheritStepPasses(module); // of the ops that are new
    SmallVector<Block *> blocks;
    module.walk([&](Operation *op) {
      if (isa<RepeatOp, func::FuncOp>(op)) blocks.push_back(&op->getRegion(0).front());
    });
    KernelNames names;
    for (Block *block : blocks) {
      ColumnOps columnOps = separateColumnOps(*block);
      for (KernelOp kernel : applyFusion(*block, planFusion(*block, columnOps), names)) {
        ++kernelsMade;
        opsFused += kernel.getBlock().getOperations().size() - 1;
      }
    }
  }
};
} // namespace
