//===- Evaluation.cpp - losses and metrics over a data set ----------------===//

#include "runtime/train/Evaluation.h"

#include "runtime/base/MappedFile.h"
#include "runtime/data/BatchLoader.h"

namespace tessera::runtime {

Evaluation::Evaluation(LoadedProgram &program, const DataFiles &files, Split split)
    : program(program), entry(program.manifest().entry("evaluate")),
      set(openDataSet(program.manifest(), entry, files, split, program.positions())) {
  for (const BatchInput &input : set.inputs) targets.push_back(program.at(input.value->offset));
}

void writeBatchInputs(LoadedProgram &program, const EntryFunction &entry, int64_t batch, int64_t rows) {
  if (const ValueSpec *weight = entry.input("weight")) {
    auto *weights = reinterpret_cast<float *>(program.at(weight->offset));
    AxisWindow window = windowOf(*weight, 0, program.positions());
    for (int64_t i = 0; i < weight->elements(); ++i) weights[i] = window(i) < rows ? 1.0f : 0.0f;
  }
  if (const ValueSpec *number = entry.input("batch_number"))
    *reinterpret_cast<int32_t *>(program.at(number->offset)) = static_cast<int32_t>(batch);
}

std::optional<EvaluationResult> Evaluation::run(int64_t maxBatches, const BatchReading &reading) {
  struct Sum {
    const ValueSpec *value, *count;
    double sum = 0, weight = 0;
  };
  std::vector<Sum> sums;
  for (const ValueSpec &value : entry.outputs)
    if (value.role == "loss" || value.role == "metric") sums.push_back({&value, entry.output("count", value.name)});
  int64_t batches = orderedBatches(set);
  if (maxBatches > 0) batches = std::min(batches, maxBatches);
  EvaluationResult result;
  for (int64_t batch = 0; batch < batches; ++batch) {
    int64_t real = 0;
    auto read = [&] { withMappedFiles([&] { real = fillOrderedBatch(set, batch, targets.data()); }); };
    if (!reading)
      read();
    else if (!reading(read))
      return std::nullopt;
    writeBatchInputs(program, entry, batch, real);
    program.call("evaluate");
    result.rows += real;
    for (Sum &sum : sums) {
      double count = sum.count ? program.readScalar(*sum.count) : static_cast<double>(real);
      // A batch without any weight has no value.
      if (count != 0) sum.sum += program.readScalar(*sum.value) * count, sum.weight += count;
    }
  }
  for (const Sum &sum : sums) {
    double value = sum.weight != 0 ? sum.sum / sum.weight : 0; // as of one batch: docs/language.md, Reductions
    if (sum.weight == 0)
      warn("warning: no row has a weight for '{}' in this evaluation; it counts as 0", sum.value->name);
    bool isLoss = sum.value->role == "loss";
    (isLoss ? result.losses : result.metrics).emplace_back(sum.value->name, value);
    if (isLoss) result.total += value;
  }
  return result;
}

} // namespace tessera::runtime
