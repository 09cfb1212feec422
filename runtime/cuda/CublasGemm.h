//===- CublasGemm.h - a contraction computed by cuBLASLt -------------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_CUBLASGEMM_H
#define TESSERA_RUNTIME_CUDA_CUBLASGEMM_H

#include "runtime/cuda/CublasLt.h"
#include "runtime/cuda/Dependencies.h"
#include "runtime/program/GemmSpec.h"

#include <array>
#include <map>

namespace tessera::runtime::cuda {

/// Addresses of a contraction's operands on the device. `bias` and `aux` are ignored if the contraction has none.
struct GemmAddresses {
  DevicePointer a = 0, b = 0, bias = 0, c = 0, aux = 0;
};

/// Alignment in bytes of a, b, bias, c and aux, at most 64, which all buffers of an arena have. The choice of
/// algorithms depends on it, and on nothing else of the addresses: so bits do not depend on places in the arena.
using GemmAlignment = std::array<uint32_t, 5>;

/// A contraction of the manifest, prepared: one or several library calls on parts of its operands.
class CublasGemm {
public:
  /// `workspaceBytes`: the size of the workspace. Throws an Error that names the contraction if cuBLASLt rejects it,
  /// unless a kernel can compute its epilogue.
  CublasGemm(const GemmSpec &description, int64_t workspaceBytes);
  ~CublasGemm();
  CublasGemm(CublasGemm &&) noexcept;
  CublasGemm &operator=(CublasGemm &&) noexcept;

  /// Runs with these operands, and chooses the first algorithm that cuBLASLt suggests and runs. Returns false if there
  /// is none.
  bool findAlgorithm(const GemmAddresses &operands, DevicePointer workspace, Stream stream);

  /// Makes everything that runs with these operands need, and chooses the library's first suggestion if no algorithm is
  /// chosen for their alignment. Throws an Error that names the contraction if there is none.
  void prepare(const GemmAddresses &operands);

  /// Calls no function of cuBLASLt but its matrix multiplication, so a stream may record it. Throws an Error if it was
  /// not prepared for these operands.
  void run(const GemmAddresses &operands, DevicePointer workspace, Stream stream) const;

  /// What a run accesses: operands and workspace. Throws an Error if it was not prepared for these operands.
  std::vector<MemoryAccess> accesses(const GemmAddresses &operands, DevicePointer workspace) const;

  /// Library calls that one run makes.
  int64_t calls() const;
  const GemmSpec &description() const;

  /// The alignment that holds for the operands of all library calls of a run.
  GemmAlignment alignmentOf(const GemmAddresses &operands) const;
  /// The algorithms that cuBLASLt suggests, best first.
  std::vector<MatmulAlgorithm> suggest(const GemmAlignment &alignment, int most) const;
  /// Runs with operands of this alignment use this algorithm from now on. Returns false if cuBLASLt rejects it.
  bool choose(const GemmAlignment &alignment, const MatmulAlgorithm &algorithm);
  /// The algorithm that is chosen for this alignment; none if no choice was made.
  std::optional<MatmulAlgorithm> chosen(const GemmAlignment &alignment) const;
  /// Removes the choice for this alignment; prepare() makes another one.
  void forget(const GemmAlignment &alignment);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_CUBLASGEMM_H
