//===- GemmSearch.h - measures which algorithm of cuBLASLt is fastest ------===//
//
// cuBLASLt suggests several algorithms for a contraction. The fastest one is measured when a program runs on a GPU
// for the first time, and recorded in a file beside the program. The choice decides the order of accumulation: a
// program with that file computes the same bits again, and so does one without a search.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_GEMMSEARCH_H
#define TESSERA_RUNTIME_CUDA_GEMMSEARCH_H

#include "runtime/cuda/CublasGemm.h"

#include <set>
#include <string>

namespace tessera::runtime::cuda {

/// Contractions of a program, with the alignment of their operands.
using GemmUses = std::set<std::pair<size_t, GemmAlignment>>;

class GemmSearch {
public:
  /// `file` records the choices; empty: none does. `device`: its name. Choices for other devices and for other
  /// versions of cuBLASLt stay in the file unchanged.
  GemmSearch(std::string file, std::string device);

  /// Chooses an algorithm for each use: the recorded one, else the fastest, measured on `stream` with memory of its
  /// own and recorded. If time or memory for that run out, the earlier choice is recorded, or else cuBLASLt's first
  /// suggestion. If the file cannot be written, nothing is measured, and choices stay as they are. Returns the number
  /// of uses without a record.
  int chooseFor(std::vector<CublasGemm> &gemms, const GemmUses &uses, DevicePointer workspace, Stream stream);

private:
  std::string keyOf(const CublasGemm &gemm, const GemmAlignment &alignment) const;
  /// Algorithms in hexadecimal, by key.
  std::map<std::string, std::string> read() const;
  bool write(const std::map<std::string, std::string> &algorithms) const;

  std::string file, platform;
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_GEMMSEARCH_H
