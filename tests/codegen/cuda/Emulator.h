//===- Emulator.h - runs CUDA kernels on the CPU ----------------------------===//
//
// The blocks of a grid run one after the other. The threads of a block are fibers; one runs until it waits for others,
// at a barrier or at an operation of its warp. So a run is deterministic. It detects:
//
//   races           a shadow of shared memory records which threads wrote and read each byte since the last barrier
//   pending copies  the destination of a copy to shared memory is read before the thread that copies has waited
//   no value        shared memory starts as NaN
//   deadlocks       a thread ends before a barrier; lanes of a warp diverge
//   misalignment    vector accesses at addresses that are not a multiple of their size
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TESTS_CODEGEN_CUDA_EMULATOR_H
#define TESSERA_TESTS_CODEGEN_CUDA_EMULATOR_H

#include <cstdint>
#include <functional>
#include <string>

namespace tessera::test {

/// Runs `thread` for every thread of every block. Returns an error, or an empty string.
std::string emulate(int64_t blocks, int threads, const std::function<void()> &thread);

} // namespace tessera::test

#endif // TESSERA_TESTS_CODEGEN_CUDA_EMULATOR_H
