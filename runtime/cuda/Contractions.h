//===- Contractions.h - the contractions of a program on a GPU -------------===//
//
// cuBLASLt computes them. Where it has no algorithm with GELU or its gradient, it computes the contraction without, and
// a kernel of the program the rest. That is decided when the program starts, for all calls of a contraction together:
// whatever the alignment of its operands, equal values then have equal roundings.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_CONTRACTIONS_H
#define TESSERA_RUNTIME_CUDA_CONTRACTIONS_H

#include "runtime/cuda/CublasGemm.h"
#include "runtime/cuda/GemmSearch.h"
#include "runtime/machine/RankGroups.h"
#include "runtime/program/Manifest.h"
#include "runtime/program/Profile.h"

#include <string>
#include <vector>

namespace tessera::runtime::cuda {

/// A contraction with its operands, as an entry function calls it.
struct ContractionCall {
  uint32_t gemm; ///< number in the manifest
  GemmAddresses operands;
};

/// In the order of the ABI.
ContractionCall contractionCall(uint32_t gemm, const void *a, const void *b, const void *bias, const void *aux,
                                const void *c);

/// The contractions that the entry functions of a program's code run, with all their operands.
std::vector<ContractionCall> listContractionCalls(const Manifest &manifest, void *library, DevicePointer arena);

class Contractions {
public:
  /// `records`: the files of algorithms; `ranks`: those that take the same ones. Throws an Error that names a
  /// contraction which cuBLASLt rejects.
  Contractions(const Manifest &manifest, ChoiceRecords records, RankGroups ranks = {});

  /// Finds the fastest algorithm for each contraction, and runs it once: while a stream records, cuBLASLt must neither
  /// be asked for algorithms nor load their code. Prints which contractions are completed by kernels. `device`: its
  /// name. The arena must contain zeros. A collective of several ranks.
  void prepare(const std::vector<ContractionCall> &calls, const std::string &device, DevicePointer workspace,
               Stream stream);

  /// What cuBLASLt computes in a call.
  const CublasGemm &gemm(uint32_t number) const { return gemms[number]; }
  GemmAddresses operandsOf(const ContractionCall &call) const;

  /// The number of the kernel that completes a contraction; none if cuBLASLt computes it as a whole.
  std::optional<uint32_t> kernelOf(uint32_t number) const;
  std::vector<void *> kernelArguments(const ContractionCall &call) const;

  /// Tells a profile what cuBLASLt computes.
  void describe(Profile &profile) const;

private:
  /// Finds out which epilogues cuBLASLt lacks.
  void replaceEpilogues(const std::vector<ContractionCall> &calls, DevicePointer workspace, Stream stream);
  /// Runs each contraction once, with the first call of each use.
  void runOnce(const std::vector<ContractionCall> &calls, GemmUses uses, DevicePointer workspace, Stream stream);
  void sayWhatIsReplaced() const;

  const Manifest &manifest;
  ChoiceRecords records;
  RankGroups ranks;
  std::vector<CublasGemm> gemms; ///< by number in the manifest
  std::vector<bool> isReplaced;  ///< whether a kernel computes the epilogue, by the same number
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_CONTRACTIONS_H
