//===- Replicas.h - state that ranks hold equally -------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_REPLICAS_H
#define TESSERA_RUNTIME_TRAIN_REPLICAS_H

#include "runtime/program/Manifest.h"
#include "runtime/ranks/Mesh.h"

#include <functional>

namespace tessera::runtime {

/// A collective: compares hashes of what ranks hold equally, which is all state, or the same part of it on the ranks
/// that differ only along axes that do not divide it. Throws a RankError on all ranks that names the states and the
/// ranks that differ from the first one that holds the same. `address` gives the bytes of a state entry on this rank.
void checkReplicas(const Manifest &manifest, const Mesh &mesh, HostCommunicator &world,
                   const std::function<const char *(const StateEntry &)> &address);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_REPLICAS_H
