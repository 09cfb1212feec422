//===- CsvRows.cpp - rows of comma-separated values -----------------------===//
//
// Parsed once at the start: the requested columns are stored in their final type, so that memory stays within a small
// multiple of the file's size.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Error.h"
#include "runtime/base/MappedFile.h"
#include "runtime/base/UnsignedNan.h"
#include "runtime/data/RowReader.h"
#include "runtime/data/SharedFiles.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace tessera::runtime {

namespace {
/// Splits a file into lines and fields, one at a time.
class CsvScanner {
public:
  explicit CsvScanner(const MappedFile &file) : file(file), text(file.text()) {
    if (text.starts_with("\xef\xbb\xbf")) at = 3;
  }

  bool atEnd() const { return at >= text.size(); }
  size_t line() const { return lineNumber; }

  /// Reads the next line's fields; an empty line has none.
  void readLine(std::vector<std::pair<std::string_view, size_t>> &fields) {
    fields.clear();
    ++lineNumber;
    if (endOfLine()) return skipEnd();
    for (;;) {
      fields.push_back(readField());
      if (endOfLine()) return skipEnd();
      if (text[at] != ',') fail("{}: line {}, byte {}: expected a comma", file.path(), lineNumber, at);
      ++at;
    }
  }

private:
  bool endOfLine() const { return atEnd() || text[at] == '\n' || text.substr(at, 2) == "\r\n"; }
  void skipEnd() {
    if (!atEnd() && text[at] == '\r') ++at;
    if (!atEnd()) ++at;
  }

  std::pair<std::string_view, size_t> readField() {
    size_t begin = at;
    if (atEnd() || text[at] != '"') {
      while (!endOfLine() && text[at] != ',') ++at;
      return {text.substr(begin, at - begin), begin};
    }
    // A quoted number contains no quotes; in other quoted fields they are doubled.
    for (++at; !atEnd(); ++at) {
      if (text[at] == '\n') break;
      if (text[at] != '"') continue;
      if (text.substr(at, 2) == "\"\"")
        ++at;
      else
        return {text.substr(begin + 1, at++ - begin - 1), begin + 1};
    }
    fail("{}: line {}, byte {}: a quoted field is not closed", file.path(), lineNumber, begin);
  }

  const MappedFile &file;
  std::string_view text;
  size_t at = 0, lineNumber = 0;
};

/// The columns that a source's fields take.
struct Column {
  FieldRequest request;
  size_t first = 0; ///< column of the file
  int64_t rowBytes = 0;
  std::vector<char> values = {};
};
using Table = std::vector<Column>;
using Fields = std::vector<std::pair<std::string_view, size_t>>;

class CsvRows final : public RowReader {
public:
  CsvRows(const DataSpec &spec, const SplitPaths &paths, Portion portion, const std::vector<FieldRequest> &wanted);

  int64_t rows() const override { return end - begin; }
  void read(int64_t row, size_t request, void *dst) const override {
    const Column &column = (*table)[request];
    memcpy(dst, column.values.data() + (begin + row) * column.rowBytes, column.rowBytes);
  }
  void addHeld(HeldMemory &held) const override {
    for (const Column &column : *table) held[&column] = column.values.capacity();
  }

private:
  std::shared_ptr<const Table> table;
  int64_t begin = 0, end = 0;
};
} // namespace

static std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

static bool parseNumber(std::string_view text, double &value) {
  text = trim(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Out of range: a number too small for a double is 0, one too large is infinite (and rejected if its column is
  // read).
  if (error == std::errc::result_out_of_range)
    value = std::strtod(std::string(text).c_str(), nullptr);
  else if (error != std::errc())
    return false;
  return stop == text.data() + text.size() && !text.empty();
}

/// Appended to the message about a line that seems to use another separator.
static const char *hintAtCommas(const Fields &fields) {
  bool isOther = fields[0].first.find_first_of(";\t") != std::string_view::npos;
  return isOther ? "; columns are separated by commas" : "";
}

static void keepLine(const Fields &fields, const MappedFile &file, size_t line, Table &table) {
  for (Column &column : table) {
    const FieldRequest &request = column.request;
    if (column.first + request.elements > fields.size())
      fail("{}: line {}, byte {}: field '{}' takes columns {} to {}, the line has {}{}", file.path(), line,
           fields[0].second, request.field, column.first, column.first + request.elements - 1, fields.size(),
           hintAtCommas(fields));
    for (int64_t i = 0; i < request.elements; ++i) {
      auto [text, byte] = fields[column.first + i];
      double value;
      if (!parseNumber(text, value))
        fail("{}: line {}, byte {}: expected a number, got '{}'{}", file.path(), line, byte, text.substr(0, 40),
             hintAtCommas(fields));
      char bytes[4];
      if (request.type == ElementType::F32) {
        float number = static_cast<float>(value);
        if (!std::isfinite(number))
          fail("{}: line {}, byte {}: value {} is not a finite f32 number", file.path(), line, byte,
               text.substr(0, 40));
        memcpy(bytes, &number, 4);
      } else {
        double limit = request.of > 0 ? static_cast<double>(request.of) : 2147483648.0;
        double lowest = request.of > 0 ? 0 : -2147483648.0;
        if (value != std::floor(value) || value >= limit || value < lowest)
          fail("{}: line {}, byte {}: value {} is out of range, the model takes whole numbers from {} to {}",
               file.path(), line, byte, unsignedNan(value), static_cast<int64_t>(lowest),
               static_cast<int64_t>(limit) - 1);
        int32_t number = static_cast<int32_t>(value);
        memcpy(bytes, &number, 4);
      }
      column.values.insert(column.values.end(), bytes, bytes + 4);
    }
  }
}

static void readFile(const std::string &path, Table &table) {
  MappedFile file(path);
  refuseGzip(file, "csv");
  CsvScanner scanner(file);
  Fields fields;
  bool isFirst = true;
  size_t here = 0;
  while (!scanner.atEnd()) {
    scanner.readLine(fields);
    if (fields.empty()) continue;
    if (here == 0) here = fields.size();
    if (fields.size() != here)
      fail("{}: line {}, byte {}: expected {} columns as above, got {}{}", path, scanner.line(), fields[0].second, here,
           fields.size(), hintAtCommas(fields));
    double ignored;
    bool isHeader = isFirst;
    for (const auto &field : fields) isHeader &= !parseNumber(field.first, ignored);
    isFirst = false;
    if (!isHeader) keepLine(fields, file, scanner.line(), table);
  }
}

static Table emptyTable(const DataSpec &spec, const std::vector<FieldRequest> &wanted) {
  Table table;
  for (const FieldRequest &request : wanted) {
    const FieldSpec *field = nullptr;
    for (const FieldSpec &f : spec.fields)
      if (f.name == request.field) field = &f;
    if (!field) fail("data '{}' has no field '{}'", spec.name, request.field);
    if (request.type != ElementType::F32 && request.type != ElementType::I32)
      fail("field '{}.{}' is of type {}, expected f32 or i32", spec.name, request.field, elementTypeName(request.type));
    table.push_back({request, static_cast<size_t>(field->column), request.elements * 4});
  }
  return table;
}

CsvRows::CsvRows(const DataSpec &spec, const SplitPaths &paths, Portion portion,
                 const std::vector<FieldRequest> &wanted) {
  static SharedFiles<Table> tables;
  Table empty = emptyTable(spec, wanted);
  std::vector<std::string> files = expandPatterns(paths.at(""));
  std::string key;
  for (const std::string &path : files) key += fileKey(path);
  for (const Column &column : empty)
    key += fmt::format("{} {} {} {} {}\n", column.request.field, column.first, static_cast<int>(column.request.type),
                       column.request.elements, column.request.of);
  table = tables.get(key, [&] {
    for (const std::string &path : files) readFile(path, empty);
    return std::move(empty);
  });
  int64_t count = table->empty() ? 0 : table->front().values.size() / table->front().rowBytes;
  std::tie(begin, end) = portion.of(count);
  if (begin == end) {
    std::string why = portion.whyEmpty(count, "rows");
    fail("data '{}': no rows in {}{}{}", spec.name, fmt::join(paths.at(""), ", "), why.empty() ? "" : ": ", why);
  }
}

std::unique_ptr<RowReader> openCsvRows(const DataSpec &spec, const SplitPaths &paths, Portion portion,
                                       std::vector<FieldRequest> requests) {
  return std::make_unique<CsvRows>(spec, paths, portion, requests);
}

} // namespace tessera::runtime
