//===- Changes.h - what is different since a checkpoint -----------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_CHANGES_H
#define TESSERA_RUNTIME_TRAIN_CHANGES_H

#include "runtime/checkpoint/Checkpoint.h"

namespace tessera::runtime {

/// Compares the checkpoint at `path` with the run as it begins now. Returns a sentence for each difference that the run
/// may go on with; throws an Error for the others.
std::vector<std::string> changesSince(const CheckpointInfo &saved, const CheckpointInfo &now, const std::string &path);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_CHANGES_H
