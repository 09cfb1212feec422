//===- Source.h - source files and places in them --------------------------===//
//
// A `Span` is a half-open range of bytes of one file. `SourceFiles` owns the
// text for as long as anything points into it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_FRONTEND_DIAGNOSTICS_SOURCE_H
#define TESSERA_FRONTEND_DIAGNOSTICS_SOURCE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <optional>
#include <vector>

namespace tessera {

/// A range of bytes of one file. `file` is an index into `SourceFiles`.
struct Span {
  unsigned file = 0;
  unsigned begin = 0;
  unsigned end = 0;

  /// The smallest span that covers this one and `other`, which is in the same file.
  Span to(Span other) const { return {file, begin, other.end > end ? other.end : end}; }
  bool operator==(const Span &other) const = default;
};

/// A line and a column, both counted from one; columns count Unicode code points.
struct LineColumn {
  unsigned line = 1;
  unsigned column = 1;
};

/// A text with its name and the offsets at which its lines begin.
class SourceFile {
public:
  SourceFile(std::unique_ptr<llvm::MemoryBuffer> buffer, std::string name, bool isLibrary);

  llvm::StringRef name() const { return fileName; }
  llvm::StringRef text() const { return buffer->getBuffer(); }
  /// Whether the file is part of the standard library, so that messages point to the caller's line instead.
  bool isLibrary() const { return isOfLibrary; }
  /// Whether it is a file of the user, and not a text of the command line, say, which are called `<…>`.
  bool isOnDisk() const { return !isOfLibrary && !name().starts_with("<"); }
  /// The text of a line, counted from one, without its end.
  llvm::StringRef line(unsigned number) const;
  LineColumn position(unsigned offset) const;
  /// The offset of a position; the end of the text if there is no such line.
  unsigned offset(LineColumn at) const;

private:
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  std::string fileName;
  bool isOfLibrary;
  std::vector<unsigned> lineStarts;
};

/// All files of one compilation.
class SourceFiles {
public:
  /// Takes a text; returns its index.
  unsigned add(std::unique_ptr<llvm::MemoryBuffer> buffer, llvm::StringRef name, bool isLibrary = false);
  /// Copies a text; returns its index.
  unsigned add(llvm::StringRef text, llvm::StringRef name, bool isLibrary = false);

  const SourceFile &operator[](unsigned file) const { return *files[file]; }
  unsigned size() const { return files.size(); }
  /// The word that begins in a line and a column of a file, or one character; nothing if there is no such file.
  std::optional<Span> find(llvm::StringRef name, LineColumn at) const;
  llvm::StringRef text(Span span) const { return files[span.file]->text().slice(span.begin, span.end); }
  LineColumn position(Span span) const { return files[span.file]->position(span.begin); }
  /// `file:line:column` of the beginning of a span.
  std::string describe(Span span) const;

private:
  std::vector<std::unique_ptr<SourceFile>> files;
};

/// A model file has at most so many bytes: offsets have 32 bits, and a larger file was not written by hand.
inline constexpr size_t MaxFileSize = 4 << 20;

/// Reads a regular file or a pipe up to `limit` bytes. Null if that cannot be done; then `problem` says why.
std::unique_ptr<llvm::MemoryBuffer> readTextFile(const llvm::Twine &path, size_t limit, std::string &problem);

/// The number of Unicode code points in `text`; a malformed byte counts as one.
unsigned countCodePoints(llvm::StringRef text);

} // namespace tessera

#endif // TESSERA_FRONTEND_DIAGNOSTICS_SOURCE_H
