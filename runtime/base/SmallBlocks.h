//===- SmallBlocks.h - small memory blocks inside a step ----------------------===//
//
// Nothing of ours allocates inside a step, but libraries do: oneDNN builds
// argument maps for each execution, libgomp makes a team when its size
// changes. Inside a step such blocks come from a region taken at start. The
// launcher routes malloc and operator new here (`MallocHooks.cpp`); whatever
// the region cannot serve goes to the system and is counted.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SMALLBLOCKS_H
#define TESSERA_RUNTIME_SMALLBLOCKS_H

#include <cstddef>
#include <cstdint>

namespace tessera::runtime::smallblocks {

/// Bytes of the region.
inline constexpr size_t regionBytes = 4 << 20;

/// Takes the region and touches it. Until then every request goes to the system.
void reserve();

/// A step begins and ends: only between the two are blocks served.
void beginStep();
void endStep();

/// A block of at least `size` bytes, 64-byte aligned, or null: no step is going on, or the region cannot serve it
/// (then the request is counted as an allocation inside a step).
void *tryTake(size_t size, size_t alignment);

/// Gives back a block of the region; false: it is not one.
bool tryGive(void *block);

/// The usable size of a block of the region, 0 if it is not one.
size_t blockSize(const void *block);

/// How many requests inside steps went to the system so far.
uint64_t stepAllocations();

/// Marks a step for the time of a scope.
class StepScope {
public:
  StepScope() { beginStep(); }
  ~StepScope() { endStep(); }
};

} // namespace tessera::runtime::smallblocks

#endif // TESSERA_RUNTIME_SMALLBLOCKS_H
