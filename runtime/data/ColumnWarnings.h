//===- ColumnWarnings.h - columns of csv files that are hardly meant ------===//

#ifndef TESSERA_RUNTIME_DATA_COLUMNWARNINGS_H
#define TESSERA_RUNTIME_DATA_COLUMNWARNINGS_H

#include "runtime/data/DataSource.h"

namespace tessera::runtime {

/// A line for each two fields of a source that take the same column, and for a field that takes one twice, if only the
/// header tells: what the model file alone shows is for the compiler to say.
std::vector<std::string> sharedColumnWarnings(const Manifest &manifest, const DataSet &set);

/// A line for each source of which a file has other names in the columns of a field than the first training file with a
/// header: another order, another column between them. `validation` may be null.
std::vector<std::string> otherColumnWarnings(const Manifest &manifest, const DataSet &training,
                                             const DataSet *validation);

/// The same of the files of a data set and the training files of a checkpoint, of which `sources` records the names of
/// the columns (SourceRecord.h). None if it records none.
std::vector<std::string> otherColumnWarnings(const Manifest &manifest, const DataSet &set, const Json &sources);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_COLUMNWARNINGS_H
