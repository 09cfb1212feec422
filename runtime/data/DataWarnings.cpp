//===- DataWarnings.cpp - mistakes in data that make wrong figures --------===//

#include "runtime/data/DataWarnings.h"

#include "runtime/base/MappedFile.h"
#include "runtime/data/ColumnWarnings.h"

#include <algorithm>
#include <array>
#include <set>

namespace tessera::runtime {

using Lines = std::vector<std::string>;

//===----------------------------------------------------------------------===//
// A batch larger than the data
//===----------------------------------------------------------------------===//

Lines largeBatchWarnings(const DataSet &training) {
  Lines lines;
  for (size_t i = 0; i < training.names.size(); ++i)
    if (int64_t rows = training.readers[i]->rows(); rows < training.batch)
      lines.push_back(fmt::format("a batch has {} rows, the training data of '{}' only {}: each batch has some of them "
                                  "more than once; choose `batch` of at most {}, or give more data",
                                  training.batch, training.names[i], rows, rows));
  return lines;
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

/// A file that is given twice: the first one that is in the list before, by itself or by its content.
static std::string repeatedFile(const Lines &patterns, const char *&how) {
  static constexpr size_t mostCompared = 32; // by content
  static constexpr int64_t largestCompared = int64_t(256) << 20;
  auto files = versionsOf(patterns);
  std::set<std::pair<uint64_t, uint64_t>> known;
  for (size_t i = 0; i < files.size(); ++i) {
    const auto &[path, version] = files[i];
    how = "more than once";
    if (!known.emplace(version.device, version.inode).second) return path;
    how = "with the content of another one";
    for (size_t j = 0; files.size() <= mostCompared && j < i; ++j)
      if (version.size == files[j].second.size && haveEqualContent(path, files[j].first, largestCompared)) return path;
  }
  return "";
}

static void warnOfRepeatedFiles(const DataSpec &spec, const DataFiles &files, Lines &lines) {
  bool isHeldOut = files.portion(spec, Split::Train).kind != Portion::All;
  const char *how = "";
  std::string repeated;
  // Of fields with files of their own all must be repeated: labels alone may be equal.
  for (const auto &[field, patterns] : files.paths(spec.name, Split::Train))
    if (repeated = repeatedFile(patterns, how); repeated.empty()) return;
  if (!repeated.empty())
    lines.push_back(fmt::format("data '{}': {} is among the training files {}: each of its rows counts twice{}",
                                spec.name, printable(repeated), how,
                                isHeldOut ? ", and rows that are held out for validation are trained on" : ""));
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
    bool isClass = input.value->type == ElementType::I32 && input.value->of > 0 && input.window.wholeElements() == 1;
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
// Sources whose rows are not paired
//===----------------------------------------------------------------------===//

namespace {
/// A source of a step, and its part of one split.
struct SourcePart {
  const DataSpec &spec;
  Portion portion;
  int64_t rows = 0, ofFiles = 0;

  /// Whether the same rows are held out, if the files have equally many.
  bool isHeldOutAsIn(const SourcePart &other) const {
    return portion.kind == other.portion.kind && portion.fraction == other.portion.fraction &&
           portion.seed == other.portion.seed;
  }
  /// Whether row n of both is the same row of their files.
  bool hasRowsOf(const SourcePart &other) const {
    bool isChoice = portion.kind != Portion::All && portion.seed;
    return rows == other.rows && isHeldOutAsIn(other) && (!isChoice || ofFiles == other.ofFiles);
  }
  /// "'d' has 480 of 600 rows (`val = 0.2`)".
  std::string describe() const {
    if (portion.kind == Portion::All) return fmt::format("'{}' has {} rows", spec.name, rows);
    return fmt::format("'{}' has {} of {} rows (`val = {:g}`)", spec.name, rows, ofFiles, portion.fraction);
  }
};
} // namespace

static constexpr const char *heldOutArguments = "`val`, `val_seed` and `val_tail`";

/// Two sources of which the files have equally many rows: that they are read in different orders. Empty if they are
/// not.
static std::string warningOfOrder(const SourcePart &a, const SourcePart &b, RowOrder order) {
  const char *what = a.spec.shuffle != b.spec.shuffle                ? "`shuffle`"
                     : !a.hasRowsOf(b)                               ? heldOutArguments
                     : order == RowOrder::Separate && a.spec.shuffle ? ""
                                                                     : nullptr;
  if (!what) return "";
  std::string advice =
      *what ? fmt::format("give both the same {}", what) : "start a new run, which reads them in the same order";
  return fmt::format("data '{}' and '{}' have equally many rows and are read in different orders: row n of one does "
                     "not meet row n of the other; if they belong together, {}",
                     a.spec.name, b.spec.name, advice);
}

/// Two sources that have other rows. Empty if they are hardly meant to be paired: sequences beside rows, and sizes that
/// are far apart, unless only one of them holds rows out.
static std::string warningOfSizes(const SourcePart &a, const SourcePart &b, Split split) {
  if (infoOf(a.spec.format).isSequence() || infoOf(b.spec.format).isSequence()) return "";
  bool isFarApart = std::max(a.rows, b.rows) >= 2 * std::min(a.rows, b.rows);
  if (isFarApart && (a.portion.kind == Portion::All) == (b.portion.kind == Portion::All)) return "";
  // A pass over validation data is in the order of the files.
  bool isPass = split == Split::Val && a.isHeldOutAsIn(b) && !a.portion.seed;
  std::string same = a.isHeldOutAsIn(b) ? "the same rows" : fmt::format("the same {}", heldOutArguments);
  return fmt::format(
      "of the data for {}, {}, and {}: {}; if they belong together, put them into one file, or give "
      "both {}",
      split == Split::Val ? "validation" : "training", a.describe(), b.describe(),
      isPass ? "the rows after the shorter one are left out" : "row n of one does not meet row n of the other", same);
}

/// One warning for each source that does not fit to one before it.
static void warnOfUnpairedRows(const Manifest &manifest, const DataFiles &files, const DataSet &set, Split split,
                               Lines &lines) {
  auto partOf = [&](size_t i) {
    const DataSpec &spec = *manifest.dataNamed(set.names[i]);
    return SourcePart{spec, files.portion(spec, split), set.readers[i]->rows(), set.readers[i]->rowsOfFiles()};
  };
  for (size_t i = 0; i < set.names.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      SourcePart a = partOf(j), b = partOf(i);
      std::string line;
      if (a.rows == b.rows && (a.ofFiles == b.ofFiles || a.hasRowsOf(b)))
        line = split == Split::Train ? warningOfOrder(a, b, set.order) : "";
      else
        line = warningOfSizes(a, b, split);
      if (line.empty()) continue;
      lines.push_back(std::move(line));
      break;
    }
}

std::vector<std::string> dataWarnings(const Manifest &manifest, const DataFiles &files, const DataSet &training,
                                      const DataSet *validation) {
  Lines lines;
  try {
    lines = largeBatchWarnings(training);
    for (size_t i = 0; i < training.names.size(); ++i) {
      const DataSpec &spec = *manifest.dataNamed(training.names[i]);
      warnOfSharedFiles(spec, files, lines);
      warnOfRepeatedFiles(spec, files, lines);
      warnOfSortedTail(spec, files, training, i, lines);
    }
    for (Lines &found :
         std::array{sharedColumnWarnings(manifest, training), otherColumnWarnings(manifest, training, validation)})
      lines.insert(lines.end(), found.begin(), found.end());
    size_t before = lines.size();
    warnOfUnpairedRows(manifest, files, training, Split::Train, lines);
    if (validation && lines.size() == before) warnOfUnpairedRows(manifest, files, *validation, Split::Val, lines);
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
