//===- DataSource.h - the data of a program -------------------------------===//
//
// Combines the data description of the model file with the options of the command line, and opens the readers of a
// split.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_DATA_DATASOURCE_H
#define TESSERA_RUNTIME_DATA_DATASOURCE_H

#include "runtime/data/RankWindow.h"
#include "runtime/data/RowReader.h"

#include <set>

namespace tessera::runtime {

/// How the rows of a run are chosen and ordered. Checkpoints record it: a run keeps the order that it began with.
enum class RowOrder : int {
  /// Of checkpoints that record none: a fraction for validation is the end of the data, and each source is shuffled by
  /// a key of its own.
  Separate = 1,
  /// A fraction for validation is a choice of rows, and sources with as many rows as the first are shuffled like it.
  Joint = 2,
};

/// KEY of a value KEY=PATH of --data: letters, digits, `_` and dots. Empty if the value is a path alone, which may
/// contain `=` after other characters ("./seed=3/x.npy").
std::string keyOfOption(const std::string &option);

/// The files of all data sources, after the options are applied, and the order of their rows.
class DataFiles {
public:
  /// `options` are the values of --data: PATH, val=PATH, SOURCE=PATH, SOURCE.val=PATH, FIELD=PATH, val.FIELD=PATH. An
  /// option without a split applies to `unnamed`; if that is Val (evaluation), training files are refused.
  DataFiles(const std::vector<DataSpec> &specs, const std::vector<std::string> &options, Split unnamed = Split::Train);

  /// The files of a split of a source, by field; empty if it has none.
  const SplitPaths &paths(const std::string &source, Split split) const;

  /// Bytes of each training file of a source, in order.
  std::vector<int64_t> trainingSizes(const std::string &source) const;

  /// All of them, of both splits; files of a pattern that matches nothing are left out.
  std::vector<std::string> allPaths() const;

  /// Throws an Error if an option names a file that is not there.
  void checkNamed() const;
  /// Whether every path and pattern names a file that is there.
  bool areThere() const;

  /// All paths as one line, to detect changes between runs.
  std::string describe() const;

  RowOrder rowOrder() const { return order; }
  /// Data sets that are opened from now on have the order that the checkpoint at `path` recorded. Throws an Error if it
  /// is unknown.
  void takeRowOrder(int recorded, const std::string &path);

  /// The part of a source that a split is.
  Portion portion(const DataSpec &spec, Split split) const;
  /// What a fraction holds out of a source, "0.1, seed 0" or "0.1, tail"; empty if nothing.
  std::string describeHeldOut(const DataSpec &spec) const;

private:
  void apply(const std::vector<DataSpec> &specs, const std::string &option, Split unnamed,
             std::set<const void *> &replaced);
  std::map<std::string, SplitPaths> train, val;
  std::vector<std::pair<std::string, std::string>> named; ///< options, and the path of each
  RowOrder order = RowOrder::Joint;
};

/// A data input of an entry function.
struct BatchInput {
  const ValueSpec *value = nullptr;
  size_t source = 0, request = 0; ///< which reader, and which of its requests
  int64_t rowBytes = 0;           ///< of this rank's part
  AxisWindow rows = {};           ///< of the batch that this rank has
  RowWindow window = {};          ///< of each of them
};

/// The open readers of one split, for the data inputs of one entry function.
struct DataSet {
  std::vector<std::string> names; ///< of the sources, by reader
  std::vector<std::unique_ptr<RowReader>> readers;
  std::vector<BatchInput> inputs;
  std::vector<bool> shuffle; ///< by reader
  int64_t batch = 0;         ///< rows that one call takes, on all ranks together
  RowOrder order = RowOrder::Joint;

  /// Writes this rank's part of a row of an input's source to `target`.
  void readRow(const BatchInput &input, int64_t row, char *target) const;
  /// Adds the memory of the readers, without mapped files.
  void addHeld(HeldMemory &held) const;
  /// Throws an Error if a file that rows were read from has changed since it was opened.
  void checkFilesRead() const;
};

/// Opens all sources that `entry` reads, for the rank at these positions of the program's mesh. Throws an Error if a
/// file is at fault or a split has no files.
DataSet openDataSet(const Manifest &manifest, const EntryFunction &entry, const DataFiles &files, Split split,
                    const RankPositions &positions = {});

/// The sources that `entry` reads, by whether they have data for validation.
struct ValidationSources {
  std::vector<std::string> with, without;
};
ValidationSources validationSources(const Manifest &manifest, const EntryFunction &entry, const DataFiles &files);

/// Whether every source that `entry` reads has data for validation.
bool hasValidation(const Manifest &manifest, const EntryFunction &entry, const DataFiles &files);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_DATASOURCE_H
