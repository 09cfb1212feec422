//===- Dependencies.h - which work must wait for which ------------------------===//
//
// What an entry function asks for has an order, but most of it reads and writes other bytes than its neighbours do. Two pieces of
// work need their order only where one writes what the other touches; where nothing of that kind lies between them, the device may
// run them side by side.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_DEPENDENCIES_H
#define TESSERA_RUNTIME_CUDA_DEPENDENCIES_H

#include "runtime/cuda/Driver.h"

#include <cstdint>
#include <map>
#include <vector>

namespace tessera::runtime::cuda {

/// Bytes that a piece of work reads or writes.
struct Access {
  DevicePointer address;
  int64_t bytes;
  bool isWrite;
};

class Dependencies {
public:
  /// Adds a piece of work; the first has number 0. Returns the numbers of earlier ones that it must wait for, but for those that
  /// another of them waits for already.
  std::vector<uint32_t> add(const std::vector<Access> &accesses);

private:
  /// Bytes that all work so far has touched alike.
  struct Segment {
    DevicePointer end;
    int64_t writer = -1;           ///< the last one; -1: none
    std::vector<uint32_t> readers; ///< since then
  };
  /// By first byte. Segments do not overlap.
  using Segments = std::map<DevicePointer, Segment>;

  /// Has a segment begin at `at`, if one lies across it.
  void splitAt(DevicePointer at);
  void touch(const Access &access, uint32_t piece, std::vector<bool> &needed);
  std::vector<uint32_t> withoutImplied(const std::vector<bool> &needed);

  Segments segments;
  std::vector<std::vector<bool>> before; ///< of each piece: all that it waits for, directly or not
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_DEPENDENCIES_H
