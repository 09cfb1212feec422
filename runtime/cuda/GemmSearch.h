//===- GemmSearch.h - measures which algorithm of cuBLASLt is fastest ------===//
//
// cuBLASLt suggests several algorithms for a contraction. The fastest one is measured when a program runs on a GPU
// for the first time, and recorded in a file beside the program. The choice decides the order of accumulation: a
// program with that file computes the same bits again, and so does one without a search.
//
// A second file records the choices of all programs of a user on this machine. A program takes what another one has
// measured: so the same model, compiled with another plan of its memory, computes the same bits. Of several ranks the
// first one searches, and all take its choices: what ranks compute alike has the same bits on all of them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_GEMMSEARCH_H
#define TESSERA_RUNTIME_CUDA_GEMMSEARCH_H

#include "runtime/cuda/CublasGemm.h"
#include "runtime/ranks/Communicator.h"

#include <set>
#include <string>

namespace tessera::runtime::cuda {

/// Contractions of a program, with the alignment of their operands.
using GemmUses = std::set<std::pair<size_t, GemmAlignment>>;

/// Where choices are recorded.
struct ChoiceRecords {
  std::string program;     ///< the program's file; empty: it has none
  std::string shared = {}; ///< the file of all programs; empty: there is none
};

class GemmSearch {
public:
  /// `device`: its name. Choices for other devices and for other versions of cuBLASLt stay in the files unchanged.
  GemmSearch(ChoiceRecords records, const std::string &device);

  /// Chooses an algorithm for each use: the recorded one, else the fastest, measured on `stream` with memory of its
  /// own and recorded. If time or memory for that run out, the earlier choice is recorded, or else cuBLASLt's first
  /// suggestion. If the program's file cannot be written, or it has none and the shared one
  /// cannot, nothing is measured, and choices stay as they are. Returns
  /// the number of uses without a record.
  int chooseFor(std::vector<CublasGemm> &gemms, const GemmUses &uses, DevicePointer workspace, Stream stream);

  /// A collective: all ranks choose what the first one has chosen, and else the library's first suggestion.
  void takeFromFirst(std::vector<CublasGemm> &gemms, const GemmUses &uses, HostCommunicator &ranks) const;

private:
  using Algorithms = std::map<std::string, std::string>; ///< in hexadecimal, by key

  std::string keyOf(const CublasGemm &gemm, const GemmAlignment &alignment) const;
  /// What the program's file records, and what the shared one does of these uses.
  Algorithms recorded(const std::vector<CublasGemm> &gemms, const GemmUses &uses) const;
  bool write(const Algorithms &algorithms) const;
  bool choose(std::vector<CublasGemm> &gemms, const GemmUses::value_type &use, const Algorithms &known) const;

  ChoiceRecords records;
  std::string platform;
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_GEMMSEARCH_H
