//===- PredictBatch.h - the batch of `predict` in the memory of a step ----===//

#ifndef TESSERA_TOOLS_PREDICTBATCH_H
#define TESSERA_TOOLS_PREDICTBATCH_H

#include "tools/Commands.h"
#include <map>

namespace tessera {

/// Bytes that `predict` takes beside state, by the rows of its batch; none: the model cannot have so many.
using PredictBytes = std::map<int64_t, std::optional<int64_t>>;

/// If `predict` of a scheduled module needs more memory than a step: the largest batch with which it does not, at least
/// one row. What is planned for that is added to `known`.
std::optional<int64_t> smallerPredictBatch(mlir::ModuleOp module, const CommandOptions &options, PredictBytes &known);

} // namespace tessera

#endif // TESSERA_TOOLS_PREDICTBATCH_H
