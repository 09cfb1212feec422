//===- Device.h - the GPU of a process ------------------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_DEVICE_H
#define TESSERA_RUNTIME_CUDA_DEVICE_H

#include "runtime/cuda/Driver.h"
#include "runtime/machine/Machine.h"

#include <string>

namespace tessera::runtime::cuda {

/// The GPU that a program runs on, and its context, which is the calling thread's while this lives.
class Device {
public:
  /// Of several ranks on a host each takes the GPU of its own number, if all of them see all GPUs. Throws an Error if
  /// there is no GPU, or if there are fewer than ranks. `advice`: for a program that needs more memory than there is.
  Device(LocalPlace place, MemoryAdvice advice);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  const std::string &name() const { return ownName; }
  /// Compute capability.
  int major() const { return capability[0]; }
  int minor() const { return capability[1]; }

  /// Refuses a program that needs more bytes than are free. `held`: bytes that it has already.
  void requireFree(size_t needed, int64_t held) const;

private:
  const Driver &driver = Driver::get();
  DeviceNumber number = 0;
  int capability[2] = {};
  std::string ownName;
  MemoryAdvice advice;
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_DEVICE_H
