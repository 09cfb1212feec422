//===- AxisOrder.h - memory order and canonical order -------------------------===//

#ifndef TESSERA_RUNTIME_CHECKPOINT_AXISORDER_H
#define TESSERA_RUNTIME_CHECKPOINT_AXISORDER_H

#include "runtime/Manifest.h"

namespace tessera::runtime {

/// Whether the order in memory is the canonical one (axes of size 1 do not matter).
bool isCanonical(const StateEntry &entry);

/// Copies a tensor from memory order to canonical order, or back. Both sides are dense.
void toCanonical(const StateEntry &entry, const char *memory, char *canonical);
void fromCanonical(const StateEntry &entry, const char *canonical, char *memory);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_CHECKPOINT_AXISORDER_H
