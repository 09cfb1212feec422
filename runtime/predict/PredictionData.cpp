//===- PredictionData.cpp - rows to predict ----------------------------------===//
//
// The readers of training read the rows: as validation data of which all rows are taken, in order.
//
//===----------------------------------------------------------------------===//

#include "runtime/predict/PredictionData.h"

#include "runtime/base/MappedFile.h"
#include "runtime/data/BatchLoader.h"
#include "runtime/data/CsvScanner.h"

#include <algorithm>
#include <cstring>

namespace tessera::runtime {

//===----------------------------------------------------------------------===//
// What is read
//===----------------------------------------------------------------------===//

/// The sources that the results are computed from. All else that their descriptions say of files is about training.
void PredictionData::addSources(const Manifest &manifest, const std::vector<const ValueSpec *> &results) {
  const EntryFunction &entry = manifest.entry("predict");
  wanted.name = entry.name;
  for (const ValueSpec &value : entry.inputs) {
    if (value.role != "data") continue;
    bool isRead = std::any_of(results.begin(), results.end(), [&](const ValueSpec *result) {
      return result->reads.empty() ||
             std::find(result->reads.begin(), result->reads.end(), value.name) != result->reads.end();
    });
    (isRead ? wanted.inputs : unread).push_back(value);
  }
  inputs = wanted.inputs.size();
  for (const DataSpec &spec : manifest.data) {
    bool isRead = std::any_of(wanted.inputs.begin(), wanted.inputs.end(),
                              [&](const ValueSpec &value) { return value.data == spec.name; });
    if (!isRead) continue;
    DataSpec &own = described.data.emplace_back(spec);
    own.splits.clear();
    own.valFraction = 0;
    own.readsNext = false; // rows fill the files, unless a value after the row is an input or copied
    for (FieldSpec &field : own.fields) field.splits.clear();
  }
}

/// The fields of a source, as the model file may name them.
static std::vector<FieldSpec> fieldsOf(const DataSpec &spec, const EntryFunction &entry) {
  if (!infoOf(spec.format).isSequence()) return spec.fields;
  std::vector<FieldSpec> fields(2);
  fields[0].name = tokensField, fields[1].name = nextField;
  std::vector<AxisSpec> axes;
  for (const ValueSpec &value : entry.inputs)
    if (value.data == spec.name) axes = wholeAxes(value), axes.erase(axes.begin());
  for (FieldSpec &field : fields) field.type = ElementType::I32, field.axes = axes;
  return fields;
}

namespace {
/// A field of a source.
struct NamedField {
  const DataSpec *source;
  FieldSpec field;
  std::string name() const { return source->name + "." + field.name; }
};
} // namespace

/// The field that `name` names, as FIELD or SOURCE.FIELD. Throws an Error if there is none, or more than one.
static NamedField findField(const std::vector<DataSpec> &specs, const EntryFunction &entry, const std::string &name) {
  std::vector<NamedField> found;
  std::vector<std::string> names, known;
  for (const DataSpec &spec : specs)
    for (const FieldSpec &field : fieldsOf(spec, entry)) {
      NamedField one{&spec, field};
      known.push_back(specs.size() > 1 ? one.name() : field.name);
      if (name != field.name && name != one.name()) continue;
      found.push_back(one);
      names.push_back(one.name());
    }
  if (found.empty()) failUsage("the data has no field '{}'; its fields are {}", name, fmt::join(known, ", "));
  if (found.size() > 1)
    failUsage("--echo {}: {} sources have this field; write {}", name, found.size(), fmt::join(names, " or "));
  return found.front();
}

void PredictionData::addCopied(const CopiedField &copied) {
  std::vector<AxisSpec> rows = wholeAxes(wanted.inputs.front()); // for their batch
  NamedField found = findField(described.data, wanted, copied.name);
  ValueSpec value;
  value.name = found.name();
  value.role = "data", value.data = found.source->name, value.field = found.field.name;
  value.type = found.field.type;
  value.of = copied.of;
  value.axes = {rows.front()};
  value.axes.insert(value.axes.end(), found.field.axes.begin(), found.field.axes.end());
  value.bytes = bytesOf(value.type);
  for (const AxisSpec &axis : value.axes) value.bytes *= axis.size;
  copies.emplace_back(value.bytes);
  wanted.inputs.push_back(std::move(value));
}

/// With one field to be read, `--data PATH` needs no name although training reads several files.
static std::vector<DataSpec> narrowed(std::vector<DataSpec> specs, const EntryFunction &wanted,
                                      const std::vector<std::string> &options) {
  bool isNamed = std::none_of(options.begin(), options.end(),
                              [](const std::string &option) { return keyOfOption(option).empty(); });
  for (DataSpec &spec : specs)
    if (!isNamed && !infoOf(spec.format).hasFiles())
      std::erase_if(spec.fields, [&](const FieldSpec &field) {
        return std::none_of(wanted.inputs.begin(), wanted.inputs.end(), [&](const ValueSpec &value) {
          return value.data == spec.name && value.field == field.name;
        });
      });
  return specs;
}

void PredictionData::requireFiles() const {
  for (const ValueSpec &value : wanted.inputs) {
    const DataSpec &spec = *described.dataNamed(value.data);
    const SplitPaths &paths = files.paths(spec.name, Split::Val);
    std::string field = infoOf(spec.format).hasFiles() ? "" : value.field;
    if (paths.count(field)) continue;
    std::string key = described.data.size() > 1 ? spec.name + (field.empty() ? "" : "." + field) : field;
    failUsage("'predict' reads {}{}; name its file with --data {}{}PATH", field.empty() ? "the data " : "the field ",
              field.empty() ? spec.name : value.name, key, key.empty() ? "" : "=");
  }
}

//===----------------------------------------------------------------------===//
// CSV
//===----------------------------------------------------------------------===//

/// The number of columns of the first line that is not empty; 0 if there is none.
static size_t countColumns(const std::string &path) {
  MappedFile file(path);
  refuseGzip(file, infoOf(DataFormat::Csv).name);
  CsvScanner scanner(file);
  std::vector<CsvCell> cells;
  while (cells.empty() && !scanner.atEnd()) scanner.readLine(cells);
  return cells.size();
}

/// Whether files have `count` columns each. Throws an Error if some do and some do not: they would be read differently.
static bool haveColumns(const std::vector<std::string> &files, size_t count) {
  std::string first;
  size_t ofFirst = 0;
  for (const std::string &path : files) {
    size_t columns = countColumns(path);
    if (columns == 0) continue; // there are no rows in it
    if (first.empty()) first = path, ofFirst = columns;
    if ((columns == count) != (ofFirst == count))
      fail("{} has {} columns, {} has {}: 'predict' reads {} columns, which are all of one file, and in the other are "
           "counted as in the training files; give both the same columns, or predict each by itself",
           first, ofFirst, path, columns, count);
  }
  return ofFirst == count;
}

/// The columns that a field takes, one for each element; empty if the header says where they are.
static std::vector<int64_t> columnsOf(const FieldSpec &field) {
  std::vector<int64_t> columns;
  for (const ColumnSpec &column : field.columns) {
    if (!column.name.empty()) return {};
    columns.push_back(column.number);
  }
  int64_t count = 1, first = columns.empty() ? field.column : columns[0];
  for (const AxisSpec &axis : field.axes) count *= axis.size;
  while (static_cast<int64_t>(columns.size()) < count) columns.push_back(first + static_cast<int64_t>(columns.size()));
  return columns;
}

/// Files with exactly as many columns as the fields take hold just these, in the order of the training files: the
/// columns of labels are left out. In any other files columns count as in the training files.
static void leaveOutColumns(DataSpec &spec, const EntryFunction &wanted, const SplitPaths &paths) {
  std::vector<FieldSpec *> fields;
  for (const ValueSpec &value : wanted.inputs)
    for (FieldSpec &field : spec.fields)
      if (value.data == spec.name && value.field == field.name) fields.push_back(&field);
  std::set<int64_t> taken;
  for (const FieldSpec *field : fields) {
    std::vector<int64_t> columns = columnsOf(*field);
    if (columns.empty()) return;
    taken.insert(columns.begin(), columns.end());
  }
  if (*taken.rbegin() + 1 == static_cast<int64_t>(taken.size())) return; // the first ones, in either kind of file
  if (!haveColumns(expandPatterns(paths.at("")), taken.size())) return;
  for (FieldSpec &field : spec.fields) {
    if (std::find(fields.begin(), fields.end(), &field) == fields.end()) continue;
    std::vector<ColumnSpec> columns;
    for (int64_t column : columnsOf(field)) columns.push_back({"", std::distance(taken.begin(), taken.find(column))});
    field.columns = std::move(columns);
  }
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

PredictionData::PredictionData(const Manifest &manifest, const std::vector<const ValueSpec *> &results,
                               const std::vector<std::string> &options, const std::vector<CopiedField> &copied,
                               const RankPositions &positions)
    : files({}, {}) {
  addSources(manifest, results);
  if (wanted.inputs.empty()) fail("manifest: 'predict' reads no data");
  for (const CopiedField &field : copied) addCopied(field);
  files = DataFiles(narrowed(described.data, wanted, options), options, Split::Val);
  requireFiles();
  for (DataSpec &spec : described.data)
    if (spec.format == DataFormat::Csv) leaveOutColumns(spec, wanted, files.paths(spec.name, Split::Val));
  set = openDataSet(described, wanted, files, Split::Val, positions);
  checkRows();
}

/// An evaluation ends with the shortest source; a prediction must not leave out rows.
void PredictionData::checkRows() const {
  for (size_t i = 1; i < set.readers.size(); ++i)
    if (set.readers[i]->rows() != set.readers[0]->rows())
      fail("data '{}' has {} rows, data '{}' has {}; each row of one belongs to a row of the other", set.names[0],
           set.readers[0]->rows(), set.names[i], set.readers[i]->rows());
}

int64_t PredictionData::leftOver() const {
  int64_t values = 0;
  for (const auto &reader : set.readers) values += reader->leftOver();
  return values;
}

int64_t PredictionData::fill(int64_t batch, const LoadedProgram &program) {
  std::vector<char *> targets;
  for (size_t i = 0; i < wanted.inputs.size(); ++i)
    targets.push_back(i < inputs ? program.at(wanted.inputs[i].offset) : copies[i - inputs].data());
  int64_t real = 0;
  withMappedFiles([&] { real = fillOrderedBatch(set, batch, targets.data()); });
  // Other outputs are computed from these. Their memory holds temporaries between batches.
  for (const ValueSpec &value : unread) memset(program.at(value.offset), 0, value.bytes);
  return real;
}

} // namespace tessera::runtime
