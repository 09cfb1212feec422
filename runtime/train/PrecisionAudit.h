//===- PrecisionAudit.h - compares a reduced-precision step with f32 ------===//
//
// The entry functions `shadow`, in f32, and `step` run on the same state and batch. For each result that both
// compute, about a hundred elements are compared, at the same positions along the axes. The error of a result
// includes that of its operands.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_PRECISIONAUDIT_H
#define TESSERA_RUNTIME_TRAIN_PRECISIONAUDIT_H

#include "runtime/data/DataSource.h"
#include "runtime/machine/LoadedProgram.h"

namespace tessera::runtime {

/// Throws an Error if the program has no step in f32.
void requireShadow(const Manifest &manifest);

/// Runs some steps from the current state, from the batch at `position` on; the state advances. Returns a table of
/// the values with the largest errors. Throws an Error if the program has no step in f32.
std::string auditPrecision(LoadedProgram &program, const DataSet &set, uint64_t seed, int64_t position, int64_t steps);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_PRECISIONAUDIT_H
