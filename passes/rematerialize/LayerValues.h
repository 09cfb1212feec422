//===- LayerValues.h - what layers save or recompute, value by value ------===//
//
// For the user, who may decide otherwise with `--save` and `--recompute`: each value of a stack of layers that the
// backward pass reads, or that is saved for what it recomputes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_REMATERIALIZE_LAYERVALUES_H
#define TESSERA_PASSES_REMATERIALIZE_LAYERVALUES_H

#include "passes/rematerialize/Frontier.h"

namespace tessera {

/// What it would change if a value were recomputed in the layers that save it, or, if none does, saved in those that
/// recompute it: as much else as it needs included.
struct LayerAlternative {
  double seconds = 0; ///< that a step takes longer
  int64_t bytes = 0;  ///< that the arena takes more
};

struct LayerValue {
  std::string name;       ///< "h.mlp.up out"
  std::string path;       ///< that patterns match; empty: no option decides about it, as about a layer's input
  std::string axis;       ///< of the stack
  int64_t layers = 0;     ///< of the stack
  int64_t saved = 0;      ///< layers that save it
  int64_t recomputed = 0; ///< layers that recompute it
  int64_t bytes = 0;      ///< of all layers
  std::optional<LayerAlternative> alternative; ///< none: it cannot be otherwise, or depends on segments
};

/// The values of a step to which the plan has yet to be applied, in program order.
/// Alternatives are left out unless they are `priced`: for each one storage is planned.
std::vector<LayerValue> listLayerValues(mlir::func::FuncOp step, const RecomputePlan &plan, const PinPatterns &names,
                                        const OpTimes &times, bool priced);

} // namespace tessera

#endif // TESSERA_PASSES_REMATERIALIZE_LAYERVALUES_H
