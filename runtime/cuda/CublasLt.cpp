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
  // The library of CUDA 13 does not run with an older driver, that of CUDA 12 with all later ones.
  int supported = 0;
  Driver::get().getVersion(&supported);
  std::vector<std::string> names = {"libcublasLt.so.13", "libcublasLt.so.12"};
  if (supported < 13000) std::swap(names[0], names[1]);
  Library library("TESSERA_CUBLASLT", names,
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
  if (int status = create(&handle); status != 0)
    fail("cuBLASLt: cannot start: {}; its version is {}, and the driver here is one for CUDA {}.{}",
         getStatusString(status), getVersion(), supported / 1000, supported % 1000 / 10);
}

} // namespace tessera::runtime::cuda
