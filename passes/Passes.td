//===- Passes.td - the phases of the compiler -----------------------------===//

#ifndef TSR_PASSES_TD
#define TSR_PASSES_TD

include "mlir/Pass/PassBase.td"

class Tsr_ModulePass<string flag> : Pass<flag, "::mlir::ModuleOp"> {
  let dependentDialects = ["::tessera::TsrDialect", "::mlir::func::FuncDialect"];
}

def SimplifyPass : Tsr_ModulePass<"tsr-simplify"> {
  let summary = "fold, merge equal ops, drop dead ones; raise long-hand mathematics to composites";
}

def DifferentiatePass : Tsr_ModulePass<"tsr-differentiate"> {
  let summary = "replace tsr.gradient by the reverse-mode program";
}

def PrecisionPass : Tsr_ModulePass<"tsr-precision"> {
  let summary = "low types for contractions and for what lies in memory; loss scaling";
}

def OptimizePass : Tsr_ModulePass<"tsr-optimize"> {
  let summary = "write optimizer, clipping and their state out as ops";
}

def ChunkPass : Tsr_ModulePass<"tsr-chunk"> {
  let summary = "compute large temporaries a part at a time";
  let options = [Option<"leastBytes", "least-bytes", "int64_t", "67108864", "results below this many bytes stay whole">,
                 Option<"leastRows", "least-rows", "int64_t", "256", "rows that a contraction needs to run at full speed; 8192 on a GPU">];
  let statistics = [Statistic<"resultsChunked", "results-chunked", "contractions whose results are made in parts">];
}

def LayoutPass : Tsr_ModulePass<"tsr-layout"> {
  let summary = "choose memory orders so that contractions need no transposes and loops read consecutive bytes";
  let statistics = [Statistic<"reordersInserted", "reorders-inserted", "operands moved to another memory order">];
}

def FusePass : Tsr_ModulePass<"tsr-fuse"> {
  let summary = "group ops into kernels";
  let statistics = [Statistic<"kernelsMade", "kernels-made", "kernels made">,
                    Statistic<"opsFused", "ops-fused", "ops that a kernel holds">];
}

def TilePass : Tsr_ModulePass<"tsr-tile"> {
  let summary = "run contractions and kernels over a large matrix for some of its rows at a time";
  let options = [Option<"leastRows", "least-rows", "int64_t", "16", "rows that make it worth packing what they all read">,
                 Option<"leastProducts", "least-products", "int64_t", "4", "matrices in a batch that a processor's threads can share">,
                 Option<"mostBytes", "most-bytes", "int64_t", "2097152", "bytes of an operand that one matrix needs whole, for a processor's caches">];
  let statistics = [Statistic<"groupsTiled", "groups-tiled", "groups of ops that run by rows">];
}

def SchedulePass : Tsr_ModulePass<"tsr-schedule"> {
  let summary = "give every buffer an offset in one arena";
  let statistics = [Statistic<"copiesInserted", "copies-inserted", "copies that no in-place placement avoids">,
                    Statistic<"arenaBytes", "arena-bytes", "bytes of the arena">,
                    Statistic<"launchesSaved", "launches-saved", "kernels that run in the launch of another">,
                    Statistic<"productsMerged", "products-merged", "contractions that are computed with another">,
                    Statistic<"lowerBound", "lower-bound", "bytes live at the fullest moment">];
}

def VerifyPhasePass : Tsr_ModulePass<"tsr-verify-phase"> {
  let summary = "check what must hold after a phase, and record it in tsr.phase";
  let options = [Option<"phase", "phase", "std::string", "", "the phase that has just run">];
}

#endif // TSR_PASSES_TD
