//===- PredictBatch.h - the batch of `predict` in the memory of a step ----===//

#ifndef TESSERA_TOOLS_PREDICTBATCH_H
#define TESSERA_TOOLS_PREDICTBATCH_H

#include "tools/Commands.h"
#include <map>

namespace tessera {

class SearchMemory;

/// Bytes that `predict` takes beside state, by the rows of its batch; none: the model cannot have so many.
using PredictBytes = std::map<int64_t, std::optional<int64_t>>;

/// If `predict` of a scheduled module needs more memory than a step: the largest batch with which it does not, at least
/// one row. What is planned for that is added to `known`; a sharding that was searched for is in `searches`.
std::optional<int64_t> smallerPredictBatch(mlir::ModuleOp module, const CommandOptions &options, PredictBytes &known,
                                           SearchMemory &searches);

} // namespace tessera

#endif // TESSERA_TOOLS_PREDICTBATCH_H
