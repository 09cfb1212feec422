//===- CsvScanner.cpp - lines and cells of csv files ----------------------===//

#include "runtime/data/CsvScanner.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace tessera::runtime {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string CsvCell::content() const {
  std::string_view shown = trimmed(text);
  std::string result;
  for (size_t i = 0; i < shown.size(); ++i) {
    result += shown[i];
    if (isQuoted && shown.substr(i, 2) == "\"\"") ++i;
  }
  return result;
}

CsvScanner::CsvScanner(const MappedFile &file) : file(file), text(file.text()) {
  if (text.starts_with("\xef\xbb\xbf")) at = 3;
}

void CsvScanner::readLine(std::vector<CsvCell> &cells) {
  cells.clear();
  ++lineNumber;
  if (endOfLine()) return skipEnd();
  for (;;) {
    cells.push_back(readCell());
    if (endOfLine()) return skipEnd();
    if (text[at] != ',') fail("{}: line {}, byte {}: expected a comma", file.path(), lineNumber, at);
    ++at;
  }
}

void CsvScanner::skipEnd() {
  if (!atEnd() && text[at] == '\r') ++at;
  if (!atEnd()) ++at;
}

CsvCell CsvScanner::readCell() {
  size_t begin = at;
  if (atEnd() || text[at] != '"') {
    while (!endOfLine() && text[at] != ',') ++at;
    return {text.substr(begin, at - begin), begin, false};
  }
  // A quoted number contains no quotes; in other quoted cells they are doubled.
  for (++at; !atEnd(); ++at) {
    if (text[at] == '\n') break;
    if (text[at] != '"') continue;
    if (text.substr(at, 2) == "\"\"")
      ++at;
    else
      return {text.substr(begin + 1, at++ - begin - 1), begin + 1, true};
  }
  fail("{}: line {}, byte {}: a quoted cell is not closed{}", file.path(), lineNumber, begin,
       atEnd() ? "" : " at the end of its line; line breaks within cells are not supported");
}

bool parseNumber(std::string_view text, double &value) {
  text = trimmed(text);
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

bool isMissingCell(std::string_view text) {
  // What pandas, R, spreadsheets and the UCI archive write; docs/language.md lists them.
  static constexpr std::string_view words[] = {"",    "NA",  "na",   "N/A",  "n/a",  "#N/A", "<NA>",
                                               "NaN", "nan", "null", "NULL", "None", "none", "?"};
  return std::find(std::begin(words), std::end(words), trimmed(text)) != std::end(words);
}

} // namespace tessera::runtime
