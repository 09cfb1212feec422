//===- Speeds.h - who computes a contraction faster -----------------------===//
//
// A table of products with the speed of generated code and of the library, made by `contraction-bench --table`, since timing while
// compiling would make programs differ from one compilation to the next. What is not in the table goes by what is nearest:
// sizes by ratios, layouts exactly. SpeedsAmd.inc was measured on a processor that fetches ahead across pages (Zen 5),
// SpeedsIntel.inc on one that does not (with AMX).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_CONTRACTION_SPEEDS_H
#define TESSERA_CODEGEN_CPU_CONTRACTION_SPEEDS_H

#include "codegen/cpu/object/Target.h"
#include "passes/gemm/Gemm.h"

namespace tessera {

/// GFLOP/s of two threads.
struct ContractionSpeed {
  double generated = 0, library = 0;
};

/// The speed of the nearest product in the table.
ContractionSpeed speedOf(const GemmDescription &gemm, const CpuTarget &target);

/// Whether generated code computes products faster as one than they are computed one by one.
bool isFasterMerged(const GemmDescription &gemm, const MergedProducts &merged, const CpuTarget &target);

/// Whether a contraction should be generated rather than left to the library.
bool isFasterGenerated(const GemmDescription &gemm, const CpuTarget &target);

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CONTRACTION_SPEEDS_H
