//===- RowChoice.h - which rows are for training, which for validation ----===//

#ifndef TESSERA_RUNTIME_DATA_ROWCHOICE_H
#define TESSERA_RUNTIME_DATA_ROWCHOICE_H

#include "runtime/data/RowReader.h"

namespace tessera::runtime {

/// The rows of a portion among `count` rows, in the order of the files.
///
/// `k` of `n` rows are held out. Row numbers are cut into `k` strata, as equal as possible, and of each one row is held
/// out, at a place that is hashed from n, the seed and the number of the stratum. So nothing is stored, any row is
/// found in constant time, both parts keep the order of the files, and sorted data are held out evenly.
class RowChoice {
public:
  RowChoice() = default;
  RowChoice(const Portion &portion, int64_t count);

  int64_t rows() const { return size; }
  /// The rows it chooses from.
  int64_t rowsOfFiles() const { return count; }
  /// The row of the files that is number `index` < rows() of the portion.
  int64_t operator()(int64_t index) const;

private:
  int64_t stratum(int64_t number) const;
  int64_t heldOutRow(int64_t number) const;

  Portion::Kind kind = Portion::All;
  int64_t begin = 0, size = 0; ///< of a range
  int64_t count = 0;           ///< rows to choose from
  int64_t strata = 0;          ///< of a choice
  uint64_t key = 0;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_ROWCHOICE_H
