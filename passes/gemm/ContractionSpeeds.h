//===- ContractionSpeeds.h - who computes a contraction faster ------------===//
//
// A table of contractions with the speeds of generated code and of the library, made by `contraction-bench --table`:
// timing while compiling would make programs differ from one compilation to the next. A contraction that is not in the
// table has the speed of the nearest one: sizes compare by their ratio, layouts must be equal. SpeedsAmd.inc was
// measured on a processor that prefetches across pages (Zen 5), SpeedsIntel.inc on one that does not (with AMX).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_GEMM_CONTRACTIONSPEEDS_H
#define TESSERA_PASSES_GEMM_CONTRACTIONSPEEDS_H

#include "ir/program/Target.h"
#include "passes/gemm/Gemm.h"

namespace tessera {

/// Whether generated code computes merged contractions fast enough for the target, against computing them one by one.
bool isFasterFused(const ContractionGemm &gemm, const FusedGemms &merged, const Target &target);

/// Whether a contraction should be generated rather than left to the library.
bool isFasterGenerated(const ContractionGemm &gemm, const Target &target);

} // namespace tessera

#endif // TESSERA_PASSES_GEMM_CONTRACTIONSPEEDS_H
