//===- PrecisionAudit.h - how far a step in a low type is from one in f32 -----===//
//
// The entry functions `shadow`, in f32, and `step` run on the same state and batch. Of each result that both write, some hundred
// elements are compared, the same ones by their positions along the axes. An error is that of the result, with
// what came in with its operands.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_PRECISIONAUDIT_H
#define TESSERA_RUNTIME_TRAIN_PRECISIONAUDIT_H

#include "runtime/Manifest.h"

#include <map>

namespace tessera::runtime {

class PrecisionAudit {
public:
  explicit PrecisionAudit(const char *arena) : arena(arena) {}

  /// To be called with the calls of `shadow`, then with those of `step`; `lossScale`: that of the step, 1 without.
  void beginStep(double lossScale);
  void seeShadow(const TraceStep &step, const std::vector<int64_t> &turns);
  void endShadow() { seen.clear(); }
  void seeStep(const TraceStep &step, const std::vector<int64_t> &turns);

  /// The results with the largest errors, largest first, as lines of a table; with how many were compared.
  std::string table(size_t most) const;

private:
  struct Row {
    std::string name, sources, type;
    double error = 0;  ///< the largest: norm of the difference by norm, of the samples
    std::string where; ///< turns of the loops around it
    int64_t count = 0;
  };
  std::string keyOf(const TraceStep &step, const TraceStep::Result &result, const std::vector<int64_t> &turns);
  std::vector<double> sample(const TraceStep::Result &result, const std::vector<int64_t> &turns) const;

  const char *arena;
  double scale = 1;
  std::map<std::string, int> seen; ///< in this run of the entry function
  std::map<std::string, std::vector<double>> reference;
  std::map<std::string, Row> rows;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_PRECISIONAUDIT_H
