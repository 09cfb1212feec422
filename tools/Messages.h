//===- Messages.h - what the compiler prints for people -------------------===//
//
// Messages quote paths, arguments and lines of files, which may come from strangers. They are escaped here, once, as
// the runtime does it (runtime/base/Printable.h). Modules and messages in JSON are for programs: they are not printed
// through these streams.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_MESSAGES_H
#define TESSERA_TOOLS_MESSAGES_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace tessera {

/// Standard error, for lines of text: control characters other than tabs, and bytes that are not UTF-8, are written as
/// `\x1b`. A line is printed when it is complete.
llvm::raw_ostream &messages();

/// Errors about the command are lines of JSON from now on, as those about a model.
void printErrorsAsJson();

/// Prints an error that is about no place in a file.
void printError(const llvm::Twine &message);

/// Takes what is written to `messages` while it lives, as for a compilation that only tries something.
class CapturedMessages {
public:
  CapturedMessages();
  ~CapturedMessages();
  CapturedMessages(const CapturedMessages &) = delete;
  CapturedMessages &operator=(const CapturedMessages &) = delete;

  llvm::StringRef text() const { return taken; }

private:
  std::string taken;
  llvm::raw_string_ostream stream;
  llvm::raw_ostream *before;
};

/// Standard output, for lines of text, likewise.
llvm::raw_ostream &results();

/// Prints a diagnostic about a module to `messages`, with its notes. A place that is not known is the file `path`, and
/// then the op is shown.
void printModuleDiagnostic(mlir::Diagnostic &diagnostic, llvm::StringRef path);

/// Prints all errors of the context like that, unless a handler that is registered later takes them.
void printDiagnosticsOf(mlir::MLIRContext &context, std::string path);

} // namespace tessera

#endif // TESSERA_TOOLS_MESSAGES_H
