//===- GemmSearch.h - which of cuBLASLt's algorithms is fastest here ----------===//
//
// The library suggests some algorithms for a contraction; which is fastest is measured once, the first time that a program runs on a GPU,
// and remembered in a file beside it. What was chosen decides the order of sums: a program with that file computes the same bits again,
// and so does one without a search.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_GEMMSEARCH_H
#define TESSERA_RUNTIME_CUDA_GEMMSEARCH_H

#include "runtime/cuda/Product.h"

#include <set>
#include <string>

namespace tessera::runtime::cuda {

/// Contractions of a program, with what their operands are aligned to.
using ProductUses = std::set<std::pair<size_t, ProductAlignment>>;

class GemmSearch {
public:
  /// `file`: where choices are remembered; empty: nowhere. `device`: its name. Choices for another device, or another version of the
  /// library, are left alone.
  GemmSearch(std::string file, std::string device);

  /// Chooses an algorithm for each use: as remembered, else measured on `stream` with memory of its own, and remembered. Where there is
  /// neither time nor memory left for that the library's favourite is remembered. Where the file cannot be written nothing is measured, and
  /// the library's favourite taken. The number of uses that were not known before.
  int chooseFor(std::vector<Product> &products, const ProductUses &uses, DevicePointer workspace, Stream stream);

private:
  std::string keyOf(const Product &product, const ProductAlignment &alignment) const;
  /// Algorithms in hexadecimal, by key.
  std::map<std::string, std::string> read() const;
  bool write(const std::map<std::string, std::string> &algorithms) const;

  std::string file, platform;
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_GEMMSEARCH_H
