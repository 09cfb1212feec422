//===- SharedFolder.h - one folder of checkpoints for all ranks -----------===//

#ifndef TESSERA_RUNTIME_CHECKPOINT_SHAREDFOLDER_H
#define TESSERA_RUNTIME_CHECKPOINT_SHAREDFOLDER_H

#include "runtime/checkpoint/CheckpointFolder.h"
#include "runtime/ranks/Communicator.h"

namespace tessera::runtime {

/// A collective, for the beginning of a run: throws a RankError on all ranks if one of them does not see the folder
/// that the first rank sees, such as one on a disk of its own, or may not write there. Leaves nothing in it. On one
/// rank nothing is done.
void requireSharedFolder(const CheckpointFolder &folder, HostCommunicator &world);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_CHECKPOINT_SHAREDFOLDER_H
