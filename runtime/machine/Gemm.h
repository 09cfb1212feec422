//===- Gemm.h - contractions that oneDNN computes -----------------------------===//
//
// One `Gemm` is one entry of the manifest's list of contractions. The compiler
// links this piece too: it asks `planGemm` how many bytes of workspace a
// contraction needs and whether the library would take a slow path. Nothing
// else of the runtime is needed here, and nothing of it throws but `Gemm`.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_GEMM_H
#define TESSERA_RUNTIME_GEMM_H

#include "runtime/base/ElementType.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

/// What becomes of the sums of a contraction on a GPU, with GELU in its tanh form.
enum class GemmEpilogue {
  None,
  Gelu,    ///< c = GELU(sum); `aux`, if there is one, becomes the sum
  GeluGrad ///< c = sum times the derivative of GELU at `aux`; `bias`, if there is one, becomes the sum of c along M
};

/// c [batch..., M, N] = a [batch..., M, K] · b [batch..., K, N], plus bias, plus c itself where `accumulate`.
/// All three have the same rank; strides count elements; a batch dimension of size 1 is broadcast.
struct GemmDescription {
  std::string name;
  std::string line;                          ///< of the model; empty: not known
  ElementType type = ElementType::F32;       ///< of a, and of b unless `typeB` says another
  std::optional<ElementType> typeB;          ///< where a and b are fp8
  ElementType resultType = ElementType::F32; ///< of c
  std::vector<int64_t> dimsA, stridesA;
  std::vector<int64_t> dimsB, stridesB;
  std::vector<int64_t> dimsC, stridesC;
  /// Strides of the bias, aligned with the last dimensions of c; zero: broadcast along that dimension.
  std::optional<std::vector<int64_t>> bias;
  ElementType biasType = ElementType::F32;
  bool accumulate = false;
  GemmEpilogue epilogue = GemmEpilogue::None;
  bool hasAux = false; ///< a matrix of the type and the strides of c
  bool tf32 = false;   ///< a GPU may round f32 operands to tf32 (10 bits behind the point)
};

/// What the library would do with a contraction.
struct GemmPlan {
  std::string error;          ///< not empty: the library refuses, and why
  int64_t scratchBytes = 0;   ///< workspace, at any address that is a multiple of 64
  std::string implementation; ///< the library's own name, "brg:avx512_core"
  bool isReference = false;   ///< a plain loop: orders of magnitude too slow
};

/// Asks the library, for `threads` threads (0: as many as it would take).
GemmPlan planGemm(const GemmDescription &description, int threads = 0);

/// A contraction ready to run. Its constructor throws std::runtime_error where the library refuses.
class Gemm {
public:
  explicit Gemm(const GemmDescription &description);
  ~Gemm();
  Gemm(Gemm &&) noexcept;
  Gemm &operator=(Gemm &&) noexcept;

  int64_t scratchBytes() const;

  /// `bias` is ignored unless the description has one; `scratch` has scratchBytes() bytes. One call at a time.
  void run(const void *a, const void *b, const void *bias, void *c, void *scratch);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_GEMM_H
