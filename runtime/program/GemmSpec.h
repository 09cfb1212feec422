//===- GemmSpec.h - a contraction that a library computes -----------------===//
//
// An entry of the manifest's list of contractions. The compiler fills one in too, to ask oneDNN what it would run.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_PROGRAM_GEMMSPEC_H
#define TESSERA_RUNTIME_PROGRAM_GEMMSPEC_H

#include "runtime/base/GemmMatrix.h"
#include "runtime/base/Json.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

/// What a GPU computes from the accumulators before it stores them. GELU is its tanh form.
enum class GemmEpilogue {
  None,
  Gelu,    ///< c = GELU(accumulator); `aux`, if there is one, becomes the accumulator
  GeluGrad ///< c = accumulator · GELU'(aux); `bias`, if there is one, becomes the sum of c along M
};

/// c [batch..., M, N] = a [batch..., M, K] · b [batch..., K, N], plus bias, plus c itself where `accumulate`.
/// All three have the same rank; a batch dimension of size 1 is broadcast. Accumulators are f32.
struct GemmSpec {
  std::string name;
  std::string line; ///< of the model file; empty: not known
  GemmMatrix a, b;  ///< of one type, or of two fp8 types
  GemmMatrix c;
  /// Strides of the bias, aligned with the last dimensions of c; zero: broadcast along that dimension.
  std::optional<std::vector<int64_t>> bias;
  ElementType biasType = ElementType::F32;
  bool accumulate = false;
  GemmEpilogue epilogue = GemmEpilogue::None;
  bool hasAux = false; ///< there is a matrix of the type and the strides of c
  /// The number of the kernel that computes the epilogue where cuBLASLt cannot.
  std::optional<uint32_t> epilogueKernel;
  /// Of a part, which a later call completes: how often a step calls it.
  std::optional<int64_t> partCalls;
  bool tf32 = false;             ///< a GPU may round f32 operands to tf32 (10 mantissa bits)
  std::optional<double> seconds; ///< predicted, of one call
  Json work;                     ///< for the model of costs; profiles repeat it
};

/// What one call does: operations, two for each multiply-add, and at least how many bytes it reads and writes.
struct GemmWork {
  int64_t flops = 0, read = 0, written = 0;
};
inline GemmWork workOf(const GemmSpec &gemm) {
  int64_t resultBytes = gemm.c.bytes();
  bool writesAux = gemm.epilogue == GemmEpilogue::Gelu && gemm.hasAux;
  bool readsResult = gemm.accumulate || gemm.epilogue == GemmEpilogue::GeluGrad; // c or aux
  return {2 * gemm.c.elements() * gemm.a.dims.back(), gemm.a.bytes() + gemm.b.bytes() + (readsResult ? resultBytes : 0),
          resultBytes * (writesAux ? 2 : 1)};
}

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_PROGRAM_GEMMSPEC_H
