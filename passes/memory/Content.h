//===- Content.h - which writes the bytes of a value come from ------------===//

#ifndef TESSERA_PASSES_MEMORY_CONTENT_H
#define TESSERA_PASSES_MEMORY_CONTENT_H

#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <cstdint>

namespace tessera {

/// `bytes` bytes of write number `tag`, from its byte `from` on; `times` times, one after the other.
struct Piece {
  int64_t bytes, tag, from, times = 1;
  bool operator==(const Piece &) const = default;
};

/// Equal bytes have equal contents: pieces are as long as they can be, and equal ones are one.
using Content = llvm::SmallVector<Piece, 1>;

/// Appends a piece.
inline void append(Content &content, Piece piece) {
  auto isSame = [](const Piece &a, const Piece &b) { return a.bytes == b.bytes && a.tag == b.tag && a.from == b.from; };
  bool continues =
      !content.empty() && content.back().tag == piece.tag && content.back().from + content.back().bytes == piece.from;
  if (continues) {
    // The first copy makes the last one longer, which may then be equal to those before it.
    int64_t others = piece.times - 1;
    Piece longer = content.back();
    longer.bytes += piece.bytes, longer.times = 1;
    if (--content.back().times == 0) content.pop_back();
    append(content, longer);
    if (others > 0) append(content, {piece.bytes, piece.tag, piece.from, others});
  } else if (!content.empty() && isSame(content.back(), piece)) {
    content.back().times += piece.times;
  } else {
    content.push_back(piece);
  }
}

/// Bytes [begin, begin + bytes) of a content.
inline Content part(const Content &content, int64_t begin, int64_t bytes) {
  Content result;
  int64_t at = 0, end = begin + bytes;
  for (const Piece &piece : content) {
    int64_t first = at;
    at += piece.bytes * piece.times;
    int64_t from = std::max(begin, first) - first, to = std::min(end, at) - first; // of all copies
    if (from >= to) continue;
    auto add = [&](int64_t copy, int64_t low, int64_t high) { // of one copy
      if (low < high) append(result, {high - low, piece.tag, piece.from + low});
      return copy + 1;
    };
    int64_t copy = from / piece.bytes, last = to / piece.bytes; // `last` is not whole
    if (copy == last) {
      add(copy, from % piece.bytes, to % piece.bytes);
      continue;
    }
    if (from % piece.bytes > 0) copy = add(copy, from % piece.bytes, piece.bytes);
    if (copy < last) append(result, {piece.bytes, piece.tag, piece.from, last - copy});
    add(last, 0, to % piece.bytes);
  }
  return result;
}

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_CONTENT_H
