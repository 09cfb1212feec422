//===- DataSource.cpp - the data of a program -----------------------------===//

#include "runtime/data/DataSource.h"

#include "runtime/base/Error.h"
#include "runtime/base/MappedFile.h"

#include <algorithm>
#include <filesystem>

namespace tessera::runtime {

static void readSplit(const DataSpec &spec, const std::string &split, SplitPaths &paths) {
  if (infoOf(spec.format).hasFiles()) {
    auto found = spec.splits.find(split);
    if (found != spec.splits.end() && !found->second.empty()) paths[""] = found->second;
    return;
  }
  for (const FieldSpec &field : spec.fields)
    if (auto found = field.splits.find(split); found != field.splits.end() && !found->second.empty())
      paths[field.name] = found->second;
}

DataFiles::DataFiles(const std::vector<DataSpec> &specs, const std::vector<std::string> &options, Split unnamed) {
  for (const DataSpec &spec : specs) {
    readSplit(spec, "train", train[spec.name]);
    readSplit(spec, "val", val[spec.name]);
  }
  std::set<const void *> replaced; // lists of paths
  for (const std::string &option : options) apply(specs, option, unnamed, replaced);
}

/// Removes `word` from dot-separated words, and returns whether it was there.
static bool takeWord(std::vector<std::string> &words, const std::string &word) {
  auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return false;
  words.erase(found);
  return true;
}

static std::vector<std::string> splitAtDots(const std::string &text) {
  std::vector<std::string> words(1);
  for (char c : text) {
    if (c == '.')
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

std::string keyOfOption(const std::string &option) {
  size_t equals = option.find('=');
  if (equals == std::string::npos) return "";
  std::string key = option.substr(0, equals);
  auto isPlain = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; };
  return std::all_of(key.begin(), key.end(), isPlain) ? key : "";
}

/// "images, labels".
static std::string joinedNames(const std::vector<DataSpec> &specs) {
  std::vector<std::string> names;
  for (const DataSpec &spec : specs) names.push_back(spec.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void DataFiles::apply(const std::vector<DataSpec> &specs, const std::string &option, Split unnamed,
                      std::set<const void *> &replaced) {
  if (specs.empty()) failUsage("--data {}: the program reads no data", option);
  std::string key = keyOfOption(option);
  std::vector<std::string> words = key.empty() ? std::vector<std::string>() : splitAtDots(key);
  std::string path = key.empty() ? option : option.substr(key.size() + 1);
  if (path.empty()) failUsage("--data {}: expected a path", option);

  const DataSpec *spec = nullptr;
  for (const DataSpec &candidate : specs)
    if (!words.empty() && takeWord(words, candidate.name)) spec = &candidate;
  bool isVal = takeWord(words, "val"), isTrain = !isVal && takeWord(words, "train");
  if (isTrain && unnamed == Split::Val)
    failUsage("--data {}: no training data is read here; write --data val=PATH", option);
  if (!spec && specs.size() > 1)
    failUsage("--data {}: the program reads several sources ({}); write --data NAME=PATH", option, joinedNames(specs));
  if (!spec) spec = &specs[0];

  std::string field;
  std::vector<std::string> fields;
  for (const FieldSpec &candidate : spec->fields) {
    fields.push_back(candidate.name);
    if (!infoOf(spec->format).hasFiles() && takeWord(words, candidate.name)) field = candidate.name;
  }
  if (!words.empty())
    failUsage("--data {}: '{}' is neither a data source, a field nor a split of this program; its sources: {}{}",
              option, words[0], joinedNames(specs),
              infoOf(spec->format).hasFiles()
                  ? ""
                  : fmt::format("; fields of {} with files: {}", spec->name, fmt::join(fields, ", ")));
  if (!infoOf(spec->format).hasFiles() && field.empty()) {
    if (fields.size() != 1)
      failUsage("--data {}: each field has its own file; write --data FIELD=PATH for {}", option,
                fmt::join(fields, ", "));
    field = fields[0];
  }
  bool isForVal = isVal || (!isTrain && unnamed == Split::Val);
  std::vector<std::string> &paths = (isForVal ? val : train)[spec->name][field];
  if (!replaced.insert(&paths).second)
    failUsage("--data {}: {} already names these files; name several files by one pattern: --data '{}{{{},{}}}'",
              option, paths[0], key.empty() ? "" : key + "=", paths[0], path);
  paths = {path};
  named.emplace_back(option, path);
}

const SplitPaths &DataFiles::paths(const std::string &source, Split split) const {
  return (split == Split::Train ? train : val).at(source);
}

std::vector<int64_t> DataFiles::trainingSizes(const std::string &source) const {
  std::vector<int64_t> sizes;
  for (const auto &[field, patterns] : paths(source, Split::Train))
    for (const std::string &path : expandPatterns(patterns))
      sizes.push_back(static_cast<int64_t>(std::filesystem::file_size(path)));
  return sizes;
}

/// Expands patterns; empty if one of them matches nothing.
static std::vector<std::string> filesOf(const std::vector<std::string> &patterns) {
  try {
    return expandPatterns(patterns);
  } catch (const Error &) {
    return {};
  }
}

std::vector<std::string> DataFiles::allPaths() const {
  std::vector<std::string> all;
  for (const auto *split : {&train, &val})
    for (const auto &[source, fields] : *split)
      for (const auto &[field, patterns] : fields)
        for (std::string &path : filesOf(patterns)) all.push_back(std::move(path));
  return all;
}

void DataFiles::checkNamed() const {
  for (const auto &[option, path] : named)
    if (filesOf({path}).empty()) fail("--data {}: there is no such file", option);
}

bool DataFiles::areThere() const {
  for (const auto *split : {&train, &val})
    for (const auto &[source, fields] : *split)
      for (const auto &[field, patterns] : fields)
        if (filesOf(patterns).empty()) return false;
  return true;
}

std::string DataFiles::describe() const {
  std::string text;
  for (const auto *split : {&train, &val})
    for (const auto &[source, fields] : *split)
      for (const auto &[field, paths] : fields)
        text += fmt::format("{}{}{}{}{}={}", text.empty() ? "" : " ", source, split == &val ? ".val" : "",
                            field.empty() ? "" : ".", field, fmt::join(paths, ","));
  return text;
}

/// Text and tokens are cut into rows after the end is held out.
static bool canChooseRows(const DataSpec &spec) { return !infoOf(spec.format).isSequence(); }

Portion DataFiles::portion(const DataSpec &spec, Split split) const {
  if (!paths(spec.name, Split::Val).empty() || spec.valFraction <= 0) return {};
  Portion part{split == Split::Val ? Portion::Validation : Portion::Training, spec.valFraction};
  if (order != RowOrder::Separate && canChooseRows(spec)) part.seed = spec.valSeed;
  return part;
}

std::string DataFiles::describeHeldOut(const DataSpec &spec) const {
  Portion part = portion(spec, Split::Val);
  if (part.kind == Portion::All) return "";
  return fmt::format("{:g}, {}", part.fraction, part.seed ? fmt::format("seed {}", *part.seed) : "tail");
}

void DataFiles::takeRowOrder(int recorded, const std::string &path) {
  if (recorded != static_cast<int>(RowOrder::Separate) && recorded != static_cast<int>(RowOrder::Joint))
    fail("{} has its rows in the order {}, which this program does not know: it is of a newer version", path, recorded);
  order = static_cast<RowOrder>(recorded);
}

static std::unique_ptr<RowReader> openRows(const DataSpec &spec, const DataFiles &files, Split split,
                                           std::vector<FieldRequest> requests) {
  Portion portion = files.portion(spec, split);
  const SplitPaths *paths = &files.paths(spec.name, portion.kind == Portion::All ? split : Split::Train);
  if (paths->empty())
    fail("data '{}' has no {} files; name them with --data {}PATH", spec.name,
         split == Split::Val ? "validation" : "training", split == Split::Val ? "val=" : "");
  switch (spec.format) {
  case DataFormat::Text:
  case DataFormat::Tokens:
    return openTokenRows(spec, *paths, portion, std::move(requests));
  case DataFormat::Csv:
    return openCsvRows(spec, *paths, portion, std::move(requests));
  case DataFormat::Npy:
  case DataFormat::Idx:
    return openArrayRows(spec, *paths, portion, std::move(requests));
  }
  fail("data '{}': unknown format", spec.name);
}

/// Rows are copied as they are stored in the files: the batch axis must be outermost, the others in the order of the
/// field.
static void checkOrder(const DataSpec &spec, const ValueSpec &value) {
  std::vector<AxisSpec> axes = wholeAxes(value);
  if (axes.empty() || (!spec.batchAxis.empty() && axes[0].name != spec.batchAxis))
    fail("manifest: the outermost axis of data input '{}' is not the batch axis '{}'", value.name, spec.batchAxis);
  for (const FieldSpec &field : spec.fields)
    if (field.name == value.field && !field.axes.empty() &&
        !std::equal(field.axes.begin(), field.axes.end(), axes.begin() + 1, axes.end()))
      fail("manifest: data input '{}' is {}, its field is {}", value.name, formatAxes(axes), formatAxes(field.axes));
}

DataSet openDataSet(const Manifest &manifest, const EntryFunction &entry, const DataFiles &files, Split split,
                    const RankPositions &positions) {
  DataSet set;
  set.order = files.rowOrder();
  std::vector<std::vector<FieldRequest>> requests;
  for (const ValueSpec &value : entry.inputs) {
    if (value.role != "data") continue;
    if (!manifest.dataNamed(value.data))
      fail("manifest: input '{}' reads the unknown source '{}'", value.name, value.data);
    checkOrder(*manifest.dataNamed(value.data), value);
    AxisWindow rows = windowOf(value, 0, positions);
    if (set.batch != 0 && set.batch != rows.whole)
      fail("manifest: the data inputs of '{}' differ in their batch", entry.name);
    set.batch = rows.whole;
    RowWindow window(value, positions);
    size_t source = std::find(set.names.begin(), set.names.end(), value.data) - set.names.begin();
    if (source == set.names.size()) set.names.push_back(value.data), requests.emplace_back();
    size_t request = requests[source].size();
    requests[source].push_back({value.field, value.type, window.wholeElements(), value.of});
    set.inputs.push_back({&value, source, request, value.bytes / rows.size, rows, std::move(window)});
  }
  for (size_t i = 0; i < set.names.size(); ++i) {
    const DataSpec &spec = *manifest.dataNamed(set.names[i]);
    set.shuffle.push_back(spec.shuffle);
    set.readers.push_back(openRows(spec, files, split, requests[i]));
  }
  return set;
}

void DataSet::readRow(const BatchInput &input, int64_t row, char *target) const {
  const RowReader &reader = *readers[input.source];
  if (input.window.isWhole()) return reader.read(row, input.request, target);
  reader.read(row, input.request, input.window.row());
  input.window.copyTo(target);
}

void DataSet::addHeld(HeldMemory &held) const {
  for (const auto &reader : readers) reader->addHeld(held);
}

void DataSet::checkFilesRead() const {
  for (const auto &reader : readers) reader->checkFilesRead();
}

ValidationSources validationSources(const Manifest &manifest, const EntryFunction &entry, const DataFiles &files) {
  ValidationSources sources;
  for (const ValueSpec &value : entry.inputs) {
    const DataSpec *spec = value.role == "data" ? manifest.dataNamed(value.data) : nullptr;
    if (!spec) continue;
    bool has = spec->valFraction > 0 || !files.paths(spec->name, Split::Val).empty();
    std::vector<std::string> &list = has ? sources.with : sources.without;
    if (std::find(list.begin(), list.end(), spec->name) == list.end()) list.push_back(spec->name);
  }
  return sources;
}

bool hasValidation(const Manifest &manifest, const EntryFunction &entry, const DataFiles &files) {
  return validationSources(manifest, entry, files).without.empty();
}

} // namespace tessera::runtime
