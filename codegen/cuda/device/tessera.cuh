//===- tessera.cuh - the device functions of generated kernels ------------===//
//
// Generated kernels are plain C++ and the functions of these headers: element types, vector loads and stores,
// reductions over the threads of a block, matrix products of a warp, random draws. All vendor intrinsics and all
// assembly are here, each with an equivalent for the CPU, so that the same kernels run in tests on a machine without a
// GPU (`emulation.h`).
//
// Kernels follow three rules that the emulation needs: all 32 lanes of a warp execute every warp operation; shared
// memory is accessed through `tsr::Shared` only; no block waits for another one.
//
//===----------------------------------------------------------------------===//

#include "matrices.cuh"
#include "scalars.cuh"
#include "threads.cuh"
