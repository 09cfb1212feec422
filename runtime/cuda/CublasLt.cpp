//===- CublasLt.cpp - the part of cuBLASLt's interface that is used -------===//

#include "runtime/cuda/CublasLt.h"

#include "runtime/base/Error.h"
#include "runtime/cuda/Library.h"

namespace tessera::runtime::cuda {

const CublasLt &CublasLt::get() {
  static const CublasLt library;
  return library;
}

void CublasLt::check(int status, const char *what) const {
  if (status != 0) fail("cuBLASLt: {}: {}", what, getStatusString(status));
}

CublasLt::CublasLt() {
  Library library("TESSERA_CUBLASLT", {"libcublasLt.so.13", "libcublasLt.so.12"},
                  "install cuBLAS, a part of the CUDA Toolkit, or name its folder in TESSERA_CUBLASLT");
  library.find(getVersion, "cublasLtGetVersion");
  library.find(getStatusString, "cublasLtGetStatusString");
  library.find(create, "cublasLtCreate");
  library.find(matmulDescCreate, "cublasLtMatmulDescCreate");
  library.find(matmulDescDestroy, "cublasLtMatmulDescDestroy");
  library.find(matmulDescSetAttribute, "cublasLtMatmulDescSetAttribute");
  library.find(layoutCreate, "cublasLtMatrixLayoutCreate");
  library.find(layoutDestroy, "cublasLtMatrixLayoutDestroy");
  library.find(layoutSetAttribute, "cublasLtMatrixLayoutSetAttribute");
  library.find(preferenceCreate, "cublasLtMatmulPreferenceCreate");
  library.find(preferenceDestroy, "cublasLtMatmulPreferenceDestroy");
  library.find(preferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute");
  library.find(getHeuristic, "cublasLtMatmulAlgoGetHeuristic");
  library.find(checkAlgorithm, "cublasLtMatmulAlgoCheck");
  library.find(matmul, "cublasLtMatmul");
  check(create(&handle), "cannot start");
}

} // namespace tessera::runtime::cuda
