//===- StepAllocator.h - serves small allocations inside a step -----------===//
//
// The runtime allocates nothing inside a step, but libraries do: oneDNN builds argument maps for each execution. Inside
// a step such blocks come from a region that is allocated at the start. The launcher routes malloc and operator new
// here (`MallocHooks.cpp`); requests that do not fit are forwarded to the system and counted.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_MACHINE_STEPALLOCATOR_H
#define TESSERA_RUNTIME_MACHINE_STEPALLOCATOR_H

#include <cstddef>
#include <cstdint>

namespace tessera::runtime::stepallocator {

/// Bytes of the region.
inline constexpr size_t regionBytes = 4 << 20;

/// Allocates and touches the region. Until then every request is forwarded to the system.
void reserve();

/// Marks the beginning and the end of a step. Blocks are served in between only.
void beginStep();
void endStep();

/// A block of at least `size` bytes, aligned to 64 bytes or to `alignment`, whichever is more. Null if no step is
/// running, or if the region cannot serve the request, which is then counted.
void *tryTake(size_t size, size_t alignment);

/// Frees a block of the region. Returns false if `block` is not in it.
bool tryGive(void *block);

/// The usable size of a block of the region; 0 if `block` is not in it.
size_t blockSize(const void *block);

/// Number of requests inside steps that went to the system.
uint64_t stepAllocations();

/// A step that lasts as long as the scope.
class StepScope {
public:
  StepScope() { beginStep(); }
  ~StepScope() { endStep(); }
};

} // namespace tessera::runtime::stepallocator

#endif // TESSERA_RUNTIME_MACHINE_STEPALLOCATOR_H
