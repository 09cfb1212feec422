//===- Mirror.h - the host's copy of a GPU's arena ------------------------===//
//
// The host sees the arena through a mirror: address space of the arena's size, of which only the pages that are copied
// take memory. Pages of inputs and outputs are pinned.
//
// The driver refuses a copy whose host range is partly pinned, and pages are pinned as a whole: a tensor may share its
// first or its last page with an input. So copies are split where pinned pages begin and end.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_MIRROR_H
#define TESSERA_RUNTIME_CUDA_MIRROR_H

#include "runtime/cuda/Driver.h"

#include <map>

namespace tessera::runtime::cuda {

class Mirror {
public:
  /// Reserves address space; throws an Error if there is none.
  explicit Mirror(int64_t bytes);
  ~Mirror();
  Mirror(const Mirror &) = delete;
  Mirror &operator=(const Mirror &) = delete;

  char *at(int64_t offset) const { return memory + offset; }

  /// The pages of these bytes will be pinned.
  void add(int64_t offset, int64_t bytes);
  /// Pins the pages that were added, once. Those that cannot be pinned are copied through a buffer of the driver.
  void pin();
  /// Before the device's context ends.
  void unpin();

  /// Copies between [offset, offset + bytes) of the mirror and the device. Throws an Error that begins with `what`.
  void copyToDevice(DevicePointer to, int64_t offset, int64_t bytes, Stream stream, const std::string &what) const;
  void copyToHost(int64_t offset, DevicePointer from, int64_t bytes, Stream stream, const std::string &what) const;

private:
  /// Calls `copy(offset, bytes)` for the parts of a range, each of which is pinned as a whole or not at all.
  template <typename Copy> void forEachPart(int64_t offset, int64_t bytes, Copy copy) const;

  const Driver &driver = Driver::get();
  int64_t size;
  char *memory = nullptr;
  /// Ranges of pages, by offset: their ends. They neither overlap nor touch.
  std::map<int64_t, int64_t> wanted, pinned;
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_MIRROR_H
