//===- Source.cpp - source files and places in them ------------------------===//

#include "frontend/Source.h"
#include <algorithm>

using namespace tessera;
using llvm::StringRef;

unsigned tessera::countCodePoints(StringRef text) {
  return llvm::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

SourceFile::SourceFile(std::unique_ptr<llvm::MemoryBuffer> buffer, std::string name, bool isLibrary)
    : Buffer(std::move(buffer)), Name(std::move(name)), IsLibrary(isLibrary), LineStarts{0} {
  StringRef all = text();
  for (size_t i = all.find('\n'); i != StringRef::npos; i = all.find('\n', i + 1)) LineStarts.push_back(i + 1);
}

StringRef SourceFile::line(unsigned number) const {
  unsigned begin = LineStarts[number - 1];
  unsigned end = number < LineStarts.size() ? LineStarts[number] : text().size();
  return text().slice(begin, end).rtrim("\r\n");
}

LineColumn SourceFile::position(unsigned offset) const {
  offset = std::min<unsigned>(offset, text().size());
  unsigned line = std::upper_bound(LineStarts.begin(), LineStarts.end(), offset) - LineStarts.begin();
  return {line, countCodePoints(text().slice(LineStarts[line - 1], offset)) + 1};
}

unsigned SourceFiles::add(std::unique_ptr<llvm::MemoryBuffer> buffer, StringRef name, bool isLibrary) {
  Files.push_back(std::make_unique<SourceFile>(std::move(buffer), name.str(), isLibrary));
  return Files.size() - 1;
}

unsigned SourceFiles::add(StringRef text, StringRef name, bool isLibrary) {
  return add(llvm::MemoryBuffer::getMemBufferCopy(text, name), name, isLibrary);
}

std::string SourceFiles::describe(Span span) const {
  LineColumn at = position(span);
  return (Files[span.file]->name() + ":" + llvm::Twine(at.line) + ":" + llvm::Twine(at.column)).str();
}
