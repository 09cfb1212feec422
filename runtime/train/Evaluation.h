//===- Evaluation.h - losses and metrics over a data set ------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_EVALUATION_H
#define TESSERA_RUNTIME_TRAIN_EVALUATION_H

#include "runtime/data/DataSource.h"
#include "runtime/machine/LoadedProgram.h"

#include <functional>

namespace tessera::runtime {

using NamedValues = std::vector<std::pair<std::string, double>>;

struct EvaluationResult {
  NamedValues losses, metrics;
  double total = 0; ///< the sum of the losses
  int64_t rows = 0;
};

/// Writes what an entry function is told of a batch beside its data: which of its rows are padding (all after the first
/// `rows` of all ranks together), and its number, from which random values are drawn.
void writeBatchInputs(LoadedProgram &program, const EntryFunction &entry, int64_t batch, int64_t rows);

/// Calls its argument, which reads a batch, and returns whether to go on.
using BatchReading = std::function<bool(const std::function<void()> &read)>;

/// Runs the entry function `evaluate` over a split in order.
class Evaluation {
public:
  Evaluation(LoadedProgram &program, const DataFiles &files, Split split);

  /// At most `maxBatches` batches; 0: all. `reading`, if there is one, is called for each batch; none if it returns
  /// false.
  std::optional<EvaluationResult> run(int64_t maxBatches = 0, const BatchReading &reading = nullptr);
  const DataSet &data() const { return set; }

private:
  LoadedProgram &program;
  const EntryFunction &entry;
  DataSet set;
  std::vector<char *> targets;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_EVALUATION_H
