//===- FakeDevice.h - what the parts of the fake libraries share ------------===//

#ifndef TESSERA_TESTS_CUDA_FAKEDEVICE_H
#define TESSERA_TESTS_CUDA_FAKEDEVICE_H

#include <cstring>
#include <functional>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace tessera::test {

/// What a stream reports after work of it failed.
inline constexpr int launchFailed = 719;

/// Has the stream do the work when somebody waits for it, or records it. What the stream has to report: 0, or what failed in it first.
int enqueue(void *stream, std::function<int()> work);

/// What the stream was asked for runs now, unless it records. What the stream has to report.
int runNow(void *stream);

/// Whether these bytes lie in one allocation of the device.
bool isOnDevice(unsigned long long address, size_t bytes);

/// bf16 is the upper half of f32; to the nearest, ties to even.
inline unsigned short toBf16(float number) {
  unsigned bits;
  memcpy(&bits, &number, 4);
  return number != number ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
inline float fromBf16(unsigned short upper) {
  unsigned bits = static_cast<unsigned>(upper) << 16;
  float number;
  return memcpy(&number, &bits, 4), number;
}

} // namespace tessera::test

#endif // TESSERA_TESTS_CUDA_FAKEDEVICE_H
