//===- SourceRecord.cpp - what a module was made from -----------------------===//

#include "frontend/SourceRecord.h"
#include "frontend/syntax/Lexer.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

/// Each line from its first to its last token, without comments and indentation.
static std::map<unsigned, Span> linesOf(unsigned file, DiagnosticEngine &diagnostics) {
  std::map<unsigned, Span> lines;
  for (const Token &token : lex(file, diagnostics)) {
    if (token.kind == TokenKind::EndOfFile || token.kind == TokenKind::Separator) continue;
    unsigned number = diagnostics.sources()[file].position(token.span.begin).line;
    auto [line, isNew] = lines.try_emplace(number, token.span);
    if (!isNew) line->second = line->second.to(token.span);
  }
  return lines;
}

mlir::DictionaryAttr tessera::recordSource(mlir::MLIRContext &context, const FrontendOptions &options,
                                           DiagnosticEngine &diagnostics) {
  mlir::Builder b(&context);
  auto text = [&](const Twine &line) { return b.getStringAttr(llvm::json::fixUTF8(line.str())); };
  llvm::SmallVector<mlir::Attribute> given, files;
  for (const std::string &preset : options.presets) given.push_back(text("--preset " + preset));
  std::string ofLeaves = options.leaves > 0 ? "accumulate=" + std::to_string(options.leaves) : "";
  for (const std::string &set : options.sets)
    given.push_back(text(set == ofLeaves ? "--leaves " + Twine(options.leaves) : "--set " + set));
  const SourceFiles &sources = diagnostics.sources();
  for (unsigned file = 0; file < sources.size(); ++file) {
    if (!sources[file].isOnDisk()) continue;
    llvm::SmallVector<mlir::Attribute> lines;
    for (const auto &[number, span] : linesOf(file, diagnostics))
      lines.push_back(text(Twine(number) + " " + sources.text(span)));
    mlir::NamedAttribute name = b.getNamedAttr("name", text(llvm::sys::path::filename(sources[file].name())));
    files.push_back(b.getDictionaryAttr({name, b.getNamedAttr("lines", b.getArrayAttr(lines))}));
  }
  return b.getDictionaryAttr(
      {b.getNamedAttr("options", b.getArrayAttr(given)), b.getNamedAttr("files", b.getArrayAttr(files))});
}
