//===- RegisterTiles.h - which groups run as tiles in registers ----------------------===//

#ifndef TESSERA_PASSES_TILE_REGISTERTILES_H
#define TESSERA_PASSES_TILE_REGISTERTILES_H

#include "passes/tile/TileGroups.h"

namespace tessera {

/// Whether matrix units can compute the group with its matrices in registers: contractions of one float type, at most
/// one kernel with reductions, and nothing but matrices passed on inside.
bool fitsRegisters(const TileGroup &group);

} // namespace tessera

#endif // TESSERA_PASSES_TILE_REGISTERTILES_H
