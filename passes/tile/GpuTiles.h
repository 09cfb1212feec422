//===- GpuTiles.h - which groups run as tiles on a GPU ----------------------===//

#ifndef TESSERA_PASSES_TILE_GPUTILES_H
#define TESSERA_PASSES_TILE_GPUTILES_H

#include "passes/tile/TileGroups.h"

namespace tessera {

/// Whether a GPU's matrix units compute the group with its matrices in registers: products of low floats, one kernel with reductions
/// at most, and nothing but matrices passed on inside.
bool runsOnGpu(const TileGroup &group);

} // namespace tessera

#endif // TESSERA_PASSES_TILE_GPUTILES_H
