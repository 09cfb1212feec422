//===- CsvRows.cpp - rows of comma-separated values -----------------------===//
//
// Parsed once at the start: the columns that fields take are stored in their final type, so that memory stays within a
// small multiple of the file's size.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Error.h"
#include "runtime/base/MappedFile.h"
#include "runtime/base/UnsignedNan.h"
#include "runtime/data/CsvScanner.h"
#include "runtime/data/RowChoice.h"
#include "runtime/data/SharedFiles.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tessera::runtime {

namespace {
/// A field: its description, and the values of all rows.
struct CsvField {
  FieldRequest request;
  FieldSpec spec;
  std::string name;                                   ///< "d.x"
  std::map<std::string, double, std::less<>> classes; ///< by word
  std::vector<size_t> columns;                        ///< of the file being read, one for each element
  std::vector<char> values = {};

  int64_t rowBytes() const { return request.elements * 4; }
  bool hasNamedColumns() const {
    return std::any_of(spec.columns.begin(), spec.columns.end(), [](auto &column) { return !column.name.empty(); });
  }
};

struct CsvTable {
  std::vector<CsvField> fields;
  std::vector<FileColumns> files = {};
};

/// Reads one file into a table.
class CsvFile {
public:
  explicit CsvFile(const std::string &path) : file(path), scanner(file) { refuseGzip(file, "csv"); }
  void readInto(CsvTable &table);

private:
  void beginWith(CsvTable &table);
  bool isHeader(const CsvTable &table) const;
  size_t columnNamed(const CsvField &field, const std::string &name) const;
  void findColumns(CsvField &field) const;
  void keepCell(CsvField &field, size_t column) const;
  double valueOf(const CsvField &field, size_t column) const;
  [[noreturn]] void refuseClass(const CsvField &field, size_t column) const;
  std::string lineAt(size_t column) const;
  std::string placeOf(const CsvField &field, size_t column) const;
  const char *hintAtCommas() const;

  MappedFile file;
  CsvScanner scanner;
  std::vector<std::string> header; ///< empty: there is none
  std::vector<CsvCell> cells;      ///< of the line
};

class CsvRows final : public RowReader {
public:
  CsvRows(const DataSpec &spec, const SplitPaths &paths, const Portion &portion,
          const std::vector<FieldRequest> &wanted);

  int64_t rows() const override { return choice.rows(); }
  int64_t rowsOfFiles() const override { return choice.rowsOfFiles(); }
  void read(int64_t row, size_t request, void *dst) const override {
    const CsvField &field = table->fields[request];
    memcpy(dst, field.values.data() + choice(row) * field.rowBytes(), field.rowBytes());
  }
  void addHeld(HeldMemory &held) const override {
    for (const CsvField &field : table->fields) held[&field] = static_cast<int64_t>(field.values.size());
  }
  void addColumns(std::vector<FileColumns> &files) const override {
    files.insert(files.end(), table->files.begin(), table->files.end());
  }

private:
  std::shared_ptr<const CsvTable> table;
  RowChoice choice;
};
} // namespace

//===----------------------------------------------------------------------===//
// Places, for messages
//===----------------------------------------------------------------------===//

/// "a.csv: line 3, byte 17".
std::string CsvFile::lineAt(size_t column) const {
  return fmt::format("{}: line {}, byte {}", file.path(), scanner.line(), cells[column].byte);
}

/// "a.csv: line 3, column 2 ('age'), byte 17: field 'd.x'". Columns are counted from 0, as in the model file.
std::string CsvFile::placeOf(const CsvField &field, size_t column) const {
  std::string name = column < header.size() ? fmt::format(" ('{}')", printable(header[column], 40)) : "";
  return fmt::format("{}: line {}, column {}{}, byte {}: field '{}'", file.path(), scanner.line(), column, name,
                     cells[column].byte, field.name);
}

/// Appended to the message about a line that seems to use another separator.
const char *CsvFile::hintAtCommas() const {
  bool isOther = cells[0].text.find_first_of(";\t") != std::string_view::npos;
  return isOther ? "; columns are separated by commas" : "";
}

static std::string joinedNames(const std::vector<std::string> &names) {
  static constexpr size_t most = 12;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), most); ++i)
    text += fmt::format("{}'{}'", i > 0 ? ", " : "", printable(names[i], 40));
  return names.size() > most ? text + fmt::format(" and {} more", names.size() - most) : text;
}

//===----------------------------------------------------------------------===//
// Header and columns
//===----------------------------------------------------------------------===//

/// The first line is the header if a field names its columns; else if none of its cells is a number or a class.
bool CsvFile::isHeader(const CsvTable &table) const {
  bool hasText = false;
  for (const CsvField &field : table.fields)
    if (field.hasNamedColumns()) return true;
  for (const CsvCell &cell : cells) {
    double ignored;
    if (parseNumber(cell.text, ignored)) return false;
    hasText |= !isMissingCell(cell.text);
  }
  for (const CsvField &field : table.fields)
    for (size_t column : field.columns)
      if (column < cells.size() && field.classes.count(cells[column].content())) return false;
  return hasText;
}

size_t CsvFile::columnNamed(const CsvField &field, const std::string &name) const {
  auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end())
    fail("{}: line {}: field '{}' takes the column '{}', which the header does not have; its columns are {}{}",
         file.path(), scanner.line(), field.name, name, joinedNames(header), hintAtCommas());
  if (std::find(found + 1, header.end(), name) != header.end())
    fail("{}: line {}: field '{}' takes the column '{}', and two columns have this name; give its number, counted from "
         "0",
         file.path(), scanner.line(), field.name, name);
  return found - header.begin();
}

/// Sets the columns of a field. Those by name are known when the header was read.
void CsvFile::findColumns(CsvField &field) const {
  field.columns.clear();
  const std::vector<ColumnSpec> &given = field.spec.columns;
  auto columnOf = [&](const ColumnSpec &column) {
    return column.name.empty() ? static_cast<size_t>(column.number) : columnNamed(field, column.name);
  };
  if (given.size() > 1)
    for (const ColumnSpec &column : given) field.columns.push_back(columnOf(column));
  size_t first = given.empty() ? static_cast<size_t>(field.spec.column) : columnOf(given[0]);
  while (field.columns.size() < static_cast<size_t>(field.request.elements))
    field.columns.push_back(first + field.columns.size());
}

/// Uses the first line: for the header, and the columns of each field.
void CsvFile::beginWith(CsvTable &table) {
  for (CsvField &field : table.fields)
    if (!field.hasNamedColumns()) findColumns(field);
  if (isHeader(table))
    for (const CsvCell &cell : cells) header.push_back(cell.content());
  FileColumns &columns = table.files.emplace_back(file.path(), header);
  for (CsvField &field : table.fields) {
    if (field.hasNamedColumns()) findColumns(field);
    size_t last = *std::max_element(field.columns.begin(), field.columns.end());
    if (last >= cells.size())
      fail("{}: field '{}' takes {}, the line has {}; columns are counted from 0{}", lineAt(0), field.name,
           field.columns.size() == 1 ? fmt::format("column {}", last)
                                     : fmt::format("columns {} to {}", field.columns[0], last),
           cells.size(), hintAtCommas());
    columns.taken.push_back(field.columns);
  }
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

void CsvFile::refuseClass(const CsvField &field, size_t column) const {
  std::string names = joinedNames(field.spec.classes);
  if (isMissingCell(cells[column].text))
    fail("{}: the cell '{}' has no value; fill it in, or name the class of such cells: `missing = \"{}\"`",
         placeOf(field, column), cells[column].content(), field.spec.classes[0]);
  fail("{}: expected one of the classes {}, got '{}'", placeOf(field, column), names,
       printable(cells[column].content(), 40));
}

/// The value of a cell before it is checked.
double CsvFile::valueOf(const CsvField &field, size_t column) const {
  const CsvCell &cell = cells[column];
  if (!field.classes.empty())
    if (auto found = field.classes.find(cell.content()); found != field.classes.end()) return found->second;
  double value;
  bool isNumber = field.classes.empty() && parseNumber(cell.text, value);
  if (isNumber && std::isfinite(value)) return value;
  bool isMissing = isMissingCell(cell.text);
  if (isMissing && field.spec.missing) return *field.spec.missing;
  if (!field.classes.empty()) refuseClass(field, column);
  if (isMissing)
    fail("{}: the cell '{}' has no value; fill it in, or say what such cells are: `missing = 0`",
         placeOf(field, column), cell.text);
  if (!isNumber)
    fail("{}: expected a number, got '{}'{}{}", placeOf(field, column), printable(cell.text, 40),
         field.request.type == ElementType::I32 ? "; if words are classes, name all: `classes = (\"…\", …)`" : "",
         hintAtCommas());
  return value;
}

void CsvFile::keepCell(CsvField &field, size_t column) const {
  const FieldRequest &request = field.request;
  double value = valueOf(field, column);
  char bytes[4];
  if (request.type == ElementType::F32) {
    auto number = static_cast<float>(value);
    if (!std::isfinite(number))
      fail("{}: value {} is not a finite f32 number", placeOf(field, column), printable(cells[column].text, 40));
    memcpy(bytes, &number, 4);
  } else {
    double limit = request.of > 0 ? static_cast<double>(request.of) : 2147483648.0;
    double lowest = request.of > 0 ? 0 : -2147483648.0;
    if (value != std::floor(value) || value >= limit || value < lowest)
      fail("{}: value {}{} is out of range, the model takes whole numbers from {} to {}", placeOf(field, column),
           unsignedNan(value),
           field.classes.empty() ? "" : fmt::format(" (the class '{}')", printable(cells[column].content(), 40)),
           static_cast<int64_t>(lowest), static_cast<int64_t>(limit) - 1);
    auto number = static_cast<int32_t>(value);
    memcpy(bytes, &number, 4);
  }
  field.values.insert(field.values.end(), bytes, bytes + 4);
}

void CsvFile::readInto(CsvTable &table) {
  size_t width = 0;
  while (!scanner.atEnd()) {
    scanner.readLine(cells);
    if (cells.empty()) continue;
    bool isFirst = width == 0;
    if (isFirst) beginWith(table);
    if (isFirst) width = cells.size();
    if (cells.size() != width)
      fail("{}: expected {} columns as above, got {}{}", lineAt(0), width, cells.size(), hintAtCommas());
    if (isFirst && !header.empty()) continue;
    for (CsvField &field : table.fields)
      for (size_t column : field.columns) keepCell(field, column);
  }
  file.checkUnchanged();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Lines of a text that are not empty.
static int64_t filledLines(std::string_view text) {
  int64_t lines = 0;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    lines += !line.empty() && line != "\r";
    at = end + 1;
  }
  return lines;
}

/// Reserves the memory of all rows, so that none is held beside them. A value has two bytes of its file at least, with
/// the comma after it: a file that promises more than it can have takes no memory.
static void reserveRows(CsvTable &table, const std::vector<std::string> &paths) {
  int64_t rows = 0, bytes = 0;
  for (const std::string &path : paths) {
    MappedFile file(path);
    rows += filledLines(file.text()), bytes += static_cast<int64_t>(file.size());
  }
  for (CsvField &field : table.fields) {
    int64_t most = 2 * bytes / field.rowBytes();
    field.values.reserve(std::min(rows, most) * field.rowBytes());
  }
}

static CsvTable emptyTable(const DataSpec &spec, const std::vector<FieldRequest> &wanted) {
  CsvTable table;
  for (const FieldRequest &request : wanted) {
    const FieldSpec *field = spec.fieldNamed(request.field);
    if (!field) fail("data '{}' has no field '{}'", spec.name, request.field);
    if (request.type != ElementType::F32 && request.type != ElementType::I32)
      fail("field '{}.{}' is of type {}, expected f32 or i32", spec.name, request.field, elementTypeName(request.type));
    if (field->columns.size() > 1 && static_cast<int64_t>(field->columns.size()) != request.elements)
      fail("manifest: field '{}.{}' has {} elements and {} columns", spec.name, request.field, request.elements,
           field->columns.size());
    table.fields.push_back({request, *field, spec.name + "." + request.field, {}, {}});
    for (size_t i = 0; i < field->classes.size(); ++i)
      table.fields.back().classes.emplace(field->classes[i], static_cast<double>(i));
  }
  return table;
}

/// What the values of a field depend on beside the files.
static std::string keyOf(const CsvField &field) {
  std::string key = fmt::format("{} {} {} {} {}", field.name, field.spec.column, static_cast<int>(field.request.type),
                                field.request.elements, field.request.of);
  for (const ColumnSpec &column : field.spec.columns) key += fmt::format("\n{} {}", column.number, column.name);
  key += fmt::format("\n{}", field.spec.missing.value_or(NAN));
  for (const std::string &name : field.spec.classes) key += "\n" + name;
  return key + "\n";
}

CsvRows::CsvRows(const DataSpec &spec, const SplitPaths &paths, const Portion &portion,
                 const std::vector<FieldRequest> &wanted) {
  static SharedFiles<CsvTable> tables;
  CsvTable empty = emptyTable(spec, wanted);
  std::vector<std::string> files = expandPatterns(paths.at(""));
  std::string key;
  for (const std::string &path : files) key += fileKey(path);
  for (const CsvField &field : empty.fields) key += keyOf(field);
  table = tables.get(key, [&] {
    reserveRows(empty, files);
    for (const std::string &path : files) CsvFile(path).readInto(empty);
    return std::move(empty);
  });
  const std::vector<CsvField> &fields = table->fields;
  int64_t count = fields.empty() ? 0 : fields.front().values.size() / fields.front().rowBytes();
  choice = RowChoice(portion, count);
  if (choice.rows() > 0) return;
  std::string why = portion.whyEmpty(count, "rows");
  fail("data '{}': no rows in {}{}{}", spec.name, joinedPaths(paths.at("")), why.empty() ? "" : ": ", why);
}

std::unique_ptr<RowReader> openCsvRows(const DataSpec &spec, const SplitPaths &paths, Portion portion,
                                       std::vector<FieldRequest> requests) {
  return std::make_unique<CsvRows>(spec, paths, portion, requests);
}

} // namespace tessera::runtime
