//===- Emulator.h - runs CUDA kernels on the CPU ----------------------------===//
//
// The blocks of a grid run one after the other, the threads of a block as fibers that are switched where they wait for each other: at
// a barrier, or at an operation of a warp. So a run is deterministic. What is looked for on the way:
//
//   races       a shadow of shared memory knows for each byte who wrote and who read it since the last barrier
//   copies      what is on its way to shared memory may not be read before the thread that copies it has waited
//   no value    shared memory starts as NaN
//   deadlocks   a thread that ends before a barrier, lanes of a warp that do not meet
//   alignment   vector accesses at addresses that are no multiple of their size
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TESTS_CUDA_EMULATOR_H
#define TESSERA_TESTS_CUDA_EMULATOR_H

#include <cstdint>
#include <functional>
#include <string>

namespace tessera::test {

/// Runs `thread` for every thread of every block. What is wrong, or an empty string.
std::string emulate(int64_t blocks, int threads, const std::function<void()> &thread);

} // namespace tessera::test

#endif // TESSERA_TESTS_CUDA_EMULATOR_H
