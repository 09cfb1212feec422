//===- PrecisionAudit.h - how far a step in a low type is from one in f32 -----===//
//
// The entry functions `shadow`, in f32, and `step` run on the same state and batch. Of each result that both write, some hundred
// elements are compared, the same ones by their positions along the axes. An error is that of the result, with
// what came in with its operands.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_PRECISIONAUDIT_H
#define TESSERA_RUNTIME_TRAIN_PRECISIONAUDIT_H

#include "runtime/data/DataSource.h"
#include "runtime/program/Program.h"

namespace tessera::runtime {

/// Runs some steps from the state as it is, from the batch at `position` on. What is learned goes on from step to step. Returns a table
/// of the values that are farthest off. Throws an Error where the program has no step in f32.
std::string auditPrecision(Program &program, const DataSet &set, uint64_t seed, int64_t position, int64_t steps);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_PRECISIONAUDIT_H
