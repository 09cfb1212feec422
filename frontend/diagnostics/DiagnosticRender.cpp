//===- DiagnosticRender.cpp - messages as text and as JSON -----------------===//
//
// The text form shows each line involved once, underlines every place in it
// and hangs the words below, rightmost first, so that no two collide:
//
//   38 |   a + gelu_tanh(sum[embed](m * up) + b_up)
//      |   -   ------------------------------------ [batch, seq, ff]
//      |   |
//      |   [batch, seq, embed]
//
//===----------------------------------------------------------------------===//

#include "frontend/diagnostics/Diagnostics.h"
#include "runtime/base/Printable.h"
#include "llvm/Support/JSON.h"
#include <map>

using namespace tessera;
using llvm::StringRef;

namespace {

/// A label placed in one line: columns count from zero.
struct PlacedLabel {
  unsigned column;
  unsigned width;
  std::string text;
};

using LabelsOfLine = std::vector<PlacedLabel>;
} // namespace

/// A message may quote the model file.
static std::string shown(StringRef message) { return runtime::printableLines(message); }

/// Long lines are cut so that a message stays readable (and linear in size).
static constexpr unsigned MaxShownColumns = 240;

static std::string shownLine(StringRef line) {
  std::string shown;
  unsigned column = 0;
  while (!line.empty()) {
    size_t size = 1;
    while (size < line.size() && (static_cast<unsigned char>(line[size]) & 0xC0) == 0x80) ++size;
    StringRef codePoint = line.take_front(size);
    if (column++ == MaxShownColumns) return shown + "…";
    // A tab shows as one space: columns count code points. Control characters would disturb the terminal.
    shown += runtime::printable(codePoint) == codePoint ? codePoint : StringRef(" ");
    line = line.drop_front(size);
  }
  return shown;
}

static PlacedLabel placeInLine(const DiagnosticLabel &label, const SourceFile &file, LineColumn at) {
  unsigned lineEnd = file.line(at.line).size() + 1;
  LineColumn end = file.position(label.span.end);
  unsigned endColumn = end.line == at.line ? end.column : countCodePoints(file.line(at.line)) + 1;
  unsigned width = endColumn > at.column ? endColumn - at.column : 1;
  (void)lineEnd;
  return {at.column - 1, width, shown(label.text)};
}

/// Writes `text` into `row` at `column`, growing it with spaces.
static void writeAt(std::string &row, unsigned column, StringRef text) {
  if (row.size() < column + text.size()) row.resize(column + text.size(), ' ');
  std::copy(text.begin(), text.end(), row.begin() + column);
}

/// The rows below a source line: underlines, then the hanging words.
static std::vector<std::string> underlineRows(LabelsOfLine labels) {
  llvm::sort(labels, [](const PlacedLabel &a, const PlacedLabel &b) {
    return std::pair(a.column, a.text) < std::pair(b.column, b.text);
  });
  std::string marks;
  for (const PlacedLabel &label : labels)
    writeAt(marks, label.column, std::string(std::min(label.width, MaxShownColumns), label.text.empty() ? '^' : '-'));
  LabelsOfLine worded;
  llvm::copy_if(labels, std::back_inserter(worded), [](const PlacedLabel &l) { return !l.text.empty(); });
  if (worded.empty()) return {marks};
  // The rightmost label is printed beside the underline, if nothing else follows it.
  PlacedLabel last = worded.back();
  if (last.column + last.width >= marks.size()) {
    marks += " " + last.text;
    worded.pop_back();
  }
  std::vector<std::string> rows{marks};
  if (worded.empty()) return rows;
  std::string bars;
  for (const PlacedLabel &label : worded) writeAt(bars, label.column, "|");
  rows.push_back(bars);
  while (!worded.empty()) {
    std::string row;
    PlacedLabel current = worded.back();
    worded.pop_back();
    for (const PlacedLabel &label : worded) writeAt(row, label.column, "|");
    writeAt(row, current.column, current.text);
    rows.push_back(row);
  }
  return rows;
}

/// Prints the lines of one file that labels point at, with `gutter` columns for line numbers.
static void printFile(const SourceFile &file, const std::map<unsigned, LabelsOfLine> &lines, unsigned gutter,
                      llvm::raw_ostream &os) {
  std::string blank(gutter, ' ');
  os << blank << " |\n";
  unsigned previous = 0;
  for (const auto &[number, labels] : lines) {
    if (previous && number > previous + 1) os << blank << " ...\n";
    previous = number;
    std::string digits = std::to_string(number);
    os << std::string(gutter - digits.size(), ' ') << digits << " | " << shownLine(file.line(number)) << "\n";
    for (const std::string &row : underlineRows(labels)) os << blank << " | " << row << "\n";
  }
}

void tessera::printDiagnostic(const Diagnostic &diagnostic, const SourceFiles &files, llvm::raw_ostream &os) {
  os << (diagnostic.severity == Severity::Error ? "error" : "warning") << "["
     << diagnosticCodeInfo(diagnostic.code).name << "]: " << shown(diagnostic.message) << "\n";
  std::vector<unsigned> order;
  std::map<unsigned, std::map<unsigned, LabelsOfLine>> byFile;
  unsigned gutter = 1;
  for (const DiagnosticLabel &label : diagnostic.labels) {
    const SourceFile &file = files[label.span.file];
    LineColumn at = file.position(label.span.begin);
    gutter = std::max<unsigned>(gutter, std::to_string(at.line).size());
    if (!byFile.count(label.span.file)) order.push_back(label.span.file);
    byFile[label.span.file][at.line].push_back(placeInLine(label, file, at));
  }
  for (unsigned file : order) {
    const DiagnosticLabel *first =
        llvm::find_if(diagnostic.labels, [&](const DiagnosticLabel &l) { return l.span.file == file; }).base();
    os << std::string(gutter, ' ') << (file == order.front() ? "--> " : "::: ") << shown(files.describe(first->span))
       << "\n";
    printFile(files[file], byFile[file], gutter, os);
  }
  for (const DiagnosticNote &note : diagnostic.notes) {
    os << "note: " << shown(note.text);
    if (note.span) os << " at " << shown(files.describe(*note.span));
    os << "\n";
  }
  for (const std::string &help : diagnostic.helps) os << "help: " << shown(help) << "\n";
}

static llvm::json::Object jsonPlace(Span span, const SourceFiles &files) {
  const SourceFile &file = files[span.file];
  LineColumn begin = file.position(span.begin), end = file.position(span.end);
  return llvm::json::Object{{"file", llvm::json::fixUTF8(file.name())},
                            {"line", begin.line},
                            {"column", begin.column},
                            {"endLine", end.line},
                            {"endColumn", end.column}};
}

void tessera::printDiagnosticJson(const Diagnostic &diagnostic, const SourceFiles &files, llvm::raw_ostream &os) {
  llvm::json::Array labels, notes, helps;
  for (const DiagnosticLabel &label : diagnostic.labels) {
    llvm::json::Object place = jsonPlace(label.span, files);
    place["text"] = llvm::json::fixUTF8(label.text);
    labels.push_back(std::move(place));
  }
  for (const DiagnosticNote &note : diagnostic.notes) {
    llvm::json::Object place = note.span ? jsonPlace(*note.span, files) : llvm::json::Object{};
    place["text"] = llvm::json::fixUTF8(note.text);
    notes.push_back(std::move(place));
  }
  for (const std::string &help : diagnostic.helps) helps.push_back(llvm::json::fixUTF8(help));
  llvm::json::Object object =
      diagnostic.labels.empty() ? llvm::json::Object{} : jsonPlace(diagnostic.labels[0].span, files);
  object["severity"] = diagnostic.severity == Severity::Error ? "error" : "warning";
  object["code"] = diagnosticCodeInfo(diagnostic.code).name;
  object["message"] = llvm::json::fixUTF8(diagnostic.message);
  object["labels"] = std::move(labels);
  object["notes"] = std::move(notes);
  object["help"] = std::move(helps);
  os << llvm::json::Value(std::move(object));
}

void DiagnosticEngine::printText(llvm::raw_ostream &os) const {
  for (const Diagnostic &diagnostic : messages) {
    printDiagnostic(diagnostic, files, os);
    os << "\n";
  }
  if (errors > MaxErrors) os << "note: " << errors - MaxErrors << " more errors are not shown\n";
}

void DiagnosticEngine::printJson(llvm::raw_ostream &os) const {
  for (const Diagnostic &diagnostic : messages) {
    printDiagnosticJson(diagnostic, files, os);
    os << "\n";
  }
}
