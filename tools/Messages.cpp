//===- Messages.cpp - what the compiler prints for people -----------------===//

#include "tools/Messages.h"
#include "ir/program/Program.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/base/Printable.h"
#include "llvm/Support/JSON.h"
#include <utility>

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

namespace {
/// Passes on whole lines: what is written at once may end inside of a character.
class PrintableStream final : public llvm::raw_ostream {
public:
  explicit PrintableStream(raw_ostream &to) : raw_ostream(/*unbuffered=*/true), to(to) {}
  ~PrintableStream() override { to << runtime::printableLines(line); }

private:
  void write_impl(const char *text, size_t size) override {
    line.append(text, size);
    written += size;
    size_t end = line.rfind('\n');
    if (end == std::string::npos) return;
    to << runtime::printableLines(std::string_view(line).substr(0, end + 1));
    line.erase(0, end + 1);
  }
  uint64_t current_pos() const override { return written; }

  raw_ostream &to;
  std::string line; ///< the last one, as far as it is written
  uint64_t written = 0;
};
} // namespace

/// What takes the messages; null: standard error.
static raw_ostream *capturing = nullptr;

raw_ostream &tessera::messages() {
  static PrintableStream stream(llvm::errs());
  return capturing ? *capturing : stream;
}

CapturedMessages::CapturedMessages() : stream(taken), before(std::exchange(capturing, &stream)) {}
CapturedMessages::~CapturedMessages() { capturing = before; }

raw_ostream &tessera::results() {
  static PrintableStream stream(llvm::outs());
  return stream;
}

static bool errorsAreJson = false;

void tessera::printErrorsAsJson() { errorsAreJson = true; }

void tessera::printError(const Twine &message) {
  if (!errorsAreJson || capturing) {
    messages() << "error: " << message << "\n";
    return;
  }
  llvm::json::Object object{{"severity", "error"},
                            {"code", nullptr},
                            {"message", llvm::json::fixUTF8(message.str())},
                            {"labels", llvm::json::Array()},
                            {"notes", llvm::json::Array()},
                            {"help", llvm::json::Array()}};
  llvm::errs() << llvm::json::Value(std::move(object)) << "\n";
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

/// What MLIR puts before the op in a note of its own.
static constexpr llvm::StringLiteral opNote = "see current operation: ";

/// `FILE:LINE:COLUMN`, in the user's own files if there is a place in these; empty if there is none.
static std::string describePlace(Location loc) {
  FileLineColLoc place = userPlace(loc);
  if (!place) place = loc->findInstanceOf<FileLineColLoc>();
  if (!place) return "";
  return (place.getFilename().getValue() + ":" + Twine(place.getLine()) + ":" + Twine(place.getColumn())).str();
}

static StringRef describeSeverity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Remark:
    return "remark";
  case DiagnosticSeverity::Note:
    return "note";
  }
}

/// The first line of an op's text, which may have thousands; shortened.
static std::string firstLine(StringRef op) { return runtime::printable(op.split('\n').first, 200); }

static void print(mlir::Diagnostic &diagnostic, StringRef place) {
  std::string own = describePlace(diagnostic.getLocation());
  messages() << (own.empty() ? place : StringRef(own)) << ": " << describeSeverity(diagnostic.getSeverity()) << ": "
             << diagnostic.str() << "\n";
}

void tessera::printModuleDiagnostic(mlir::Diagnostic &diagnostic, StringRef path) {
  print(diagnostic, path);
  bool isKnown = !describePlace(diagnostic.getLocation()).empty();
  for (mlir::Diagnostic &note : diagnostic.getNotes()) {
    std::string text = note.str();
    StringRef op = text;
    if (!op.consume_front(opNote))
      print(note, path);
    else if (!isKnown)
      messages() << path << ": note: in " << firstLine(op) << "\n";
  }
}

void tessera::printDiagnosticsOf(MLIRContext &context, std::string path) {
  context.getDiagEngine().registerHandler([path = std::move(path)](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error) return failure();
    printModuleDiagnostic(diagnostic, path);
    return success();
  });
}
