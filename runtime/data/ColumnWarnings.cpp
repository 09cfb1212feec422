//===- ColumnWarnings.cpp - columns of csv files that are hardly meant ----===//

#include "runtime/data/ColumnWarnings.h"

#include "runtime/data/SourceRecord.h"

#include <algorithm>

namespace tessera::runtime {

using Lines = std::vector<std::string>;

/// The fields that the requests of a source read.
static std::vector<const FieldSpec *> fieldsOf(const DataSpec &spec, const DataSet &set, size_t source) {
  std::vector<const FieldSpec *> fields;
  for (const BatchInput &input : set.inputs) {
    if (input.source != source) continue;
    fields.resize(std::max(fields.size(), input.request + 1));
    fields[input.request] = spec.fieldNamed(input.value->field);
  }
  return fields;
}

//===----------------------------------------------------------------------===//
// Columns that are taken twice
//===----------------------------------------------------------------------===//

/// How the model file gives the column of an element: 'name', or its number; empty if only the header tells.
static std::string asGiven(const FieldSpec &field, size_t element, size_t column) {
  auto describe = [](const ColumnSpec &given) {
    return given.name.empty() ? fmt::format("{}", given.number) : fmt::format("'{}'", given.name);
  };
  if (field.columns.size() > 1 || (field.columns.size() == 1 && element == 0))
    return element < field.columns.size() ? describe(field.columns[element]) : "";
  bool isByNumber = field.columns.empty() || field.columns[0].name.empty();
  return isByNumber ? fmt::format("{}", column) : "";
}

/// "'b' and 'c'".
static std::string joinedNames(const FileColumns &file, const std::vector<size_t> &columns) {
  static constexpr size_t most = 8;
  Lines names;
  for (size_t i = 0; i < std::min(columns.size(), most); ++i)
    names.push_back(fmt::format("'{}'", printable(file.header[columns[i]], 40)));
  std::string more = columns.size() > most ? fmt::format(" and {} more", columns.size() - most) : "";
  return fmt::format("{}{}", fmt::join(names, ", "), more);
}

/// The columns that two fields, or one field twice, take; none if the model file shows it.
static std::vector<size_t> sharedColumns(const FileColumns &file, const std::vector<const FieldSpec *> &fields,
                                         size_t a, size_t b) {
  std::map<size_t, std::string> first; // how field `a` gives a column
  std::vector<size_t> shared;
  bool isShown = false;
  auto compare = [&](size_t column, const std::string &given) {
    auto found = first.find(column);
    if (found == first.end()) return false;
    shared.push_back(column);
    isShown |= !given.empty() && found->second == given;
    return true;
  };
  for (size_t i = 0; i < file.taken[a].size(); ++i) {
    std::string given = asGiven(*fields[a], i, file.taken[a][i]);
    if (a != b || !compare(file.taken[a][i], given)) first.emplace(file.taken[a][i], given);
  }
  for (size_t i = 0; a != b && i < file.taken[b].size(); ++i)
    compare(file.taken[b][i], asGiven(*fields[b], i, file.taken[b][i]));
  return isShown ? std::vector<size_t>() : shared;
}

static void warnOfShared(const DataSpec &spec, const FileColumns &file, const std::vector<const FieldSpec *> &fields,
                         Lines &lines) {
  for (size_t b = 0; b < fields.size(); ++b)
    for (size_t a = 0; a <= b; ++a) {
      if (!fields[a] || !fields[b]) continue;
      std::vector<size_t> shared = sharedColumns(file, fields, a, b);
      if (shared.empty()) continue;
      std::string columns = joinedNames(file, shared), all = joinedNames(file, file.taken[a]);
      lines.push_back(
          a == b ? fmt::format("{}: field '{}.{}' takes {} more than once; its columns are {}", printable(file.path),
                               spec.name, fields[a]->name, columns, all)
                 : fmt::format(
                       "{}: the fields '{}' and '{}' of data '{}' share the column{} {}: if one is a label, the "
                       "model sees what it shall predict; '{}' takes {}: `column` names the first of them, "
                       "`columns = (…)` each",
                       printable(file.path), fields[a]->name, fields[b]->name, spec.name, shared.size() == 1 ? "" : "s",
                       columns, file.taken[a].size() > 1 ? fields[a]->name : fields[b]->name,
                       file.taken[a].size() > 1 ? all : joinedNames(file, file.taken[b])));
    }
}

static const FileColumns *firstWithHeader(const std::vector<FileColumns> &files) {
  auto found = std::find_if(files.begin(), files.end(), [](const FileColumns &file) { return !file.header.empty(); });
  return found == files.end() ? nullptr : &*found;
}

std::vector<std::string> sharedColumnWarnings(const Manifest &manifest, const DataSet &set) {
  Lines lines;
  for (size_t i = 0; i < set.names.size(); ++i) {
    const DataSpec &spec = *manifest.dataNamed(set.names[i]);
    std::vector<FileColumns> files;
    set.readers[i]->addColumns(files);
    if (const FileColumns *file = firstWithHeader(files)) warnOfShared(spec, *file, fieldsOf(spec, set, i), lines);
  }
  return lines;
}

//===----------------------------------------------------------------------===//
// Files with other columns
//===----------------------------------------------------------------------===//

static bool hasColumn(const FileColumns &file, const std::string &name) {
  return std::find(file.header.begin(), file.header.end(), name) != file.header.end();
}

/// The first column of a field that has another name in `other` than in `usual`, as a warning; empty if there is none.
/// Columns by number may be called otherwise in each file, as long as none of these names is elsewhere in the other.
static std::string otherColumn(const DataSpec &spec, const FieldSpec &field, size_t request, const FileColumns &usual,
                               const FileColumns &other) {
  bool isByName = !field.columns.empty() && !field.columns[0].name.empty();
  for (size_t i = 0; i < std::min(usual.taken[request].size(), other.taken[request].size()); ++i) {
    size_t column = other.taken[request][i];
    const std::string &before = usual.header[usual.taken[request][i]], &now = other.header[column];
    if (before == now || !(isByName || hasColumn(other, before) || hasColumn(usual, now))) continue;
    std::string how = isByName ? fmt::format("the columns after '{}' as they come", field.columns[0].name)
                               : "its columns by their numbers";
    return fmt::format(
        "{}: column {} is '{}', and '{}' takes its place in {}: field '{}.{}' takes {}, so the same "
        "element has two meanings; write the columns in one order, or name each: `columns = (\"{}\", …)`",
        printable(other.path), column, printable(now, 40), printable(before, 40), printable(usual.path), spec.name,
        field.name, how, printable(usual.header[usual.taken[request][0]], 40));
  }
  return "";
}

/// The first difference between a file and those after it.
static void warnOfOthers(const DataSpec &spec, const std::vector<const FieldSpec *> &fields,
                         const std::vector<FileColumns> &files, Lines &lines) {
  const FileColumns *usual = firstWithHeader(files);
  if (!usual) return;
  for (const FileColumns &other : files)
    for (size_t request = 0; !other.header.empty() && request < fields.size(); ++request)
      if (fields[request])
        if (std::string line = otherColumn(spec, *fields[request], request, *usual, other); !line.empty())
          return lines.push_back(std::move(line));
}

std::vector<std::string> otherColumnWarnings(const Manifest &manifest, const DataSet &training,
                                             const DataSet *validation) {
  Lines lines;
  for (size_t i = 0; i < training.names.size(); ++i) {
    const DataSpec &spec = *manifest.dataNamed(training.names[i]);
    std::vector<const FieldSpec *> fields = fieldsOf(spec, training, i);
    std::vector<FileColumns> files;
    training.readers[i]->addColumns(files);
    for (size_t j = 0; validation && j < validation->names.size(); ++j)
      if (validation->names[j] == spec.name && fieldsOf(spec, *validation, j) == fields)
        validation->readers[j]->addColumns(files);
    warnOfOthers(spec, fields, files, lines);
  }
  return lines;
}

std::vector<std::string> otherColumnWarnings(const Manifest &manifest, const DataSet &set, const Json &sources) {
  Lines lines;
  for (size_t i = 0; sources.is_object() && i < set.names.size(); ++i) {
    if (!sources.contains(set.names[i])) continue;
    const DataSpec &spec = *manifest.dataNamed(set.names[i]);
    std::vector<FileColumns> files = {recordedColumns(sources[set.names[i]], set, i, "the files of the checkpoint")};
    if (files[0].header.empty()) continue;
    set.readers[i]->addColumns(files);
    warnOfOthers(spec, fieldsOf(spec, set, i), files, lines);
  }
  return lines;
}

} // namespace tessera::runtime
