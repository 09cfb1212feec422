//===- HeldData.cpp - the memory that data take -----------------------------------===//

#include "runtime/data/HeldData.h"

#include "runtime/base/Error.h"
#include "runtime/data/DataSource.h"
#include "runtime/data/DataWarnings.h"

namespace tessera::runtime {

HeldData heldData(const Manifest &manifest, const DataFiles &files) {
  try {
    DataSet training, validation; // open at the same time, as in training: they share memory
    auto step = manifest.entries.find("step"), evaluate = manifest.entries.find("evaluate");
    if (step != manifest.entries.end()) training = openDataSet(manifest, step->second, files, Split::Train);
    if (evaluate != manifest.entries.end() && hasValidation(manifest, evaluate->second, files))
      validation = openDataSet(manifest, evaluate->second, files, Split::Val);
    HeldMemory held;
    training.addHeld(held);
    validation.addHeld(held);
    HeldData data{totalOf(held)};
    if (!training.readers.empty()) data.trainingRows = training.readers.front()->rows();
    data.warnings = largeBatchWarnings(training);
    return data;
  } catch (const Error &e) {
    return {std::nullopt, e.what()};
  }
}

} // namespace tessera::runtime
