//===- GpuTiles.h - which groups run as tiles on a GPU --------------------===//

#ifndef TESSERA_PASSES_TILE_GPUTILES_H
#define TESSERA_PASSES_TILE_GPUTILES_H

#include "passes/tile/TileGroups.h"

namespace tessera {

/// Whether tensor cores can compute the group with its matrices in registers: low-precision contractions, at most one
/// kernel with reductions, and only matrices passed between the ops.
bool runsOnGpu(const TileGroup &group);

} // namespace tessera

#endif // TESSERA_PASSES_TILE_GPUTILES_H
