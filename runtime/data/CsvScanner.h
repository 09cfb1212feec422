//===- CsvScanner.h - lines and cells of csv files ------------------------===//

#ifndef TESSERA_RUNTIME_DATA_CSVSCANNER_H
#define TESSERA_RUNTIME_DATA_CSVSCANNER_H

#include "runtime/base/MappedFile.h"

namespace tessera::runtime {

struct CsvCell {
  std::string_view text; ///< without the quotes around it
  size_t byte = 0;       ///< of the text in the file
  bool isQuoted = false;

  /// The text that a reader of the file means: without spaces around it, doubled quotes of a quoted cell as one.
  std::string content() const;
};

/// Splits a file into lines and cells, one line at a time.
class CsvScanner {
public:
  explicit CsvScanner(const MappedFile &file);

  bool atEnd() const { return at >= text.size(); }
  size_t line() const { return lineNumber; }

  /// Reads the next line's cells; an empty line has none.
  void readLine(std::vector<CsvCell> &cells);

private:
  bool endOfLine() const { return atEnd() || text[at] == '\n' || text.substr(at, 2) == "\r\n"; }
  void skipEnd();
  CsvCell readCell();

  const MappedFile &file;
  std::string_view text;
  size_t at = 0, lineNumber = 0;
};

/// Text without spaces and tabs around it.
std::string_view trimmed(std::string_view text);

/// Whether the text is a number as a whole; it may be infinite or NaN.
bool parseNumber(std::string_view text, double &value);

/// Whether a cell says that there is no value: it is empty, or one of the words that programs write for that.
bool isMissingCell(std::string_view text);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_CSVSCANNER_H
