//===- Text.h - lines of C++ ------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CUDA_WRITER_TEXT_H
#define TESSERA_CODEGEN_CUDA_WRITER_TEXT_H

#include "llvm/ADT/Twine.h"
#include <string>

namespace tessera {

/// Text that grows by lines; blocks are indented by two columns.
class Text {
public:
  void line(const llvm::Twine &content) {
    text.append(2 * depth, ' ');
    text += content.str();
    text += '\n';
  }
  /// A line that is not indented: `#pragma`.
  void flush(const llvm::Twine &content) { text += content.str() + "\n"; }
  /// `head {`, until `close`.
  void open(const llvm::Twine &head) {
    line(head + " {");
    ++depth;
  }
  void close(const llvm::Twine &tail = "") {
    --depth;
    line("}" + tail);
  }
  const std::string &str() const { return text; }

private:
  std::string text;
  unsigned depth = 0;
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CUDA_WRITER_TEXT_H
