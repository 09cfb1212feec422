//===- ProfileTable.h - where the time of a step goes, as text ------------===//

#ifndef TESSERA_RUNTIME_TRAIN_PROFILETABLE_H
#define TESSERA_RUNTIME_TRAIN_PROFILETABLE_H

#include "runtime/base/Json.h"
#include "runtime/machine/MachineLimits.h"

namespace tessera::runtime {

/// The table of `--profile-table` from the record of `--profile` (docs/profile.md): by line of the model and by kernel,
/// the longest first. Without limits the columns about them are empty.
std::string profileTable(const Json &profile, const std::optional<MachineLimits> &limits);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_PROFILETABLE_H
