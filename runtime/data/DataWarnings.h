//===- DataWarnings.h - mistakes in data that make wrong figures ----------===//

#ifndef TESSERA_RUNTIME_DATA_DATAWARNINGS_H
#define TESSERA_RUNTIME_DATA_DATAWARNINGS_H

#include "runtime/data/DataSource.h"

namespace tessera::runtime {

/// A line for each source that has fewer rows than a batch of `training`.
std::vector<std::string> largeBatchWarnings(const DataSet &training);

/// What is right by itself and more often a mistake than meant, in the data that a run trains with; one line each, with
/// what to do. Reads no more than some thousand rows, and files only if two of them may be equal. `validation` is what
/// the run evaluates of the split of that name; null: nothing.
std::vector<std::string> dataWarnings(const Manifest &manifest, const DataFiles &files, const DataSet &training,
                                      const DataSet *validation = nullptr);

/// What the readers of data sets assume of their files, each line once. A set may be null.
std::vector<std::string> dataNotes(const DataSet *training, const DataSet *validation);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_DATAWARNINGS_H
