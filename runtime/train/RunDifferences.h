//===- RunDifferences.h - how a run differs from the one it resumes ------------===//

#ifndef TESSERA_RUNTIME_TRAIN_RUNDIFFERENCES_H
#define TESSERA_RUNTIME_TRAIN_RUNDIFFERENCES_H

#include "runtime/checkpoint/Checkpoint.h"

namespace tessera::runtime {

/// Compares the checkpoint at `path` with the run that begins now. Returns a sentence for each difference with which
/// the run can resume; throws an Error for the others.
std::vector<std::string> differencesSince(const CheckpointInfo &saved, const CheckpointInfo &now,
                                          const std::string &path);

/// A sentence if other rows of the source `name` are held out for validation than before; else empty. Both are what
/// checkpoints record of it.
std::string heldOutChange(const Json &saved, const Json &now, const std::string &name);

/// A sentence if the rows, the sizes or the content of the files of the source `name` are others than before; else
/// empty. What older checkpoints do not record is not compared.
std::string contentChange(const Json &saved, const Json &now, const std::string &name);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_RUNDIFFERENCES_H
