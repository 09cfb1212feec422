//===- Source.cpp - source files and places in them ------------------------===//

#include "frontend/diagnostics/Source.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <algorithm>

using namespace tessera;
using llvm::StringRef;

unsigned tessera::countCodePoints(StringRef text) {
  return llvm::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

std::unique_ptr<llvm::MemoryBuffer> tessera::readTextFile(const llvm::Twine &path, size_t limit, std::string &problem) {
  namespace fs = llvm::sys::fs;
  fs::file_status status;
  std::error_code error = fs::status(path, status); // before it is opened: some devices act on that
  bool isReadable = status.type() == fs::file_type::regular_file || status.type() == fs::file_type::fifo_file;
  if (!error && !isReadable) {
    problem = fs::is_directory(status) ? "it is a folder" : "it is a device, neither a file nor a pipe";
    return nullptr;
  }
  std::string text;
  llvm::Expected<fs::file_t> file = fs::openNativeFileForRead(path);
  if (!file) return problem = llvm::toString(file.takeError()), nullptr;
  llvm::SmallVector<char, 0> part(1 << 16);
  while (!error && text.size() < limit) {
    llvm::Expected<size_t> size = fs::readNativeFile(*file, part);
    if (!size) error = llvm::errorToErrorCode(size.takeError());
    if (error || *size == 0) break;
    text.append(part.data(), std::min(*size, limit - text.size()));
  }
  (void)fs::closeFile(*file);
  if (!error) return llvm::MemoryBuffer::getMemBufferCopy(text, path);
  problem = error.message();
  return nullptr;
}

SourceFile::SourceFile(std::unique_ptr<llvm::MemoryBuffer> buffer, std::string name, bool isLibrary)
    : buffer(std::move(buffer)), fileName(std::move(name)), isOfLibrary(isLibrary), lineStarts{0} {
  StringRef all = text();
  for (size_t i = all.find('\n'); i != StringRef::npos; i = all.find('\n', i + 1)) lineStarts.push_back(i + 1);
}

StringRef SourceFile::line(unsigned number) const {
  unsigned begin = lineStarts[number - 1];
  unsigned end = number < lineStarts.size() ? lineStarts[number] : text().size();
  return text().slice(begin, end).rtrim("\r\n");
}

LineColumn SourceFile::position(unsigned offset) const {
  offset = std::min<unsigned>(offset, text().size());
  unsigned line = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset) - lineStarts.begin();
  return {line, countCodePoints(text().slice(lineStarts[line - 1], offset)) + 1};
}

unsigned SourceFile::offset(LineColumn at) const {
  if (at.line > lineStarts.size()) return text().size();
  unsigned end = lineStarts[at.line - 1];
  for (unsigned column = 0; end < text().size(); ++end) {
    bool beginsCodePoint = (static_cast<unsigned char>(text()[end]) & 0xC0) != 0x80;
    if (beginsCodePoint && ++column == at.column) break;
  }
  return end;
}

std::optional<Span> SourceFiles::find(StringRef name, LineColumn at) const {
  for (unsigned file = 0; file < files.size(); ++file) {
    if (files[file]->name() != name) continue;
    unsigned begin = files[file]->offset(at);
    StringRef rest = files[file]->text().drop_front(begin);
    unsigned length = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; }).size();
    return Span{file, begin, begin + std::max(length, 1u)};
  }
  return std::nullopt;
}

unsigned SourceFiles::add(std::unique_ptr<llvm::MemoryBuffer> buffer, StringRef name, bool isLibrary) {
  files.push_back(std::make_unique<SourceFile>(std::move(buffer), name.str(), isLibrary));
  return files.size() - 1;
}

unsigned SourceFiles::add(StringRef text, StringRef name, bool isLibrary) {
  return add(llvm::MemoryBuffer::getMemBufferCopy(text, name), name, isLibrary);
}

std::string SourceFiles::describe(Span span) const {
  LineColumn at = position(span);
  return (files[span.file]->name() + ":" + llvm::Twine(at.line) + ":" + llvm::Twine(at.column)).str();
}
