//===- CublasLt.h - the part of cuBLASLt's interface that is used ---------===//
//
// The declarations follow cublasLt.h and library_types.h of CUDA 13. They are repeated here so that the runtime is
// built the same way on machines with and without CUDA.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_CUBLASLT_H
#define TESSERA_RUNTIME_CUDA_CUBLASLT_H

#include "runtime/cuda/Driver.h"

namespace tessera::runtime::cuda {

using BlasHandle = struct CublasLtHandle *;
using MatmulDesc = struct CublasLtMatmulDesc *;
using MatrixLayout = struct CublasLtLayout *;
using MatmulPreference = struct CublasLtPreference *;

struct MatmulAlgorithm {
  uint64_t data[8];
};
struct MatmulHeuristic {
  MatmulAlgorithm algorithm;
  size_t workspaceBytes;
  int status;
  float waves;
  int reserved[4];
};

// Values of the library's enumerations.
inline constexpr int compute32F = 68, compute32FFastTF32 = 77, real32F = 0;
inline constexpr int descTransA = 3, descTransB = 4, descEpilogue = 7, descBiasPointer = 8, descBiasType = 26;
inline constexpr int descAuxPointer = 11, descAuxLeading = 12; ///< the matrix has d's type
inline constexpr int operationNone = 0, operationTranspose = 1;
// Bits of an epilogue; the derivative of GELU always has its matrix.
inline constexpr int epilogueDefault = 1, epilogueBias = 4, epilogueGelu = 32, epilogueGeluGradient = 64,
                     epilogueAux = 128, epilogueBiasGradient = 16;
inline constexpr int layoutBatchCount = 5, layoutBatchStride = 6;
inline constexpr int preferenceWorkspace = 1, preferenceReductions = 3;
// Bits of the ways to add the parts of a split summed axis; an axis that is not split needs none of them.
inline constexpr uint32_t reductionInPlace = 1, reductionComputeType = 2, reductionOutputType = 4;
inline constexpr int preferenceAlignments[] = {5, 6, 7, 8}; ///< of a, b, c, d, in bytes

/// The library, opened once: in $TESSERA_CUBLASLT if that is set. Large because: it is a table of functions.
struct CublasLt {
  static const CublasLt &get();
  /// Throws an Error if `status` is one.
  void check(int status, const char *what) const;

  BlasHandle handle = nullptr;
  size_t (*getVersion)();
  const char *(*getStatusString)(int status);
  int (*create)(BlasHandle *handle);
  int (*matmulDescCreate)(MatmulDesc *desc, int computeType, int scaleType);
  int (*matmulDescDestroy)(MatmulDesc desc);
  int (*matmulDescSetAttribute)(MatmulDesc desc, int attribute, const void *value, size_t bytes);
  int (*layoutCreate)(MatrixLayout *layout, int type, uint64_t rows, uint64_t columns, int64_t leading);
  int (*layoutDestroy)(MatrixLayout layout);
  int (*layoutSetAttribute)(MatrixLayout layout, int attribute, const void *value, size_t bytes);
  int (*preferenceCreate)(MatmulPreference *preference);
  int (*preferenceDestroy)(MatmulPreference preference);
  int (*preferenceSetAttribute)(MatmulPreference preference, int attribute, const void *value, size_t bytes);
  int (*getHeuristic)(BlasHandle handle, MatmulDesc desc, MatrixLayout a, MatrixLayout b, MatrixLayout c,
                      MatrixLayout d, MatmulPreference preference, int wanted, MatmulHeuristic *results, int *found);
  int (*checkAlgorithm)(BlasHandle handle, MatmulDesc desc, MatrixLayout a, MatrixLayout b, MatrixLayout c,
                        MatrixLayout d, const MatmulAlgorithm *algorithm, MatmulHeuristic *result);
  int (*matmul)(BlasHandle handle, MatmulDesc desc, const void *alpha, const void *a, MatrixLayout layoutA,
                const void *b, MatrixLayout layoutB, const void *beta, const void *c, MatrixLayout layoutC, void *d,
                MatrixLayout layoutD, const MatmulAlgorithm *algorithm, void *workspace, size_t workspaceBytes,
                Stream stream);

private:
  CublasLt();
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_CUBLASLT_H
