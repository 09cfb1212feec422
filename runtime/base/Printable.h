//===- Printable.h - text from files, for a message -----------------------===//
//
// Names and values in files may come from strangers: a control character in them would move the cursor of the terminal
// or hide what follows. The compiler uses this too: it depends on the C++ library only.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_BASE_PRINTABLE_H
#define TESSERA_RUNTIME_BASE_PRINTABLE_H

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::runtime {

/// A word from a file, for a message of one line: control characters (also those of Unicode that change the direction
/// of text) and bytes that are not UTF-8 are written as `\x1b`; text of more than `longest` bytes is shortened.
/// Arguments of `fail` (Error.h) need this only to be shortened.
std::string printable(std::string_view text, size_t longest = std::string_view::npos);

/// A whole message: the same, but newlines and tabs remain, and nothing is shortened.
std::string printableLines(std::string_view text);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_BASE_PRINTABLE_H
