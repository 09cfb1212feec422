//===- Dependencies.h - the order that work items need --------------------===//
//
// An entry function issues its work in an order, but most work items access other bytes than the items around them.
// Two items must be ordered only if one writes bytes that the other accesses; the device may run all others
// concurrently.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_DEPENDENCIES_H
#define TESSERA_RUNTIME_CUDA_DEPENDENCIES_H

#include "runtime/cuda/Driver.h"

#include <cstdint>
#include <map>
#include <vector>

namespace tessera::runtime::cuda {

/// Bytes that a work item reads or writes.
struct MemoryAccess {
  DevicePointer address;
  int64_t bytes;
  bool isWrite;
};

class Dependencies {
public:
  /// Adds a work item; the first has number 0. Returns the earlier items that it must wait for, without those that
  /// another one of them waits for already.
  std::vector<uint32_t> add(const std::vector<MemoryAccess> &accesses);

private:
  /// A range of bytes that every item so far accesses as a whole or not at all.
  struct Segment {
    DevicePointer end;
    int64_t writer = -1;           ///< the last one; -1: none
    std::vector<uint32_t> readers; ///< since then
  };
  /// By first byte. Segments do not overlap.
  using Segments = std::map<DevicePointer, Segment>;

  /// Splits the segment that contains `at`, so that one begins there.
  void splitAt(DevicePointer at);
  void touch(const MemoryAccess &access, uint32_t item, std::vector<bool> &needed);
  std::vector<uint32_t> withoutImplied(const std::vector<bool> &needed);

  Segments segments;
  std::vector<std::vector<bool>> before; ///< by item: all that it waits for, directly or indirectly
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_DEPENDENCIES_H
