//===- PredictionData.h - rows to predict ------------------------------------===//

#ifndef TESSERA_RUNTIME_PREDICT_PREDICTIONDATA_H
#define TESSERA_RUNTIME_PREDICT_PREDICTIONDATA_H

#include "runtime/data/DataSource.h"
#include "runtime/machine/LoadedProgram.h"

namespace tessera::runtime {

/// A field of the data that is copied to the output, or that the runtime itself computes with; it is not an input of
/// the entry function.
struct CopiedField {
  std::string name; ///< FIELD or SOURCE.FIELD
  int64_t of = 0;   ///< number of values an integer may take; 0: any
};

/// The rows of the files that --data names, in their order, without the fields that only training needs.
class PredictionData {
public:
  /// Opens the data that `results` of the entry function `predict` are computed from, and of `copied` fields, for the
  /// rank at these positions of the program's mesh; copied fields are whole on each rank. Throws an Error if a file is
  /// missing or at fault.
  PredictionData(const Manifest &manifest, const std::vector<const ValueSpec *> &results,
                 const std::vector<std::string> &options, const std::vector<CopiedField> &copied,
                 const RankPositions &positions = {});
  PredictionData(const PredictionData &) = delete;

  int64_t rows() const { return set.readers[0]->rows(); }
  int64_t batches() const { return (rows() + set.batch - 1) / set.batch; }
  const DataSet &dataSet() const { return set; }
  /// Values at the ends of text or token files that fill no row.
  int64_t leftOver() const;
  const DataFiles &dataFiles() const { return files; }
  /// The sources, without what their descriptions say of files.
  const Manifest &description() const { return described; }

  /// Fills the inputs of the program, and the copied fields, with a batch. Returns the number of rows without padding.
  int64_t fill(int64_t batch, const LoadedProgram &program);

  /// A copied field: its description, whose outermost axis is the batch, and the rows of the last batch.
  const ValueSpec &copiedField(size_t index) const { return wanted.inputs[inputs + index]; }
  const char *copiedRows(size_t index) const { return copies[index].data(); }

private:
  void addSources(const Manifest &manifest, const std::vector<const ValueSpec *> &results);
  void addCopied(const CopiedField &field);
  void requireFiles() const;
  void checkRows() const;

  Manifest described; ///< the sources that are read, without the files and the split of training
  EntryFunction wanted;
  size_t inputs = 0;             ///< of `wanted`: those of the program; the copied fields follow
  std::vector<ValueSpec> unread; ///< inputs of the program that only outputs which are not written need
  std::vector<std::vector<char>> copies;
  DataFiles files;
  DataSet set;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_PREDICT_PREDICTIONDATA_H
