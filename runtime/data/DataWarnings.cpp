//===- DataWarnings.cpp - mistakes in data that make wrong figures --------===//

#include "runtime/data/DataWarnings.h"

#include "runtime/base/MappedFile.h"

#include <algorithm>

namespace tessera::runtime {

using Lines = std::vector<std::string>;

//===----------------------------------------------------------------------===//
// A batch larger than the data
//===----------------------------------------------------------------------===//

static void warnOfLargeBatch(const DataSet &set, Lines &lines) {
  for (size_t i = 0; i < set.names.size(); ++i)
    if (int64_t rows = set.readers[i]->rows(); rows < set.batch)
      lines.push_back(fmt::format("a batch has {} rows, the training data of '{}' only {}: each batch has some of them "
                                  "more than once; choose `batch` of at most {}, or give more data",
                                  set.batch, set.names[i], rows, rows));
}

//===----------------------------------------------------------------------===//
// Validation files that are training files
//===----------------------------------------------------------------------===//

static std::vector<std::pair<std::string, FileVersion>> versionsOf(const Lines &patterns) {
  std::vector<std::pair<std::string, FileVersion>> files;
  struct stat info;
  for (const std::string &path : expandPatterns(patterns))
    if (stat(path.c_str(), &info) == 0) files.emplace_back(path, FileVersion::of(info));
  return files;
}

/// A file of `some` that is also in `others`, by itself or by its content; empty if there is none.
static std::string fileInBoth(const Lines &some, const Lines &others, const char *&how) {
  static constexpr int64_t largestCompared = int64_t(256) << 20;
  auto otherFiles = versionsOf(others);
  for (const auto &[path, version] : versionsOf(some))
    for (const auto &[otherPath, otherVersion] : otherFiles) {
      bool isSame = version.isSameFile(otherVersion);
      how = isSame ? "is" : "has the content of";
      if (isSame || (version.size == otherVersion.size && haveEqualContent(path, otherPath, largestCompared)))
        return path;
    }
  return "";
}

static void warnOfSharedFiles(const DataSpec &spec, const DataFiles &files, Lines &lines) {
  const SplitPaths &train = files.paths(spec.name, Split::Train), &val = files.paths(spec.name, Split::Val);
  std::string shared;
  const char *how = "";
  // Of fields with files of their own all must be shared: labels alone may be equal.
  for (const auto &[field, patterns] : val) {
    auto found = train.find(field);
    if (found == train.end()) return;
    shared = fileInBoth(patterns, found->second, how);
    if (shared.empty()) return;
  }
  if (!shared.empty())
    lines.push_back(fmt::format("data '{}': the validation file {} {} a training file: its losses do not tell how the "
                                "model does on new data; give other data, or hold out a part: `val = 0.1`",
                                spec.name, printable(shared), how));
}

//===----------------------------------------------------------------------===//
// The tail of sorted data
//===----------------------------------------------------------------------===//

/// Whether a field of class numbers ascends or descends over the rows of a reader, or over a sample of them.
static bool isSorted(const RowReader &reader, size_t request) {
  static constexpr int64_t sample = 10'000;
  int64_t rows = reader.rows(), step = std::max<int64_t>(1, rows / sample);
  int32_t first = 0, last = 0;
  bool ascends = true, descends = true;
  for (int64_t row = 0; row < rows; row += step) {
    int32_t value = 0;
    reader.read(row, request, &value);
    if (row == 0) first = last = value;
    ascends &= value >= last;
    descends &= value <= last;
    last = value;
  }
  return first != last && (ascends || descends);
}

static void warnOfSortedTail(const DataSpec &spec, const DataFiles &files, const DataSet &set, size_t source,
                             Lines &lines) {
  Portion portion = files.portion(spec, Split::Val);
  if (portion.kind == Portion::All || portion.seed || infoOf(spec.format).isSequence()) return;
  for (const BatchInput &input : set.inputs) {
    bool isClass = input.value->type == ElementType::I32 && input.value->of > 0 && input.rowBytes == sizeof(int32_t);
    if (input.source != source || !isClass || !isSorted(*set.readers[source], input.request)) continue;
    lines.push_back(
        fmt::format("data '{}' is sorted by '{}', and its last rows are for validation: that part has other "
                    "classes than training; {}",
                    spec.name, input.value->field,
                    spec.valSeed ? "start a new run, which holds out rows from everywhere"
                                 : "leave out `val_tail`, so that rows from everywhere are held out, or "
                                   "shuffle the file"));
  }
}

//===----------------------------------------------------------------------===//
// Sources with equally many rows
//===----------------------------------------------------------------------===//

static void warnOfDifferentOrders(const Manifest &manifest, const DataFiles &files, const DataSet &set, Lines &lines) {
  for (size_t i = 0; i < set.names.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      if (set.readers[i]->rows() != set.readers[j]->rows()) continue;
      const DataSpec &a = *manifest.dataNamed(set.names[j]), &b = *manifest.dataNamed(set.names[i]);
      Portion partA = files.portion(a, Split::Train), partB = files.portion(b, Split::Train);
      const char *what = a.shuffle != b.shuffle                                 ? "`shuffle`"
                         : partA.kind != partB.kind || partA.seed != partB.seed ? "`val`, `val_seed` and `val_tail`"
                         : set.order == RowOrder::Separate && a.shuffle         ? ""
                                                                                : nullptr;
      if (!what) continue;
      std::string advice =
          *what ? fmt::format("give both the same {}", what) : "start a new run, which reads them in the same order";
      lines.push_back(
          fmt::format("data '{}' and '{}' have equally many rows and are read in different orders: row n of "
                      "one does not meet row n of the other; if they belong together, {}",
                      a.name, b.name, advice));
    }
}

std::vector<std::string> dataWarnings(const Manifest &manifest, const DataFiles &files, const DataSet &training) {
  Lines lines;
  try {
    warnOfLargeBatch(training, lines);
    for (size_t i = 0; i < training.names.size(); ++i) {
      const DataSpec &spec = *manifest.dataNamed(training.names[i]);
      warnOfSharedFiles(spec, files, lines);
      warnOfSortedTail(spec, files, training, i, lines);
    }
    warnOfDifferentOrders(manifest, files, training, lines);
  } catch (const Error &) {
    // Whoever reads the file or the row for the run reports it.
  }
  return lines;
}

std::vector<std::string> dataNotes(const DataSet *training, const DataSet *validation) {
  Lines all, once;
  for (const DataSet *set : {training, validation})
    if (set)
      for (const auto &reader : set->readers) reader->addNotes(all);
  for (std::string &line : all)
    if (std::find(once.begin(), once.end(), line) == once.end()) once.push_back(std::move(line));
  return once;
}

} // namespace tessera::runtime
