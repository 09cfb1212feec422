//===- FakeDevice.h - declarations that the fake libraries share ------------===//

#ifndef TESSERA_TESTS_CODEGEN_CUDA_FAKEDEVICE_H
#define TESSERA_TESTS_CODEGEN_CUDA_FAKEDEVICE_H

#include <cstring>
#include <functional>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace tessera::test {

// CUresult.
inline constexpr int invalidValue = 1, outOfMemory = 2, invalidDevice = 101;
inline constexpr int invalidImage = 200, unsupportedPtx = 222;
inline constexpr int launchFailed = 719; ///< of a stream after its work failed

/// Adds work to a stream, which runs it when the host or another stream waits for it; records the work if the stream
/// is recording, as a node with that name. Returns the status of the stream: 0, or that of its first failure.
int enqueue(void *stream, std::function<int()> work, const std::string &name = "memory");

/// Runs all work of the stream now, unless it is recording. Returns the status of the stream.
int runNow(void *stream);

/// Whether a stream records that this thread began to record.
bool isCapturing();

/// Whether this stream records.
bool isRecording(void *stream);

/// The number of the thread's GPU: that of its current context, or the first one.
int currentDevice();

/// Whether these bytes are in one allocation of the device.
bool isOnDevice(unsigned long long address, size_t bytes);

/// Whether the driver copies from and to this memory of the host: it is pinned as a whole or not at all.
bool isUniformHostRange(const void *memory, size_t bytes);

/// bf16 is the upper half of f32, rounded to nearest, ties to even.
inline unsigned short toBf16(float value) {
  unsigned bits;
  memcpy(&bits, &value, 4);
  return value != value ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
inline float fromBf16(unsigned short upper) {
  unsigned bits = static_cast<unsigned>(upper) << 16;
  float value;
  return memcpy(&value, &bits, 4), value;
}

} // namespace tessera::test

#endif // TESSERA_TESTS_CODEGEN_CUDA_FAKEDEVICE_H
