//===- AxisOrder.h - memory order and canonical order ---------------------===//

#ifndef TESSERA_RUNTIME_CHECKPOINT_AXISORDER_H
#define TESSERA_RUNTIME_CHECKPOINT_AXISORDER_H

#include "runtime/program/Manifest.h"

namespace tessera::runtime {

/// Whether the order in memory is the canonical one (axes of size 1 do not matter).
bool isCanonical(const StateEntry &entry);

/// For each canonical axis, its stride in memory in elements.
std::vector<int64_t> memoryStrides(const StateEntry &entry);

/// Copies the elements [first, first + count) of a tensor's canonical order out of memory. Both sides are dense.
void toCanonical(const StateEntry &entry, const char *memory, int64_t first, int64_t count, char *canonical);

/// Copies a whole tensor from canonical order to memory order.
void fromCanonical(const StateEntry &entry, const char *canonical, char *memory);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_CHECKPOINT_AXISORDER_H
