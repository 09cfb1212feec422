//===- Diagnostics.h - messages with codes, spans, notes and help ----------===//
//
// Every message carries a code of DiagnosticCodes.def, points at all places
// involved, and says what to do. The engine only collects; rendering is apart.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_FRONTEND_DIAGNOSTICS_DIAGNOSTICS_H
#define TESSERA_FRONTEND_DIAGNOSTICS_DIAGNOSTICS_H

#include "frontend/diagnostics/Source.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// One code for each kind of message; see DiagnosticCodes.def.
enum class DiagnosticCode {
#define DIAGNOSTIC(CODE, TITLE, TEXT) CODE,
#include "frontend/diagnostics/DiagnosticCodes.def"
};

/// What `tessera explain` knows about a code.
struct DiagnosticCodeInfo {
  llvm::StringRef name;  ///< "E0210"
  llvm::StringRef title; ///< one line
  llvm::StringRef text;  ///< the explanation, several lines
};

/// All codes, in the order of their numbers.
llvm::ArrayRef<DiagnosticCodeInfo> allDiagnosticCodes();
const DiagnosticCodeInfo &diagnosticCodeInfo(DiagnosticCode code);
/// The entry named `name` ("E0210", in any case), or null.
const DiagnosticCodeInfo *findDiagnosticCode(llvm::StringRef name);

enum class Severity { Error, Warning };

/// A place with a few words about it; without words it is only underlined.
struct DiagnosticLabel {
  Span span;
  std::string text;
};

struct DiagnosticNote {
  std::string text;
  std::optional<Span> span;
};

struct Diagnostic {
  Severity severity = Severity::Error;
  DiagnosticCode code = DiagnosticCode::E0001;
  std::string message;
  std::vector<DiagnosticLabel> labels; ///< the first is the message's place; empty for messages about no file
  std::vector<DiagnosticNote> notes;
  std::vector<std::string> helps;
};

/// Adds to a message just reported: `engine.error(…).label(…).help(…)`.
class DiagnosticBuilder {
public:
  explicit DiagnosticBuilder(Diagnostic &diagnostic) : diagnostic(diagnostic) {}

  /// Points at a further place, or says something about the first one.
  DiagnosticBuilder &label(Span span, const llvm::Twine &text);
  DiagnosticBuilder &note(const llvm::Twine &text) {
    return diagnostic.notes.push_back({text.str(), std::nullopt}), *this;
  }
  DiagnosticBuilder &note(const llvm::Twine &text, Span span) {
    return diagnostic.notes.push_back({text.str(), span}), *this;
  }
  DiagnosticBuilder &help(const llvm::Twine &text) { return diagnostic.helps.push_back(text.str()), *this; }

private:
  Diagnostic &diagnostic;
};

/// Collects the messages of one compilation and owns the sources they point into.
class DiagnosticEngine {
public:
  SourceFiles &sources() { return files; }
  const SourceFiles &sources() const { return files; }

  DiagnosticBuilder error(DiagnosticCode code, Span span, const llvm::Twine &message);
  DiagnosticBuilder warning(DiagnosticCode code, Span span, const llvm::Twine &message);
  /// An error that concerns no place in a file, such as a wrong `--set`.
  DiagnosticBuilder error(DiagnosticCode code, const llvm::Twine &message);

  /// Adds a help to the messages after the first `count`.
  void helpSince(size_t count, const llvm::Twine &text);

  bool hasErrors() const { return errors > 0; }
  /// Whether there are errors, all of them in what the command line says, such as `--set`.
  bool blamesCommandLine() const;
  unsigned errorCount() const { return errors; }
  /// Whether so many errors were found that more would not help.
  bool isFull() const { return errors >= MaxErrors; }
  const std::deque<Diagnostic> &all() const { return messages; }

  void printText(llvm::raw_ostream &os) const;
  /// One JSON object a line.
  void printJson(llvm::raw_ostream &os) const;

private:
  DiagnosticBuilder report(Diagnostic diagnostic);

  static constexpr unsigned MaxErrors = 50;
  SourceFiles files;
  std::deque<Diagnostic> messages;
  Diagnostic dropped; ///< where duplicates and messages beyond the limit go
  unsigned errors = 0;
};

/// The text form of one message.
void printDiagnostic(const Diagnostic &diagnostic, const SourceFiles &files, llvm::raw_ostream &os);
/// The JSON form of one message, without the end of line.
void printDiagnosticJson(const Diagnostic &diagnostic, const SourceFiles &files, llvm::raw_ostream &os);

/// The candidate most like `name`, or empty if none is near enough to be meant.
llvm::StringRef nearestName(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates);

} // namespace tessera

#endif // TESSERA_FRONTEND_DIAGNOSTICS_DIAGNOSTICS_H
