//===- ContractionSpeeds.h - throughput tables of contractions ------------===//
//
// Tables of contractions with the measured throughput of generated code and of oneDNN. `contraction-bench --table`
// prints them. (Measuring at compile time would make programs differ from one compilation to the next.) A contraction
// that is not in the table has the throughput of the nearest one: sizes are compared by their ratio, layouts must be
// equal. SpeedsAmd.inc was measured on a processor that prefetches across pages (Zen 5), SpeedsIntel.inc on one that
// does not (with AMX).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_GEMM_CONTRACTIONSPEEDS_H
#define TESSERA_PASSES_GEMM_CONTRACTIONSPEEDS_H

#include "ir/program/Target.h"
#include "passes/gemm/Gemm.h"

namespace tessera {

/// Whether generated code computes horizontally fused GEMMs fast enough for the target, compared with computing them
/// one by one.
bool isFasterFused(const ContractionGemm &gemm, const FusedGemms &fused, const Target &target);

/// Whether a contraction should be computed by generated code rather than by oneDNN.
bool isFasterGenerated(const ContractionGemm &gemm, const Target &target);

} // namespace tessera

#endif // TESSERA_PASSES_GEMM_CONTRACTIONSPEEDS_H
