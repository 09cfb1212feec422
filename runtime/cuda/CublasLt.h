//===- CublasLt.h - contractions on a GPU -------------------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_CUBLASLT_H
#define TESSERA_RUNTIME_CUDA_CUBLASLT_H

#include "runtime/Gemm.h"
#include "runtime/cuda/Driver.h"

namespace tessera::runtime::cuda {

/// One contraction of the manifest, prepared: library calls, one behind the other, on parts of its operands.
class Product {
public:
  /// `workspaceBytes`: what the library may use. Throws an Error that names the contraction where the library refuses it.
  Product(const GemmDescription &description, int64_t workspaceBytes);
  ~Product();
  Product(Product &&) noexcept;

  void run(DevicePointer a, DevicePointer b, DevicePointer bias, DevicePointer c, DevicePointer workspace,
           Stream stream) const;

  /// Library calls that one run makes.
  int64_t calls() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_CUBLASLT_H
