//===- tessera.cuh - what generated kernels are written with ----------------===//
//
// Generated kernels are plain C++ but for what stands in these headers: number types, vector loads and stores, reductions over the
// threads of a block, products by a warp, random numbers. Every vendor intrinsic and every line of assembly is in one of them, with a
// twin for the CPU beside it, so that the same kernels run in tests on a machine without a GPU (`emulation.h`).
//
// Rules that make that possible: all 32 lanes of a warp reach every warp operation; shared memory is reached through
// `tsr::Shared` only; no block waits for another.
//
//===----------------------------------------------------------------------===//

#include "matrices.cuh"
#include "numbers.cuh"
#include "threads.cuh"
