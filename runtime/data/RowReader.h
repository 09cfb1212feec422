//===- RowReader.h - the rows of a data source, in any format -------------===//
//
// A row is one sample of a batch. A reader knows the number of rows and writes any of them, field by field, into
// memory of the types that the entry function declares. Reading does not allocate.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_DATA_ROWREADER_H
#define TESSERA_RUNTIME_DATA_ROWREADER_H

#include "runtime/base/Error.h"
#include "runtime/program/Manifest.h"

#include <memory>
#include <optional>

namespace tessera::runtime {

/// A field as an entry function requests it.
struct FieldRequest {
  std::string field;
  ElementType type = ElementType::I32;
  int64_t elements = 0; ///< in a row
  int64_t of = 0;       ///< number of values an integer may take; 0: any
};

enum class Split { Train, Val };

/// Files of one split, by field; "" for formats with all fields in the same files.
using SplitPaths = std::map<std::string, std::vector<std::string>>;

/// A part of the data: all of it, or what `val = fraction` leaves for training or holds out for validation.
struct Portion {
  enum Kind { All, Training, Validation } kind = All;
  double fraction = 0; ///< of the data, held out
  /// Holds out the end of the data; otherwise rows that the number of rows and this seed determine.
  std::optional<uint64_t> seed = std::nullopt;

  /// How many of `count` values or rows are held out.
  int64_t heldOut(int64_t count) const { return static_cast<int64_t>(static_cast<double>(count) * fraction); }
  /// The range of this part among `count` values, if the end of the data is held out.
  std::pair<int64_t, int64_t> rangeOf(int64_t count) const {
    int64_t cut = count - heldOut(count);
    if (kind == Training) return {0, cut};
    if (kind == Validation) return {cut, count};
    return {0, count};
  }
  /// Why this part of `count` rows is empty, and what to do; empty if the fraction is not the reason.
  std::string whyEmpty(int64_t count, const char *rows) const {
    if (kind == All || count == 0) return "";
    return kind == Validation
               ? fmt::format("val = {:g} holds out none of {} {}; give more data, a larger val, or validation "
                             "data of its own with --data val=PATH",
                             fraction, count, rows)
               : fmt::format("val = {:g} holds out all of {} {}; give more data or a smaller val", fraction, count,
                             rows);
  }
};

/// A csv file, and where it has the values of the requests.
struct FileColumns {
  std::string path;
  std::vector<std::string> header;        ///< empty: it has none
  std::vector<std::vector<size_t>> taken; ///< by request, the column of each element
};

/// Bytes by address, so that memory that readers share counts once.
using HeldMemory = std::map<const void *, int64_t>;

/// Bytes of all of them.
inline int64_t totalOf(const HeldMemory &held) {
  int64_t bytes = 0;
  for (const auto &[address, size] : held) bytes += size;
  return bytes;
}

class RowReader {
public:
  virtual ~RowReader() = default;
  virtual int64_t rows() const = 0;
  /// Rows of the files, with those that a fraction gives to the other split.
  virtual int64_t rowsOfFiles() const { return rows(); }
  /// Writes field `request` (an index into the requests) of row `row` to `dst`. Throws an Error that names file and
  /// byte or row if a value is out of range.
  virtual void read(int64_t row, size_t request, void *dst) const = 0;
  /// Throws an Error if a file that rows were read from since the last call has changed since it was opened. To be
  /// called after the rows of a batch are read: rows of a file that was cut short are zeros.
  virtual void checkFilesRead() const {}
  /// Adds lines about what the reader assumes of its files.
  virtual void addNotes(std::vector<std::string> &) const {}
  /// Adds the csv files, in the order of their rows.
  virtual void addColumns(std::vector<FileColumns> &) const {}
  /// Values at the ends of files that fill no row.
  virtual int64_t leftOver() const { return 0; }
  /// Adds the memory beside mapped files: parsed tables, inflated files.
  virtual void addHeld(HeldMemory &) const {}
};

/// text and tokens: windows of seq + 1 values with a stride of seq; a window never spans two files.
std::unique_ptr<RowReader> openTokenRows(const DataSpec &spec, const SplitPaths &paths, Portion portion,
                                         std::vector<FieldRequest> requests);
std::unique_ptr<RowReader> openCsvRows(const DataSpec &spec, const SplitPaths &paths, Portion portion,
                                       std::vector<FieldRequest> requests);
/// npy and idx.
std::unique_ptr<RowReader> openArrayRows(const DataSpec &spec, const SplitPaths &paths, Portion portion,
                                         std::vector<FieldRequest> requests);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_ROWREADER_H
