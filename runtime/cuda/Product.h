//===- Product.h - contractions on a GPU --------------------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_PRODUCT_H
#define TESSERA_RUNTIME_CUDA_PRODUCT_H

#include "runtime/cuda/CublasLt.h"
#include "runtime/cuda/Dependencies.h"
#include "runtime/machine/Gemm.h"

#include <array>
#include <map>

namespace tessera::runtime::cuda {

/// Addresses of a contraction's operands, on the device; `bias` and `aux` count only where there is one.
struct ProductOperands {
  DevicePointer a = 0, b = 0, bias = 0, c = 0, aux = 0;
};

/// What addresses are multiples of, in bytes, 256 at most: of a, b, bias, c and aux. Algorithms of the library depend on it.
using ProductAlignment = std::array<uint32_t, 5>;

/// One contraction of the manifest, prepared: library calls, one behind the other, on parts of its operands.
class Product {
public:
  /// `workspaceBytes`: what the library may use. Throws an Error that names the contraction where the library refuses it.
  Product(const GemmDescription &description, int64_t workspaceBytes);
  ~Product();
  Product(Product &&) noexcept;

  void run(const ProductOperands &operands, DevicePointer workspace, Stream stream) const;

  /// What a run touches: operands, and what it needs of the workspace.
  std::vector<Access> accesses(const ProductOperands &operands, DevicePointer workspace) const;

  /// Library calls that one run makes.
  int64_t calls() const;
  const GemmDescription &description() const;

  /// Of the parts of the operands that all calls of a run begin with.
  ProductAlignment alignmentOf(const ProductOperands &operands) const;
  /// The algorithms that the library suggests, its favourite first.
  std::vector<MatmulAlgorithm> suggest(const ProductAlignment &alignment, int most) const;
  /// From now on runs with such operands take this algorithm; without a choice they take the library's favourite. False: the
  /// library does not take it.
  bool choose(const ProductAlignment &alignment, const MatmulAlgorithm &algorithm);
  /// There is no choice for such operands any more.
  void forget(const ProductAlignment &alignment);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_PRODUCT_H
