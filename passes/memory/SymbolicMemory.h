//===- SymbolicMemory.h - which write each byte of the arena comes from ---===//

#ifndef TESSERA_PASSES_MEMORY_SYMBOLICMEMORY_H
#define TESSERA_PASSES_MEMORY_SYMBOLICMEMORY_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <map>

namespace tessera {

/// `bytes` bytes of write number `tag`, from its byte `from` on.
struct Piece {
  int64_t bytes, tag, from;
  bool operator==(const Piece &) const = default;
};
using Content = llvm::SmallVector<Piece, 1>;

/// Appends a piece; joins it with the last one if it continues it.
inline void append(Content &content, Piece piece) {
  if (!content.empty() && content.back().tag == piece.tag && content.back().from + content.back().bytes == piece.from)
    content.back().bytes += piece.bytes;
  else
    content.push_back(piece);
}

/// Bytes [begin, begin + bytes) of a content.
inline Content part(const Content &content, int64_t begin, int64_t bytes) {
  Content result;
  int64_t at = 0;
  for (const Piece &piece : content) {
    int64_t from = std::max(begin, at), to = std::min(begin + bytes, at + piece.bytes);
    if (from < to) append(result, {to - from, piece.tag, piece.from + from - at});
    at += piece.bytes;
  }
  return result;
}

/// The arena. A range may consist of rows whose columns come from different writes; it has one tag for all of them.
class SymbolicMemory {
public:
  /// Bytes of each row.
  struct Columns {
    int64_t begin, bytes;
  };

  void write(int64_t address, int64_t bytes, int64_t tag) {
    cut(address), cut(address + bytes);
    pieces.erase(pieces.lower_bound(address), pieces.lower_bound(address + bytes));
    pieces[address] = {bytes, tag, 0};
  }
  Content read(int64_t address, int64_t bytes) {
    cut(address), cut(address + bytes);
    Content content;
    int64_t at = address;
    for (auto it = pieces.lower_bound(address); it != pieces.end() && it->first < address + bytes; ++it) {
      if (it->first != at) append(content, {it->first - at, unknown, 0});
      append(content, it->second);
      at = it->first + it->second.bytes;
    }
    return content;
  }

  /// The tag of a range of rows of `pitch` bytes, given the tags of its columns by their first byte.
  int64_t tagOf(int64_t pitch, const std::map<int64_t, int64_t> &columns) {
    auto [it, isNew] = rowTags.try_emplace({pitch, columns}, unknown - 1 - static_cast<int64_t>(rowTags.size()));
    if (isNew) rows[it->second] = {pitch, columns};
    return it->second;
  }
  /// Writes columns of the rows of a range, and none of the others.
  void writeColumns(int64_t address, int64_t bytes, int64_t pitch, Columns columns, int64_t tag) {
    std::map<int64_t, int64_t> all = columnsAt(address, bytes, pitch);
    // A column ends where the next one begins.
    auto next = all.lower_bound(columns.begin + columns.bytes);
    int64_t end = columns.begin + columns.bytes;
    if (end < pitch && (next == all.end() || next->first != end)) all.try_emplace(end, unknown);
    all.erase(all.lower_bound(columns.begin), all.lower_bound(end));
    all[columns.begin] = tag;
    write(address, bytes, tagOf(pitch, all));
  }
  /// The write that columns of the rows of a range come from; -1 if there are several, or none.
  int64_t readColumns(int64_t address, int64_t bytes, int64_t pitch, Columns columns) {
    std::map<int64_t, int64_t> all = columnsAt(address, bytes, pitch);
    auto it = all.find(columns.begin);
    if (it == all.end()) return unknown;
    auto next = std::next(it);
    int64_t end = next == all.end() ? pitch : next->first;
    return end == columns.begin + columns.bytes ? it->second : unknown;
  }

private:
  static constexpr int64_t unknown = -1;

  /// The columns of a range, if it consists of whole rows of that pitch.
  std::map<int64_t, int64_t> columnsAt(int64_t address, int64_t bytes, int64_t pitch) {
    Content content = read(address, bytes);
    if (content.size() != 1 || content.front().from != 0 || content.front().bytes != bytes) return {};
    auto it = rows.find(content.front().tag);
    return it != rows.end() && it->second.first == pitch ? it->second.second : std::map<int64_t, int64_t>();
  }
  /// Makes `address` the start of a piece, if a piece covers it.
  void cut(int64_t address) {
    auto it = pieces.lower_bound(address);
    if (it == pieces.begin()) return;
    --it;
    int64_t head = address - it->first;
    Piece piece = it->second;
    if (head >= piece.bytes) return;
    it->second.bytes = head;
    pieces[address] = {piece.bytes - head, piece.tag, piece.from + head};
  }

  std::map<int64_t, Piece> pieces;
  std::map<std::pair<int64_t, std::map<int64_t, int64_t>>, int64_t> rowTags;
  std::map<int64_t, std::pair<int64_t, std::map<int64_t, int64_t>>> rows;
};

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_SYMBOLICMEMORY_H
